// A text rendered or as its source. This is the only place where HTML is written to the page: blocks that
// `conductor/markdown` made, in which a model's words are escaped and tags and attributes are its own.

import { element } from "../streamlit_patches/shared.js";
import { ofTab, store, stored } from "../streamlit_patches/stored.js";
import { copy } from "./copy_text.js";
import { FORMULAS, drawFormulas } from "./mathematics.js";
import { Notable } from "./notable.js";

const CHOICE = "conductor-text-view";                       // the name of what the tab remembers, and of the event at a change

const chosen = () => stored(CHOICE, ofTab) ?? "rendered";

function choose(view) {
  store(CHOICE, view, ofTab);
  window.dispatchEvent(new Event(CHOICE));
}

export class RenderedText {
  constructor(root) {
    const find = (name) => root.querySelector(`.${name}`);
    this.root = root;
    this.body = find("text-block-body");
    this.head = find("text-block-head");
    this.heading = find("text-block-heading");
    this.notes = find("text-block-notes");
    this.problem = find("rendered-problem");
    this.copy = find("text-block-copy");
    this.view = find("rendered-view");
    this.view.onclick = () => choose(chosen() === "source" ? "rendered" : "source");
    this.copy.onclick = () => copy(this.data.text, this.copy);
    this.notable = new Notable(root, this.body);
    this.changed = () => this.show();
    window.addEventListener(CHOICE, this.changed);
    this.streamed = false;
    this.atEnd = true;                                      // a stream is followed unless the reader scrolls up
    this.top = 0;
    this.body.onscroll = () => this.scrolled();
    this.growth = new ResizeObserver(() => { if (this.streamed && this.atEnd) this.body.scrollTop = this.body.scrollHeight; });
  }

  // The text may have grown between a scroll and its event, so only a way up leaves the end.
  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.body;
    if (scrollHeight - scrollTop - clientHeight < 24) this.atEnd = true;
    else if (scrollTop < this.top) this.atEnd = false;
    this.top = scrollTop;
  }

  destroy() {
    window.removeEventListener(CHOICE, this.changed);
    this.growth.disconnect();
    this.notable.destroy();
  }

  update(component) {
    const data = this.data = component.data;
    this.component = component;
    this.streamed ||= data.live;
    this.root.classList.toggle("framed", data.framed);
    this.head.hidden = !data.heading && !data.copy && !data.notes.length && !data.marked;
    this.heading.textContent = data.heading ? data.label : "";
    this.notes.replaceChildren(...data.notes.map((text) => element("span", "text-block-note", text)));
    this.problem.hidden = !data.problem;
    this.problem.textContent = data.problem ? `Shown as its source: ${data.problem}` : "";
    this.view.hidden = !data.marked || Boolean(data.problem);
    this.view.setAttribute("aria-label", `Source of ${data.label.toLowerCase()}`);
    this.copy.hidden = !data.copy;
    this.copy.setAttribute("aria-label", `Copy ${data.label.toLowerCase()}`);
    const { style } = this.body;
    style.maxHeight = typeof data.height === "number" ? `${data.height}px` : data.height ?? "";
    style.height = data.steady ? style.maxHeight : "";
    this.body.setAttribute("aria-label", data.label);
    this.body.setAttribute("aria-live", data.live ? "polite" : "off");
    this.show();
  }

  show() {
    const { data } = this;
    const source = Boolean(data.problem) || (data.marked && chosen() === "source");
    this.view.setAttribute("aria-pressed", String(source));
    if (source) this.writeSource(data.text);
    else this.writeBlocks(data.blocks, data.katex);
    this.notable.update(this.component);
  }

  writeSource(text) {
    const holder = this.holder("source");
    if (holder.textContent !== text) holder.textContent = text;
  }

  // Blocks that stayed the same stay on the page: a reader may have selected something there.
  writeBlocks(blocks, katexScript) {
    const holder = this.holder("markdown");
    this.blocks ??= [];
    blocks.forEach((html, at) => {
      if (this.blocks[at] === html) return;
      const block = holder.children[at] ?? holder.appendChild(element("div", "block"));
      block.innerHTML = html;
      for (const head of block.querySelectorAll(".code-head")) head.append(codeButton(head.nextElementSibling));
      if (katexScript && block.querySelector(FORMULAS)) drawFormulas(block, katexScript);
    });
    while (holder.children.length > blocks.length) holder.lastChild.remove();
    this.blocks = blocks;
  }

  // The element of one of the two views, alone in the body.
  holder(kind) {
    const there = this.body.firstElementChild;
    if (there?.className === kind) return there;
    this.blocks = null;
    const holder = element("div", kind);
    this.body.replaceChildren(holder);
    this.growth.disconnect();
    this.growth.observe(holder);
    return holder;
  }
}

function codeButton(code) {
  const button = element("button", { class: "code-copy", type: "button", "aria-label": "Copy this code" }, "Copy");
  button.onclick = () => copy(code.textContent, button);
  return button;
}
