// The values on edges: while a step runs, each edge that it reads by carries the beginning of the output that is
// read, or how long that is; where edges have figures of a trial, these. A value lies on its edge, over no card and no other value; one without room for letters
// that can be read is not shown. Text reaches the canvas only.

import { READABLE, fitText, rightToLeft } from "./card.js";
import { distanceToLine, lengthOf, pointAt } from "./routes.js";
import { stillness } from "./theme.js";

const FADES = 700;
// How much of a value is shown, in letters' heights; where along its edge, the best first; and how far beside it, in
// its own widths.
const WIDTHS = [15, 8];
const PLACES = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9];
const ASIDE = [0, -0.4, 0.4];
// Values at once: more are not read, and each is compared with all others.
const MOST = 150;

export class EdgeValues {
  constructor(view) {
    this.view = view;
    // By edge: its text, and when its reader ended.
    this.visible = new Map();
    /** @type {Map<string, any>} */
    this.edgesById = new Map();
    this.cards = [];
    /** @type {any} */
    this.placed = null;
  }

  update(cards, edges) {
    const now = performance.now(), edgesById = new Map(edges.map((edge) => [edge.id, edge]));
    for (const [id, value] of this.visible) {
      if (!edgesById.has(id) || stillness.matches) this.visible.delete(id);
      else if (!edgesById.get(id).flows && !edgesById.get(id).heat) value.ended ??= now;
    }
    for (const { id, from, flows, heat } of edges)
      if (heat) this.visible.set(id, { text: heat.text, color: heat.share ? "heat" : "edge", ended: null });
      else if (flows && cards[from].content.gives) this.visible.set(id, { text: cards[from].content.gives, ended: null });
    Object.assign(this, { cards, edgesById, placed: null });
  }

  get fades() { return [...this.visible.values()].some(({ ended }) => ended !== null); }

  // Forgets what has faded.
  turn(now) {
    for (const [id, { ended }] of this.visible) if (ended !== null && now - ended > FADES) this.visible.delete(id);
  }

  draw(ctx, theme, now) {
    const { scale } = this.view, size = Math.max(11.5, READABLE / scale);
    ctx.font = `500 ${size}px ${theme.font}`;
    if (this.placed?.scale !== scale) this.placed = { scale, boxes: this.boxes(ctx, size) };
    ctx.textBaseline = "middle";
    ctx.textRendering = "geometricPrecision";
    ctx.textAlign = "center";
    for (const { id, text, x, y, width, height } of this.placed.boxes) {
      const value = this.visible.get(id);
      if (!value) continue;
      ctx.globalAlpha = value.ended === null ? 1 : Math.max(0, 1 - (now - value.ended) / FADES);
      ctx.beginPath();
      ctx.roundRect(x - width / 2, y - height / 2, width, height, height / 2);
      ctx.fillStyle = theme.face;
      ctx.strokeStyle = value.color ? theme[value.color] : theme.status.running;
      ctx.lineWidth = 1.2 / Math.min(1, scale);
      ctx.fill();
      ctx.stroke();
      ctx.fillStyle = theme.text;
      ctx.direction = rightToLeft(text) ? "rtl" : "ltr";
      ctx.fillText(text, x, y + size * 0.06);
    }
    ctx.direction = "ltr";
    ctx.globalAlpha = 1;
  }

  boxes(ctx, size) {
    if (this.visible.size > MOST) return [];
    const boxes = [], apart = size * 0.08;
    const covers = (box, gap) => (other) => Math.abs(box.x - other.x) < (box.width + other.width) / 2 + gap
      && Math.abs(box.y - other.y) < (box.height + other.height) / 2 + gap;
    for (const [id, value] of this.visible) {
      // A figure is low and may lie on the borders of cards: each edge that has one is to show it.
      const height = size * (value.color ? 1.2 : 1.45), gap = value.color ? -0.3 * size : apart;
      const free = (box) => !this.cards.some(covers(box, gap)) && !boxes.some(covers(box, apart));
      const room = this.wished(id, value, ctx, size, height).filter(free);
      // Edges into one step share their end, where a value could be that of either.
      const spot = room.find((box) => box.alone) ?? room[0];
      if (spot) boxes.push(spot);
    }
    return boxes;
  }

  wished(id, { text: whole }, ctx, size, height) {
    const { route } = this.edgesById.get(id), length = lengthOf(route);
    const others = [...this.visible.keys()].filter((other) => other !== id).map((other) => this.edgesById.get(other).route);
    const points = PLACES.map((share) => {
      const [x, y] = pointAt(route, length * share);
      return { x, y, alone: others.every((other) => distanceToLine(other, { x, y }) > height) };
    });
    return WIDTHS.flatMap((most) => {
      const text = fitText(ctx, whole, most * size), width = ctx.measureText(text).width + size * 1.2;
      const beside = (aside) => points.map(({ x, y, alone }) => ({ id, text, alone, x: x + aside * width, y, width, height }));
      return text ? ASIDE.flatMap(beside) : [];
    });
  }
}
