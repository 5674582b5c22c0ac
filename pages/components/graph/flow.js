// What moves on the graph, on a canvas of its own above the picture, so that the picture is drawn only when it
// changes: outputs on their way along edges with their values, and the signs of steps that run.

import { RUNS, drawStatus } from "./icons.js";
import { lengthOf, tracePath } from "./routes.js";
import { stillness } from "./theme.js";
import { EdgeValues } from "./values.js";

const FRAME = 40;
// Pixels that a sign may reach into the picture from outside.
const LITTLE = 20;
const SPARK = 9, SPARKS_APART = 52, SPEED = 0.055;
const ARRIVES = 1100;
// Edges with sparks at once: more are a flicker that takes a whole core. Those that flow are lit all the same.
const MOST_SPARKS = 100;

const HAS_OUTPUT = new Set(["finished", "empty", "refused"]);

export class Flow {
  constructor(canvas, view) {
    this.canvas = canvas;
    this.view = view;
    this.sent = new Map();
    this.values = new EdgeValues(view);
    this.cards = [];
    this.edges = [];
    this.theme = null;
  }

  // Marks the edges along which an output flows just now. In a run, an output that has come sets out at once.
  update(cards, edges, theme, { live, down }) {
    const before = new Map(this.cards.map(({ step, content }) => [step, content.status]));
    const came = ({ step, content }) => HAS_OUTPUT.has(content.status) && before.has(step) && !HAS_OUTPUT.has(before.get(step));
    const senders = new Set(live && before.size === cards.length ? cards.filter(came).map(({ step }) => step) : []);
    Object.assign(this, { cards, edges, theme, down });
    for (const edge of edges) {
      edge.flows = RUNS.has(cards[edge.to].content.status);
      if (senders.has(edge.from)) this.sent.set(edge.id, performance.now());
    }
    this.values.update(cards, edges);
    if (this.moves() && !stillness.matches) this.timer ??= setTimeout(() => this.turn(), FRAME);
  }

  moves() {
    return this.sent.size > 0 || this.values.fades || this.cards.some(({ content }) => RUNS.has(content.status));
  }

  turn() {
    this.timer = null;
    const now = performance.now();
    for (const [id, at] of this.sent) if (now - at > ARRIVES) this.sent.delete(id);
    if (!document.hidden) this.draw();
    this.values.turn(now);
    if (this.moves()) this.timer = setTimeout(() => this.turn(), FRAME);
  }

  // Also after each drawing of the picture, which may have been moved.
  draw() {
    const { canvas, view, theme } = this, pixels = devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * pixels), height = Math.round(canvas.clientHeight * pixels);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const ctx = canvas.getContext("2d"), { x, y } = view.network.canvasToDOM({ x: 0, y: 0 }), { scale } = view;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, width, height);
    if (!theme) return;
    ctx.setTransform(pixels * scale, 0, 0, pixels * scale, pixels * x, pixels * y);
    const now = performance.now();
    ctx.lineCap = "round";
    ctx.strokeStyle = theme.spark;
    ctx.lineWidth = Math.max(3, 2 / scale);
    if (!stillness.matches) {
      const flowing = this.edges.filter((edge) => edge.flows), sent = this.edges.filter((edge) => this.sent.has(edge.id));
      if (flowing.length <= MOST_SPARKS) for (const edge of flowing) this.trace(ctx, edge, [SPARK, SPARKS_APART], -now * SPEED);
      if (sent.length <= MOST_SPARKS) for (const edge of sent) this.sending(ctx, edge, (now - this.sent.get(edge.id)) / ARRIVES);
    }
    this.values.draw(ctx, theme, now);
    const inSight = ([across, along]) => [across * scale + x, width / pixels - across * scale - x, along * scale + y, height / pixels - along * scale - y].every((room) => room > -LITTLE);
    const turn = stillness.matches ? -1.2 : now / 260;
    for (const { content, sign } of this.cards)
      if (sign && RUNS.has(content.status) && inSight(sign)) drawStatus(ctx, content.status, ...sign, theme, turn);
  }

  // An output on its way, once: a long spark that is soon at its reader.
  sending(ctx, edge, share) {
    const length = lengthOf(edge.route), spark = Math.min(60, length * 0.5);
    ctx.globalAlpha = Math.min(1, 2.4 - 2.4 * share);
    this.trace(ctx, edge, [spark, 2 * length + spark], spark - Math.min(1, share * 1.25) * (length + spark * 0.2));
    ctx.globalAlpha = 1;
  }

  trace(ctx, { route }, dash, offset) {
    ctx.setLineDash(dash);
    ctx.lineDashOffset = offset;
    tracePath(ctx, route, route.at(-1));
    ctx.stroke();
    ctx.setLineDash([]);
  }

  destroy() { clearTimeout(this.timer ?? undefined); }
}
