// A long text on the page: its beginning, with a way to the rest. It is in chunks, and the browser lays out only those
// that are in view.

import { element, giveOut } from "../streamlit_patches/shared.js";

export const BEGINNING = 20_000;
const NEAR = 500;                                           // so many characters before the limit, a cut looks for a line's end

const LETTERS = new Intl.Segmenter();

export const isLong = (text) => text.length > BEGINNING;

const characters = (text) => text.length - (text.match(/[\uDC00-\uDFFF]/g)?.length ?? 0);

// Where a text of more than `most` characters is cut: behind a line or a word, else between two letters.
export function cutPlace(text, most) {
  if (text.length <= most) return text.length;
  for (const end of ["\n", " "]) {
    const at = text.lastIndexOf(end, most - 1);
    if (at >= Math.max(0, most - NEAR)) return at + 1;
  }
  // A letter may have several parts, as a flag or one with accents has.
  const start = Math.max(0, most - NEAR);
  return start + (LETTERS.segment(text.slice(start, most + NEAR)).containing(most - start)?.index ?? NEAR);
}

// Parts, each a list that begins with a text, in chunks of at most BEGINNING characters; what names a part, behind its
// text, its look, its title and its source, stands in one of them.
export function chunksOf(parts) {
  /** @type {any[][]} */
  const chunks = [];
  /** @type {any[]} */
  let chunk = [];
  let room = BEGINNING;
  for (const [text, ...marks] of parts) {
    let from = 0;
    while (text.length - from > room) {
      const at = from + cutPlace(text.slice(from, from + room + NEAR), room);
      if (at > from) chunk.push([text.slice(from, at), ...(from ? marks.slice(0, 3) : marks)]);
      chunks.push(chunk);
      chunk = [];
      from = at;
      room = BEGINNING;
    }
    chunk.push([text.slice(from), ...(from ? marks.slice(0, 3) : marks)]);
    room -= text.length - from;
  }
  return [...chunks, chunk];
}

// The line under a text that is not shown whole. `changed` is called once all of it is to be shown.
export class Rest {
  constructor(root, changed) {
    this.whole = false;
    this.count = element("span", "text-rest-count");
    this.all = element("button", { type: "button" }, "Show all");
    this.save = element("button", { type: "button" }, "Download");
    this.line = element("div", { class: "text-rest", hidden: "" }, this.count, this.all, this.save);
    this.all.onclick = () => {
      this.whole = true;
      changed();
    };
    root.append(this.line);
  }

  // How much of `text` is to be shown; all of it while it is written or where words are looked for in it.
  room(text, { live, notable }) {
    if (this.text !== text) this.whole = false;
    this.text = text;
    return isLong(text) && !this.whole && !live && !notable?.found ? BEGINNING : Infinity;
  }

  // `visible` is the text on the page, `before` the number of characters before it that the server left out.
  update(visible, room, { label, before = 0 }) {
    this.line.hidden = !before && room === Infinity;
    if (this.line.hidden) return;
    const [some, all] = [characters(visible), characters(this.text) + before].map((count) => count.toLocaleString("en"));
    this.count.textContent = before ? `The last ${some} of ${all} characters so far` : `${some} of ${all} characters`;
    for (const button of [this.all, this.save]) {
      button.hidden = before > 0;
      button.setAttribute("aria-label", `${button.textContent}: ${label.toLowerCase()}`);
    }
    this.save.onclick = () => giveOut(`${label.replace(/[^\p{L}\p{N}]+/gu, "-")}.txt`, "text/plain", this.text);
  }
}
