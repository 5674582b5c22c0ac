// The whole picture in a corner, from ten steps on: what of it is in view, and a way to move the view. It gives
// way to cards: it takes a corner in which it covers none, and where all are in view and there is no such corner, it goes.

const MAPPED_FROM = 10;
const INSET = 6;
// Where it lies, the best first.
const CORNERS = [{ right: "10px", bottom: "10px" }, { left: "10px", bottom: "10px" }, { right: "10px", top: "10px" }, { left: "10px", top: "10px" }];
const FREE = { left: "auto", right: "auto", top: "auto", bottom: "auto" };

export class Minimap {
  constructor(canvas, view, signal) {
    this.canvas = canvas;
    this.view = view;
    this.cards = [];
    this.theme = null;
    const move = (event) => { if (event.buttons & 1) this.moveTo(event); };
    // Before the pointer's own listeners: a press here selects nothing.
    for (const name of ["pointerdown", "pointermove"])
      canvas.addEventListener(name, (event) => { event.stopPropagation(); move(event); }, { capture: true, signal });
  }

  update(cards, theme) { Object.assign(this, { cards, theme }); }

  get scale() {
    const { left, right, top, bottom } = this.view.box, { clientWidth, clientHeight } = this.canvas;
    return Math.min((clientWidth - 2 * INSET) / (right - left), (clientHeight - 2 * INSET) / (bottom - top));
  }

  // Where the picture's origin lies on the map.
  get origin() {
    const { left, right, top, bottom } = this.view.box, { clientWidth, clientHeight } = this.canvas, { scale } = this;
    return [(clientWidth - (left + right) * scale) / 2, (clientHeight - (top + bottom) * scale) / 2];
  }

  moveTo({ clientX, clientY }) {
    const { left, top } = this.canvas.getBoundingClientRect(), [x, y] = this.origin;
    this.view.moveTo({ x: (clientX - left - x) / this.scale, y: (clientY - top - y) / this.scale });
  }

  hides() {
    if (this.cards.length < MAPPED_FROM) return true;
    const frame = this.view.canvas.getBoundingClientRect(), boxes = this.cards.map(({ left, top, width, height }) =>
      [...this.view.outside([left, top]), ...this.view.outside([left + width, top + height])]);
    for (const corner of CORNERS) {
      Object.assign(this.canvas.style, FREE, corner);
      const map = this.canvas.getBoundingClientRect();
      if (!boxes.some(([x0, y0, x1, y1]) => x0 < map.right && x1 > map.left && y0 < map.bottom && y1 > map.top)) return false;
    }
    Object.assign(this.canvas.style, FREE, CORNERS[0]);
    return boxes.every(([x0, y0, x1, y1]) => x0 >= frame.left && y0 >= frame.top && x1 <= frame.right && y1 <= frame.bottom);
  }

  draw() {
    const { canvas, theme, view } = this;
    if (!theme) return;
    canvas.style.visibility = this.hides() ? "hidden" : "visible";
    if (canvas.style.visibility === "hidden") return;
    const pixels = devicePixelRatio || 1, [x, y] = this.origin, { scale } = this;
    Object.assign(canvas, { width: canvas.clientWidth * pixels, height: canvas.clientHeight * pixels });
    const ctx = canvas.getContext("2d");
    ctx.setTransform(pixels * scale, 0, 0, pixels * scale, pixels * x, pixels * y);
    for (const { left, top, width, height, content } of this.cards) {
      ctx.fillStyle = theme.status[content.status];
      ctx.globalAlpha = 0.75;
      ctx.fillRect(left, top, width, height);
    }
    ctx.globalAlpha = 1;
    const middle = view.network.getViewPosition(), { clientWidth, clientHeight } = view.canvas;
    const width = clientWidth / view.scale, height = clientHeight / view.scale;
    ctx.strokeStyle = theme.primary;
    ctx.lineWidth = 1.5 / scale;
    ctx.strokeRect(middle.x - width / 2, middle.y - height / 2, width, height);
  }
}
