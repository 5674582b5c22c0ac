// A proposed change of the workflow, drawn as a ghost among its cards: the parts that can be ticked, what each of them
// changes, and the buttons that take all of it, what is ticked, or nothing. Texts reach text nodes only.

import { element } from "../streamlit_patches/shared.js";

const SIGNS = { added: "+", removed: "\u2212", edited: "\u270e", moved: "\u21c5" };
const TAGS = { same: "span", removed: "del", added: "ins" };

export class Proposal {
  constructor(graph, signal) {
    this.graph = graph;
    this.bar = graph.root.querySelector(".deciding");
    this.wish = graph.root.querySelector(".wish");
    this.list = graph.root.querySelector(".parts");
    this.box = graph.root.querySelector(".part");
    this.content = this.pointed = null;
    this.parts = [];
    this.ticked = new Set();
    for (const button of this.bar.children) button.addEventListener("click", () => this.decide(button.dataset.decide), { signal });
    // Where the graph has nothing to give up, the key is the page's, as in keyboard.js.
    this.list.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || graph.idle) return;
      event.stopPropagation();
      graph.escape();
    }, { signal });
  }

  // Whether it is another one than before.
  update(content) {
    const other = content?.change !== this.content?.change;
    this.content = content;
    this.parts = content?.parts ?? [];
    if (other) {
      this.pointed = null;
      this.ticked = new Set(this.parts.map(({ row }) => row));
      this.list.replaceChildren(...this.parts.map((part) => this.button(part)));
      const count = `${this.parts.length} part${this.parts.length > 1 ? "s" : ""}`;
      this.wish.textContent = content ? `Proposed: “${content.wish}” · ${count}` : "";
      this.wish.title = content?.wish ?? "";
    }
    this.sent = false;
    this.graph.root.classList.toggle("proposed", Boolean(content));
    for (const part of [this.bar, this.wish, this.list]) part.hidden = !content;
    return other;
  }

  has(step) { return this.parts.some(({ row }) => row === step); }

  leaves(step) { return this.has(step) && !this.ticked.has(step); }

  get whole() { return this.ticked.size === this.parts.length; }

  // What a part needs is taken with it, and what needs it is left with it: any selection makes a workflow.
  toggle(step) {
    const part = this.parts.find(({ row }) => row === step);
    if (this.parts.length < 2 || !part) return;
    if (this.ticked.has(step)) {
      for (const { row, needs } of this.parts) if (row === step || needs.includes(step)) this.ticked.delete(row);
    } else for (const row of [step, ...part.needs]) if (this.has(row)) this.ticked.add(row);
    this.graph.changed();
  }

  tickAll() {
    for (const { row } of this.parts) this.ticked.add(row);
    this.graph.changed();
  }

  button({ row, change, name, label }) {
    const button = element("button", { type: "button", role: "checkbox", "data-change": change, "aria-label": `${name}: ${label}` },
      element("span", { class: "tick", "aria-hidden": "true" }), element("span", { class: "sign", "aria-hidden": "true" }, SIGNS[change]),
      element("bdi", {}, name), " ", element("span", "what", ["added", "removed"].includes(change) ? "" : label));
    const point = (at) => () => { this.pointed = at; this.graph.hover(at, null); this.show(); };
    button.addEventListener("click", () => this.toggle(row));
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, point(row));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, point(null));
    button.addEventListener("focus", () => {
      if (button.matches(":focus-visible")) this.graph.view.reveal(this.graph.cards[row]);
    });
    return button;
  }

  show() {
    const alone = this.parts.length < 2, none = this.ticked.size === 0;
    this.parts.forEach(({ row }, at) => this.list.children[at].setAttribute("aria-checked", String(this.ticked.has(row))));
    for (const button of /** @type {any} */ (this.bar.children)) {
      button.hidden = alone && button.dataset.decide === "part";
      const takes = button.dataset.decide === (this.whole ? "take" : "part");
      button.disabled = this.sent || (button.dataset.decide !== "leave" && (!takes || none));
      button.classList.toggle("primary", takes);
    }
    const part = this.parts.find(({ row }) => row === (this.pointed ?? this.graph.selected));
    this.box.hidden = !part;
    if (!part) return;
    const needed = this.parts.filter(({ row }) => part.needs.includes(row)).map(({ name }) => `“${name}”`).join(", ");
    const words = part.words.map(([kind, text]) => element(TAGS[kind], {}, text));
    this.box.replaceChildren(
      element("p", {}, element("b", {}, part.name), ` \u00b7 ${part.label}`), ...part.lines.map((line) => element("p", {}, line)),
      ...(words.length ? [element("p", {}, ...words)] : []), ...(needed ? [element("p", {}, `Goes together with ${needed}.`)] : []));
    // Not over the card that it is about.
    this.box.classList.remove("above");
    this.box.classList.toggle("above", this.graph.positions()[part.row].bottom > this.box.getBoundingClientRect().top);
  }

  decide(way) {
    if (this.sent || !this.content) return;
    this.sent = true;
    const rows = way === "part" ? [...this.ticked] : null;
    this.graph.component.setTriggerValue("decide", { change: this.content.change, take: way !== "leave", rows });
    this.show();
  }
}
