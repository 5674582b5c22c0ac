// The window onto the picture: vis.Network holds the canvas, pans and zooms; this decides what is shown.

import { stillness } from "./theme.js";

const MARGIN = 24;
const LITTLE = 64;
const LEAST_ZOOM = 0.05, MOST_ZOOM = 2.5;
const MOST_FITTED = 1.15, MOST_ENLARGED = 2.2;
export const GLIDE = 180;
// Pixels that the narrowest card is broad whose title can be read.
const READ = 190;

const motion = (animated) => animated && !stillness.matches && { duration: GLIDE, easingFunction: "easeOutQuad" };

export class View {
  constructor(canvas, { drawCard, drawBelow, drawAbove }) {
    this.canvas = canvas;
    this.drawCard = drawCard;
    this.touched = false;
    this.mostFitted = MOST_FITTED;
    this.box = this.room = { left: 0, top: 0, right: 1, bottom: 1 };
    this.width = this.height = 0;
    this.nodes = new vis.DataSet();
    this.network = new vis.Network(canvas, { nodes: this.nodes, edges: new vis.DataSet() }, {
      autoResize: false, physics: false, layout: { improvedLayout: false },
      interaction: { selectable: false, dragNodes: false, hover: false, keyboard: false },
    });
    // The stage takes the focus and the keys; two stops of the Tab key for one thing would be one too many.
    this.network.canvas.frame.removeAttribute("tabindex");
    this.network.on("beforeDrawing", drawBelow);
    this.network.on("afterDrawing", drawAbove);
    for (const event of ["dragStart", "zoom"]) this.network.on(event, () => { this.touched = true; });
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.resized()));
    this.observer.observe(canvas);
  }

  get scale() { return this.network.getScale(); }

  // `fresh`: nothing of what was drawn before is where it was. `room` is what is fitted, the box and what is to come.
  place(cards, box, fresh, room = box) {
    Object.assign(this, { box, room });
    const steps = new Set(cards.map((card) => card.step));
    this.nodes.remove(this.nodes.getIds().filter((id) => !steps.has(id)));
    this.nodes.update(cards.map(({ step, x, y }) => ({ id: step, x, y, shape: "custom", ctxRenderer: this.drawCard })));
    if (this.touched) return;
    if (fresh) this.fit();
    else this.follow();
  }

  // Moves only as far as needed for all to be seen, no less than half as large as it could be.
  follow() {
    const { clientWidth: width, clientHeight: height } = this.canvas, { scale } = this, { left, top, right, bottom } = this.box;
    const [across, along] = [right - left, bottom - top];
    const fits = across * scale <= width - MARGIN && along * scale <= height - MARGIN;
    if (fits && scale * 2 >= Math.min(this.mostFitted, width / across, height / along)) this.reveal({ left, top, width: across, height: along }, { animated: true });
    else this.fit({ animated: true });
  }

  // All cards and edges, with a margin.
  fit({ animated = false } = {}) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!this.network || !width || !height) return;
    this.touched = false;
    const { left, top, right, bottom } = this.room;
    const fitted = Math.min(this.mostFitted, (width - 2 * MARGIN) / (right - left), (height - 2 * MARGIN) / (bottom - top));
    // While the page is still being laid out there may be less room than margin.
    const scale = Math.max(LEAST_ZOOM / 4, fitted);
    this.network.moveTo({ scale, position: { x: (left + right) / 2, y: (top + bottom) / 2 }, animation: motion(animated) });
  }

  // For an audience the picture fills its room.
  enlarge(large) {
    const most = large ? MOST_ENLARGED : MOST_FITTED;
    if (most === this.mostFitted) return;
    this.mostFitted = most;
    if (!this.touched) this.fit();
  }

  resized() {
    const { clientWidth, clientHeight } = this.canvas, [dx, dy] = [clientWidth - this.width, clientHeight - this.height];
    if (!this.network || !clientWidth || (!dx && !dy)) return;
    Object.assign(this, { width: clientWidth, height: clientHeight });
    const before = { position: this.network.getViewPosition(), scale: this.scale };
    this.network.setSize("100%", "100%");
    // vis changes the zoom with the size. A view that a person chose stays, and where something beside it comes or goes.
    const stays = this.touched || (Math.abs(dx) < LITTLE && Math.abs(dy) < LITTLE);
    if (stays) this.network.moveTo({ ...before, animation: false });
    else this.fit();
    if (stays && !this.touched) this.follow();
    this.paint();
  }

  zoom(factor, at = { x: this.canvas.clientWidth / 2, y: this.canvas.clientHeight / 2 }) {
    this.touched = true;
    const scale = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, this.scale * factor));
    const fixed = this.network.DOMtoCanvas(at), middle = this.network.getViewPosition(), ratio = this.scale / scale;
    const position = { x: fixed.x + (middle.x - fixed.x) * ratio, y: fixed.y + (middle.y - fixed.y) * ratio };
    this.network.moveTo({ scale, position, animation: false });
  }

  // Moves only as far as needed for a card, or all of them, to be wholly visible.
  reveal(card, { animated = false } = {}) {
    const middle = this.network.getViewPosition();
    const halfWidth = (this.canvas.clientWidth / 2 - 12) / this.scale, halfHeight = (this.canvas.clientHeight / 2 - 12) / this.scale;
    const shift = (low, high, at, half) => Math.min(0, low - (at - half)) || Math.max(0, high - (at + half));
    const dx = shift(card.left, card.left + card.width, middle.x, halfWidth);
    const dy = shift(card.top, card.top + card.height, middle.y, halfHeight);
    if (dx || dy) this.network.moveTo({ position: { x: middle.x + dx, y: middle.y + dy }, animation: motion(animated) });
  }

  // Puts a card into the middle, in letters to be read.
  show(card) {
    this.touched = true;
    this.network.moveTo({ scale: Math.max(this.scale, READ / card.width), position: { x: card.x, y: card.y }, animation: motion(true) });
  }

  // Puts a point of the picture into the middle.
  moveTo(position) {
    this.touched = true;
    this.network.moveTo({ position, animation: false });
  }

  // From client coordinates to the picture's and back.
  inside(clientX, clientY) {
    const { left, top } = this.canvas.getBoundingClientRect();
    return this.network.DOMtoCanvas({ x: clientX - left, y: clientY - top });
  }

  outside([x, y]) {
    const { left, top } = this.canvas.getBoundingClientRect(), p = this.network.canvasToDOM({ x, y });
    return [left + p.x, top + p.y];
  }

  paint() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.network?.redraw();
    });
  }

  destroy() {
    this.observer.disconnect();
    this.network.destroy();
    this.network = null;
  }
}
