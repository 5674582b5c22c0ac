// A text rendered or as its source. This is the only place where HTML is written to the page: blocks that
// `conductor/markdown` made, in which a model's words are escaped and tags and attributes are its own.

import { element } from "../streamlit_patches/shared.js";
import { ofTab, store, stored } from "../streamlit_patches/stored.js";
import { copy } from "./copy_text.js";
import { Rest, chunksOf, cutPlace, isLong } from "./long_text.js";
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
    this.rest = new Rest(root, () => this.show());
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
    this.copy.hidden = !data.copy || data.before > 0;
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
    const room = this.rest.room(data.text, data);
    this.body.classList.toggle("long", isLong(data.text));
    if (source) this.writeSource(data.text, room);
    else this.writeBlocks(data.blocks, data.katex, room);
    this.rest.update(this.visible, room, data);
    this.notable.update(this.component, room === Infinity ? 1 : this.visible.length / data.text.length);
  }

  // What stayed the same stays on the page: a reader may have selected something there.
  writeSource(text, room) {
    const holder = this.holder("source");
    const chunks = chunksOf([[text]]).slice(0, room === Infinity ? undefined : 1).map(([[words]]) => words);
    chunks.forEach((words, at) => {
      const chunk = holder.children[at] ?? holder.appendChild(element("div", "text-chunk"));
      if (chunk.textContent !== words) chunk.textContent = words;
    });
    while (holder.children.length > chunks.length) holder.lastChild.remove();
    this.visible = chunks.join("");
  }

  writeBlocks(blocks, katexScript, room) {
    const holder = this.holder("markdown");
    if (room !== Infinity) return this.writeBeginning(holder, blocks, katexScript, room);
    this.beginning = null;
    this.blocks ??= [];
    blocks.forEach((html, at) => {
      if (this.blocks[at] === html) return;
      const block = holder.children[at] ?? holder.appendChild(element("div", "block"));
      block.innerHTML = html;
      dress(block, katexScript);
    });
    while (holder.children.length > blocks.length) holder.lastChild.remove();
    this.blocks = blocks;
    this.visible = this.data.text;
  }

  // The first blocks, as far as there is room.
  writeBeginning(holder, blocks, katexScript, room) {
    const beginning = blocks.join("");
    if (this.beginning === beginning) return;
    this.beginning = beginning;
    this.blocks = null;
    this.visible = "";
    holder.replaceChildren();
    for (const html of blocks) {
      if (this.visible.length >= room) return;
      const block = holder.appendChild(element("div", "block"));
      block.innerHTML = html;
      cutBehind(block, room - this.visible.length);
      this.visible += block.textContent;
      dress(block, katexScript);
    }
  }

  // The element of one of the two views, alone in the body.
  holder(kind) {
    const there = this.body.firstElementChild;
    if (there?.className === kind) return there;
    this.blocks = this.beginning = null;
    const holder = element("div", kind);
    this.body.replaceChildren(holder);
    this.growth.disconnect();
    this.growth.observe(holder);
    return holder;
  }
}

// Takes away what stands in a block behind so many characters. No formula is cut; code that is has no button that
// copies it.
function cutBehind(block, most) {
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT), end = new Range();
  for (let left = most, node; (node = /** @type {Text | null} */ (walker.nextNode())); left -= node.length) {
    if (node.length <= left) continue;
    const whole = node.parentElement?.closest(FORMULAS);
    if (whole) end.setStartBefore(whole);
    else end.setStart(node, cutPlace(node.data, left));
    end.setEndAfter(block.lastChild);
    for (const head of block.querySelectorAll(".code-head")) if (end.intersectsNode(head.nextElementSibling)) head.classList.add("cut");
    return end.deleteContents();
  }
}

function dress(block, katexScript) {
  for (const head of block.querySelectorAll(".code-head:not(.cut)")) head.append(codeButton(head.nextElementSibling));
  if (katexScript && block.querySelector(FORMULAS)) drawFormulas(block, katexScript);
}

function codeButton(code) {
  const button = element("button", { class: "code-copy", type: "button", "aria-label": "Copy this code" }, "Copy");
  button.onclick = () => copy(code.textContent, button);
  return button;
}
