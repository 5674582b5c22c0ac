// The whole picture in a corner, from ten steps on: what of it is in view, and a way to move the view. It gives
// way to cards: where all are in view, it is shown only if it covers none.

const MAPPED_FROM = 10;
const INSET = 6;

class Minimap {
  constructor(canvas, view, signal) {
    this.canvas = canvas;
    this.view = view;
    this.cards = [];
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
    const { clientWidth, clientHeight } = this.view.canvas, map = this.canvas.getBoundingClientRect();
    const frame = this.view.canvas.getBoundingClientRect(), place = (point) => this.view.outside(point);
    let whole = true, covers = false;
    for (const { left, top, width, height } of this.cards) {
      const [x0, y0] = place([left, top]), [x1, y1] = place([left + width, top + height]);
      whole &&= x0 >= frame.left && y0 >= frame.top && x1 <= frame.left + clientWidth && y1 <= frame.top + clientHeight;
      covers ||= x0 < map.right && x1 > map.left && y0 < map.bottom && y1 > map.top;
    }
    return whole && covers;
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
