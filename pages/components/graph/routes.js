// Edges: their strokes along the routes that layout.py computed, which of them is under the pointer, and what
// flows along them. A route is given by its corners, which are rounded here.

import { isSpot } from "./card.js";
import { drawChange } from "./icons.js";
import { mix } from "./theme.js";

const CORNER = 9;
// How long the coloured end of an edge is, and how much of it each edge has that shares it.
const END = 24, TURN = 4;

// Bends of a drawn line, from the port towards the pointer: the tangents point from row to row.
export function controls([x0, y0], [x1, y1], down) {
  return down
    ? [[x0, (y0 + y1) / 2], [x1, (y0 + y1) / 2]]
    : [[(x0 + x1) / 2, y0], [(x0 + x1) / 2, y1]];
}

export function tracePath(ctx, route, end) {
  const last = route.length - 1;
  ctx.beginPath();
  ctx.moveTo(...route[0]);
  for (let i = 1; i < last; i++) {
    const [before, at, after] = [route[i - 1], route[i], route[i + 1]];
    const room = Math.min(apart(before, at) / (i > 1 ? 2 : 1), apart(at, after) / (i + 1 < last ? 2 : 1));
    ctx.arcTo(...at, ...after, Math.min(CORNER, room));
  }
  ctx.lineTo(...end);
}

const apart = ([x0, y0], [x1, y1]) => Math.abs(x1 - x0) + Math.abs(y1 - y0);

function strokeRoute(ctx, route, down, arrow) {
  const [x, y] = route.at(-1);
  // The line ends inside the arrow head; its blunt end would show at the tip.
  tracePath(ctx, route, down ? [x, y - arrow] : [x - arrow, y]);
  ctx.stroke();
}

function fillArrow(ctx, [x, y], down, length) {
  const half = length * 0.48;
  ctx.beginPath();
  ctx.moveTo(x, y);
  if (down) { ctx.lineTo(x - half, y - length); ctx.lineTo(x + half, y - length); }
  else { ctx.lineTo(x - length, y - half); ctx.lineTo(x - length, y + half); }
  ctx.closePath();
  ctx.fill();
}

export const lengthOf = (route) => route.slice(1).reduce((sum, point, i) => sum + apart(route[i], point), 0);

// The point of a route that is so far from its beginning.
export function pointAt(route, distance) {
  let left = distance;
  for (let i = 0; i + 1 < route.length; i++) {
    const [from, to] = [route[i], route[i + 1]], length = apart(from, to);
    if (left <= length || i + 2 === route.length) {
      const share = length ? Math.min(1, left / length) : 0;
      return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
    }
    left -= length;
  }
  return route[0];
}

export function distanceToLine(points, p) {
  let least = Infinity;
  for (let i = 0; i + 1 < points.length; i++) {
    const [x0, y0] = points[i], dx = points[i + 1][0] - x0, dy = points[i + 1][1] - y0;
    const share = ((p.x - x0) * dx + (p.y - y0) * dy) / (dx * dx + dy * dy || 1);
    const t = Math.max(0, Math.min(1, share));
    least = Math.min(least, Math.hypot(p.x - x0 - t * dx, p.y - y0 - t * dy));
  }
  return least;
}

// Edges into one step may share their end. There the edge that begins nearest to the pointer is meant.
export function edgeAt(edges, p, reach) {
  const hits = edges
    .map((edge) => ({ edge, distance: distanceToLine(edge.route, p) }))
    .filter((hit) => hit.distance <= reach);
  const nearest = Math.min(...hits.map((hit) => hit.distance));
  const toStart = ({ edge: { route } }) => Math.hypot(p.x - route[0][0], p.y - route[0][1]);
  return hits.filter((hit) => hit.distance <= nearest + 0.5).sort((a, b) => toStart(a) - toStart(b))[0]?.edge ?? null;
}

// An edge with a figure is as wide as that is large; one without, where others have one, is thin.
const heatLook = ({ heat }, theme) => heat
  ? { rank: 2, width: 1.6 + 7 * (heat.share ?? 0), color: heat.share ? theme.heat : theme.edge, dash: heat.share === null ? [3, 4] : [] }
  : { rank: 0, width: 1.2, color: theme.dimmed, dash: [] };

