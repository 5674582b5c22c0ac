// A canvas that draws nothing: it measures letters of one width and records what would be where.

const LETTER = 0.56;                                        // of the font's size

export class Canvas {
  font = "10px sans-serif";
  textAlign = "left";
  direction = "ltr";
  texts = [];
  plates = [];

  get size() { return parseFloat(this.font.split(" ").find((part) => part.endsWith("px"))); }

  measureText(text) { return { width: [...text].length * this.size * LETTER }; }

  fillText(text, x, y) {
    const { width } = this.measureText(text), { size } = this;
    const left = x - { left: 0, center: width / 2, right: width }[this.textAlign];
    // Letters without their descenders: what stands over one another there is read as one word.
    if (text) this.texts.push({ text, size, left, right: left + width, top: y - size * 0.36, bottom: y + size * 0.36, direction: this.direction });
  }

  roundRect(left, top, width, height) { this.plates.push({ left, top, right: left + width, bottom: top + height }); }
}

for (const name of ["save", "restore", "beginPath", "clip", "fill", "stroke", "fillRect", "strokeRect", "setLineDash", "moveTo", "lineTo", "arc", "arcTo", "closePath", "translate", "scale"])
  Canvas.prototype[name] = () => {};
