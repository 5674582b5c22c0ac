// A text letter for letter, in parts, or rendered or as its source. This is the only place where HTML is written to the
// page: blocks that `conductor/markdown` made, in which a model's words are escaped and tags and attributes are its own.
// Every other character goes through textContent.

import { element } from "../streamlit_patches/shared.js";
import { ofTab, store, stored } from "../streamlit_patches/stored.js";
import { copy } from "./copy_text.js";
import { Rest, chunksOf, cutPlace, isLong } from "./long_text.js";
import { FORMULAS, drawFormulas } from "./mathematics.js";
import { Notable } from "./notable.js";
import { legend, markChosen } from "./text_block_legend.js";

const CHOICE = "conductor-text-view";                       // the name of what the tab remembers, and of the event at a change

const chosen = () => stored(CHOICE, ofTab) ?? "rendered";

function choose(view) {
  store(CHOICE, view, ofTab);
  window.dispatchEvent(new Event(CHOICE));
}

export class TextBlock {
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
    this.copy.onclick = () => copy(this.text, this.copy);
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
    const data = this.data = component.data, { problem = "", marked = false, before = 0 } = data.rendering ?? {};
    this.component = component;
    this.text = data.parts.map(([text]) => text).join("");
    this.streamed ||= data.live;
    this.root.classList.toggle("framed", data.framed);
    this.root.classList.toggle("rendered", Boolean(data.rendering));
    this.head.hidden = !data.heading && !data.copy && !data.notes.length && !marked;
    this.heading.textContent = data.heading ? data.label : "";
    this.notes.replaceChildren(...data.notes.map((text) => element("span", "text-block-note", text)));
    this.problem.hidden = !problem;
    this.problem.textContent = problem ? `Shown as its source: ${problem}` : "";
    this.view.hidden = !marked || Boolean(problem);
    this.view.setAttribute("aria-label", `Source of ${data.label.toLowerCase()}`);
    this.copy.hidden = !data.copy || before > 0;
    this.copy.setAttribute("aria-label", `Copy ${data.label.toLowerCase()}`);
    const { style } = this.body;
    style.maxHeight = typeof data.height === "number" ? `${data.height}px` : data.height ?? "";
    style.height = data.steady ? style.maxHeight : "";
    this.body.setAttribute("aria-label", data.label);
    this.body.setAttribute("aria-live", data.live ? "polite" : "off");
    this.show();
    legend(this.root, this.body, data.legend);
  }

  show() {
    const { data, text } = this, { rendering } = data;
    const source = !rendering || Boolean(rendering.problem) || (rendering.marked && chosen() === "source");
    this.view.setAttribute("aria-pressed", String(source));
    const room = this.rest.room(text, data);
    this.body.classList.toggle("long", isLong(text));
    if (source) this.writeSource(this.holder(rendering ? "source" : "parts"), room);
    else this.writeBlocks(this.holder("markdown"), rendering, room);
    markChosen(this.root, this.body);
    this.rest.update(this.visible, room, { label: data.label, before: rendering?.before });
    this.notable.update(this.component, room === Infinity ? 1 : this.visible.length / text.length);
  }

  writeSource(holder, room) {
    const chunks = chunksOf(this.data.parts).slice(0, room === Infinity ? undefined : 1);
    this.fill(holder, chunks.map((parts) => JSON.stringify(parts)), "text-chunk",
      (chunk, parts) => chunk.replaceChildren(...JSON.parse(parts).map(partOf)));
    this.visible = holder.textContent;
  }

  writeBlocks(holder, { blocks, katex }, room) {
    if (room !== Infinity) return this.writeBeginning(holder, blocks, katex, room);
    this.beginning = null;
    this.fill(holder, blocks, "block", (block, html) => {
      block.innerHTML = html;
      dress(block, katex);
    });
    this.visible = this.text;
  }

  // What stayed the same stays on the page: a reader may have selected something there.
  fill(holder, contents, kind, draw) {
    contents.forEach((content, at) => {
      if (this.filled?.[at] === content) return;
      draw(holder.children[at] ?? holder.appendChild(element("div", kind)), content);
    });
    while (holder.children.length > contents.length) holder.lastChild.remove();
    this.filled = contents;
  }

  // The first blocks, as far as there is room.
  writeBeginning(holder, blocks, katexScript, room) {
    const beginning = blocks.join("");
    if (this.beginning === beginning) return;
    this.beginning = beginning;
    this.filled = null;
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

  // The element of one of the views, alone in the body.
  holder(kind) {
    const there = this.body.firstElementChild;
    if (there?.className === kind) return there;
    this.filled = this.beginning = null;
    const holder = element("div", kind);
    this.body.replaceChildren(holder);
    this.growth.disconnect();
    this.growth.observe(holder);
    return holder;
  }
}

function partOf([text, tone, title, source, chip]) {
  const part = element({ removed: "del", added: "ins" }[tone] ?? "span", "text-block-part", text);
  if (tone) part.dataset.tone = tone;
  if (title) part.title = title;
  if (source !== null) part.dataset.source = source;
  if (chip) part.dataset.chip = chip;                       // drawn by the style sheet: no part of the text
  return part;
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