// How an edge looks, from the step that is lit: what it reads is accented, who reads it dashed. An edge
// along which an output flows is lit, whatever is selected.
function edgeLook(edge, { cards, lit, selectedEdge, hoverEdge, legend, heat, proposal }, theme, far) {
  if (edge.id === selectedEdge) return { rank: 4, width: 3.2, color: theme.primary, dash: [] };
  if (edge.id === hoverEdge) return { rank: 3, width: 2.6, color: mix(theme.primary, theme.ground, 0.8), dash: [] };
  const left = proposal?.leaves(edge.to);
  if (edge.change && !left) return { rank: 2, width: 2.2, color: theme.change[edge.change], dash: edge.change === "added" ? [5, 4] : [], sign: edge.change };
  if (edge.change === "added") return { rank: 0, width: 1.4, color: theme.faint, dash: [5, 4] };
  if (edge.flows) return { rank: 3, width: 2.4, color: theme.status.running, dash: [] };
  if (!legend.shows(cards[edge.from]) && !legend.shows(cards[edge.to])) return { rank: 0, width: 1.4, color: theme.faint, dash: [] };
  if (heat?.ofEdges) return heatLook(edge, theme);
  // Among many, the one that is pointed at or selected can only be followed where the others stand back. From afar
  // the cards can only be seen where all edges do.
  const aside = selectedEdge || hoverEdge || far;
  if (lit === null) return { rank: aside ? 0 : 1, width: 1.5, color: far ? theme.faint : aside ? theme.dimmed : theme.edge, dash: [], hue: aside ? null : edge.hue };
  if (edge.to === lit) return { rank: 2, width: 2.4, color: theme.primary, dash: [], hue: edge.hue };
  if (edge.from === lit) return { rank: 1, width: 1.8, color: theme.outgoing, dash: [6, 4], hue: edge.hue };
  return { rank: 0, width: 1.4, color: far ? theme.faint : theme.dimmed, dash: [] };
}

// The end of an edge, in the colour of the worker that is read. Edges that share their end take turns on it.
function strokeEnd(ctx, { hue }, { hues, route }, width, down, arrow) {
  const [[x0, y0], [x1, y1]] = route.slice(-2);
  const length = Math.min(END, apart([x0, y0], [x1, y1])), tip = arrow * 0.8;
  ctx.strokeStyle = hue;
  ctx.lineWidth = width;
  if (hues.length > 1) {
    ctx.setLineDash([TURN, TURN * (hues.length - 1)]);
    ctx.lineDashOffset = -TURN * hues.indexOf(hue);
  } else ctx.fillStyle = hue;
  ctx.beginPath();
  ctx.moveTo(...(down ? [x1, y1 - tip] : [x1 - tip, y1]));
  ctx.lineTo(...(down ? [x1, y1 - length] : [x1 - length, y1]));
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.lineDashOffset = 0;
}

// By the point at which edges end: the route of the first one, and the colours of all.
function endsOf(edges) {
  const ends = new Map();
  for (const { route, hue } of edges) {
    const point = String(route.at(-1)), end = ends.get(point) ?? { route, hues: [] };
    if (!end.hues.includes(hue)) end.hues.push(hue);
    ends.set(point, end);
  }
  return ends;
}

export function drawEdges(ctx, edges, state, theme, down, scale) {
  // At small zoom a stroke would become thinner than a pixel.
  const grow = Math.max(1, 0.75 / scale);
  const sharing = endsOf(edges);
  const far = edges.length > 0 && isSpot(state.cards[0], scale);
  const looks = edges.map((edge) => ({ edge, ...edgeLook(edge, state, theme, far) }));
  for (const { edge, width, color, dash, hue, sign } of looks.sort((a, b) => a.rank - b.rank)) {
    const arrow = Math.max(Math.min(10, 5.5 + width), 1.8 * width) * Math.min(grow, 1.6);
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = width * grow;
    ctx.setLineDash(dash);
    strokeRoute(ctx, edge.route, down, arrow * 0.8);
    ctx.setLineDash([]);
    if (hue) strokeEnd(ctx, edge, sharing.get(String(edge.route.at(-1))), width * grow + 1, down, arrow);
    fillArrow(ctx, edge.route.at(-1), down, arrow);
    if (sign) drawChange(ctx, sign, ...pointAt(edge.route, lengthOf(edge.route) / 2), 6 * grow, theme);
  }
}
