// Untrusted text on the page: every character goes through textContent, never through HTML.

import { element, mounted } from "../streamlit_patches/shared.js";
import { copy } from "./copy_text.js";
import { Rest, chunksOf } from "./long_text.js";
import { Notable } from "./notable.js";
import { legend, markChosen } from "./text_block_legend.js";

class TextBlock {
  constructor(root) {
    this.root = root;
    this.body = root.querySelector(".text-block-body");
    this.rest = new Rest(root, () => this.show());
    this.notable = new Notable(root, this.body);
    this.written = "";
  }

  destroy() {
    this.notable.destroy();
  }

  update(component) {
    const { root, body } = this, data = this.data = component.data;
    this.component = component;
    root.classList.toggle("framed", data.framed);
    root.querySelector(".text-block-head").hidden = !data.heading && !data.copy && !data.notes.length;
    root.querySelector(".text-block-heading").textContent = data.heading ? data.label : "";
    root.querySelector(".text-block-notes").replaceChildren(
      ...data.notes.map((text) => element("span", "text-block-note", text)));
    body.style.maxHeight = data.height ? `${data.height}px` : "";
    body.style.height = data.steady ? body.style.maxHeight : "";
    body.setAttribute("aria-label", data.label);
    body.setAttribute("aria-live", data.live ? "polite" : "off");
    this.show();
    legend(root, body, data.legend);
    const button = root.querySelector(".text-block-copy");
    button.hidden = !data.copy;
    button.setAttribute("aria-label", `Copy ${data.label.toLowerCase()}`);
    button.onclick = () => copy(textOf(data.parts), button);
  }

  show() {
    const { data, body } = this, text = textOf(data.parts);
    const room = this.rest.room(text, data);
    this.write(chunksOf(data.parts).slice(0, room === Infinity ? undefined : 1));
    markChosen(this.root, body);
    this.rest.update(body.textContent, room, data);
    this.notable.update(this.component, body.textContent.length / text.length);
  }

  write(chunks) {
    const { body } = this, written = JSON.stringify(chunks);
    if (this.written === written) return;                  // a poll without news must not lose a selection
    this.written = written;
    const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < 24;
    const [first, ...others] = chunks.map((parts) => parts.map(partOf));
    body.replaceChildren(...(others.length ? [first, ...others].map((parts) => element("div", "text-chunk", ...parts)) : first));
    if (this.data.live && atEnd) body.scrollTop = body.scrollHeight;    // follow the stream unless the reader scrolled up
  }
}

const textOf = (parts) => parts.map(([text]) => text).join("");

function partOf([text, tone, title, source, chip]) {
  const part = element({ removed: "del", added: "ins" }[tone] ?? "span", "text-block-part", text);
  if (tone) part.dataset.tone = tone;
  if (title) part.title = title;
  if (source !== null) part.dataset.source = source;
  if (chip) part.dataset.chip = chip;                       // drawn by the style sheet: no part of the text
  return part;
}

export default mounted(".text-block", (root) => new TextBlock(root));
