// Edges: their strokes from the routes that layout.py computed, and which of them is under the pointer.
// From an even point of a route to the next runs a curve, from an odd one a straight lane.

const SAMPLES = 14;

function controls([x0, y0], [x1, y1], down) {
  return down
    ? [[x0, (y0 + y1) / 2], [x1, (y0 + y1) / 2]]
    : [[(x0 + x1) / 2, y0], [(x0 + x1) / 2, y1]];
}

function strokeRoute(ctx, route, down, arrow) {
  const last = route.length - 1;
  // The line ends inside the arrow head; its blunt end would show at the tip.
  const end = down ? [route[last][0], route[last][1] - arrow] : [route[last][0] - arrow, route[last][1]];
  ctx.beginPath();
  ctx.moveTo(...route[0]);
  for (let i = 0; i < last; i += 2) {
    const to = i + 1 === last ? end : route[i + 1];
    const [near, far] = controls(route[i], to, down);
    ctx.bezierCurveTo(...near, ...far, ...to);
    if (i + 2 <= last) ctx.lineTo(...route[i + 2]);
  }
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

function sampled(route, down) {
  const points = [route[0]];
  for (let i = 0; i + 1 < route.length; i += 2) {
    const [a, d] = [route[i], route[i + 1]];
    const [b, c] = controls(a, d, down);
    for (let k = 1; k <= SAMPLES; k++) {
      const t = k / SAMPLES, s = 1 - t;
      const at = (axis) => s ** 3 * a[axis] + 3 * s * s * t * b[axis] + 3 * s * t * t * c[axis] + t ** 3 * d[axis];
      points.push([at(0), at(1)]);
    }
    if (i + 2 < route.length) points.push(route[i + 2]);
  }
  return points;
}

function distanceToLine(points, p) {
  let least = Infinity;
  for (let i = 0; i + 1 < points.length; i++) {
    const [x0, y0] = points[i], dx = points[i + 1][0] - x0, dy = points[i + 1][1] - y0;
    const share = ((p.x - x0) * dx + (p.y - y0) * dy) / (dx * dx + dy * dy || 1);
    const t = Math.max(0, Math.min(1, share));
    least = Math.min(least, Math.hypot(p.x - x0 - t * dx, p.y - y0 - t * dy));
  }
  return least;
}

// Edges of one step share its lanes. There the edge that ends nearest to the pointer is meant.
function edgeAt(edges, p, reach) {
  const hits = edges
    .map((edge) => ({ edge, distance: distanceToLine(edge.line, p) }))
    .filter((hit) => hit.distance <= reach);
  const nearest = Math.min(...hits.map((hit) => hit.distance));
  const toEnd = ({ edge: { route } }) => Math.hypot(p.x - route.at(-1)[0], p.y - route.at(-1)[1]);
  return hits.filter((hit) => hit.distance <= nearest + 0.5).sort((a, b) => toEnd(a) - toEnd(b))[0]?.edge ?? null;
}

// How an edge looks, from what is selected: what the selected step reads is accented, who reads it dashed.
function edgeLook(edge, { selected, selectedEdge, hoverEdge }, theme) {
  if (edge.id === selectedEdge) return { rank: 3, width: 3, color: theme.primary, dash: [] };
  if (edge.id === hoverEdge) return { rank: 2, width: 2.4, color: mix(theme.primary, theme.ground, 0.8), dash: [] };
  if (edge.change) return { rank: 2, width: 2.2, color: theme.change[edge.change], dash: edge.change === "removed" ? [5, 4] : [] };
  if (selected === null) return { rank: selectedEdge ? 0 : 1, width: 1.5, color: theme.edge, dash: [] };
  if (edge.to === selected) return { rank: 2, width: 2.4, color: theme.primary, dash: [] };
  if (edge.from === selected) return { rank: 1, width: 1.8, color: theme.outgoing, dash: [6, 4] };
  return { rank: 0, width: 1.4, color: theme.dimmed, dash: [] };
}

function drawEdges(ctx, edges, state, theme, down, scale) {
  // At small zoom a stroke would become thinner than a pixel.
  const grow = Math.max(1, 0.75 / scale);
  const looks = edges.map((edge) => ({ edge, ...edgeLook(edge, state, theme) }));
  for (const { edge, width, color, dash } of looks.sort((a, b) => a.rank - b.rank)) {
    const arrow = Math.min(10, 5.5 + width) * Math.min(grow, 1.6);
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = width * grow;
    ctx.setLineDash(dash);
    strokeRoute(ctx, edge.route, down, arrow * 0.8);
    ctx.setLineDash([]);
    fillArrow(ctx, edge.route.at(-1), down, arrow);
  }
}
