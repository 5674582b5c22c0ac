// Notes on words of a text: a button beside what is selected, a form near it, and marks on words that have a note
// or were found. Marks are the browser's own highlights, so no element of the text changes.

import { element } from "../streamlit_patches/shared.js";
import { ofBrowser, store, stored } from "../streamlit_patches/stored.js";

const LETTERS = /[\p{L}\p{N}]+/gu;
const MOST_QUOTED = 2000, MOST_WRITTEN = 4000;              // characters, as `conductor/values/note.py` has them
const WRITER = "conductor-note-author";                     // the name of what the browser remembers

// The words in the text of `body`, at the place nearest to `near` (0 to 1 of the text); null where they are not
// there. Only letters and digits must be the same: marks of Markdown are not on the page.
function wordsIn(body, words, near, anyCase) {
  const nodes = [], walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  let text = "";
  while (walker.nextNode()) {
    nodes.push([text.length, walker.currentNode]);
    text += walker.currentNode.nodeValue;
  }
  const pattern = words.match(LETTERS)?.join("[^\\p{L}\\p{N}]*") ?? words.trim().replace(/[^\s\w]/gu, "\\$&");
  if (!pattern) return null;
  /** @type {RegExpExecArray | null} */
  let best = null;
  for (const match of text.matchAll(new RegExp(pattern, anyCase ? "giu" : "gu"))) {
    if (!best || Math.abs(match.index - near * text.length) < Math.abs(best.index - near * text.length)) best = match;
  }
  if (!best) return null;
  const at = (place) => nodes.findLast(([start]) => start <= place);
  const range = new Range(), [first, begin] = at(best.index), [last, end] = at(best.index + best[0].length - 1);
  range.setStart(begin, best.index - first);
  range.setEnd(end, best.index + best[0].length - last);
  return range;
}

// What is selected inside `body`, also where that is in a shadow tree; null for nothing.
function selectedIn(body) {
  const root = body.getRootNode(), selection = document.getSelection();
  const place = selection?.getComposedRanges?.({ shadowRoots: root === document ? [] : [root] })[0]
    ?? (selection?.rangeCount ? selection.getRangeAt(0) : null);
  if (!place || place.collapsed || !body.contains(place.startContainer) || !body.contains(place.endContainer)) return null;
  const range = new Range();
  range.setStart(place.startContainer, place.startOffset);
  range.setEnd(place.endContainer, place.endOffset);
  return String(range).trim() ? range : null;
}

// How much of the text stands before a range, 0 to 1.
function shareBefore(body, range) {
  const before = new Range();
  before.selectNodeContents(body);
  const all = String(before).length;
  before.setEnd(range.startContainer, range.startOffset);
  return all ? String(before).length / all : 0;
}

export class Notable {
  constructor(root, body) {
    this.body = body;
    this.share = 1;                                         // of its text that stands in the body
    this.own = { note: [], found: [] };
    this.marks = "";
    this.length = 0;
    /** @type {any} */
    this.timer = null;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    this.offer = element("button", { type: "button", class: "note-offer", popover: "manual" }, "Note");
    this.offer.onpointerdown = (event) => event.preventDefault();          // or the selection would go
    this.offer.onclick = () => this.write(this.selected);
    this.form = this.makeForm();
    root.append(this.offer, this.form);
    document.addEventListener("selectionchange", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.select(), 200);
    }, { signal });
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
    document.addEventListener("scroll", () => { if (this.offer.matches(":popover-open")) this.select(); }, { signal, capture: true, passive: true });
  }

  makeForm() {
    this.quoted = element("blockquote", "note-quoted");
    this.text = element("textarea", { rows: 3, maxlength: MOST_WRITTEN, "aria-label": "Note" });
    this.name = element("input", { type: "text", maxlength: 80, autocomplete: "name" });
    this.named = element("label", "note-name", "Your name", this.name);
    this.problem = element("p", { class: "note-problem", role: "alert" });
    this.save = element("button", { type: "submit", class: "note-save" }, "Save");
    const cancel = element("button", { type: "button" }, "Cancel");
    cancel.onclick = () => this.form.hidePopover();
    const form = element("form", { class: "note-form", popover: "auto", role: "dialog", "aria-label": "Write a note" },
      this.quoted, this.text, this.named, this.problem, element("div", "note-buttons", this.save, cancel));
    form.onsubmit = (event) => {
      event.preventDefault();
      this.send();
    };
    // Keys that are typed here mean nothing to the page around it.
    form.onkeydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.send();
      if (event.key !== "Escape" && event.key !== "Tab") event.stopPropagation();
    };
    this.text.oninput = () => this.check();
    return form;
  }

  update(component, share = 1) {
    this.component = component;
    this.share = share || 1;
    const data = this.data = component.data.notable ?? null;
    if (!data?.writes) this.offer.hidePopover?.();
    this.named.hidden = !data?.asksName;
    const { answered } = data ?? {};
    if (answered && answered.at === this.awaited) {
      this.awaited = null;
      if (answered.problem) this.complain(answered.problem);
      else {
        this.text.value = "";
        this.form.hidePopover();
      }
    }
    this.mark();
  }

  // After each change of the text or of what is marked in it.
  mark() {
    const data = this.data, marks = JSON.stringify([data?.quotes, data?.found, this.body.firstElementChild?.className]);
    const length = this.body.textContent.length;
    if (!globalThis.Highlight || (this.marks === marks && this.length === length)) return;
    [this.marks, this.length] = [marks, length];
    this.highlight("note", (data?.quotes ?? []).map(([words, near]) => wordsIn(this.body, words, near / this.share, false)));
    const range = data?.found && wordsIn(this.body, data.found[0], data.found[1] / this.share, true);
    this.highlight("found", [range]);
    if (data?.found && data.found[2] !== this.moment) {
      this.moment = data.found[2];
      requestAnimationFrame(() => this.reveal(range));
    }
  }

  // One set of marks is shared by all texts of the page: each adds and removes its own.
  highlight(kind, ranges) {
    const name = `conductor-${kind}`;
    const shared = CSS.highlights.get(name) ?? new Highlight();
    CSS.highlights.set(name, shared);
    this.own[kind].forEach((range) => shared.delete(range));
    this.own[kind] = ranges.filter(Boolean);
    this.own[kind].forEach((range) => shared.add(range));
  }

  reveal(range) {
    this.body.scrollIntoView({ block: "nearest" });
    this.body.focus({ preventScroll: true });
    range?.startContainer.parentElement.scrollIntoView({ block: "center" });
  }

  select() {
    this.selected = this.data?.writes ? selectedIn(this.body) : null;
    const isOpen = this.offer.matches(":popover-open");
    if (!this.selected) return void (isOpen && this.offer.hidePopover());
    if (this.form.matches(":popover-open")) return;
    if (!isOpen) this.offer.showPopover();
    this.place(this.offer, this.selected.getBoundingClientRect());
  }

  // Below what it belongs to, or above where there is no room, and inside the window.
  place(box, { left, right, top, bottom }) {
    const { width, height } = box.getBoundingClientRect(), apart = 6;
    const below = bottom + apart + height <= innerHeight ? bottom + apart : Math.max(apart, top - apart - height);
    box.style.left = `${Math.max(apart, Math.min((left + right - width) / 2, innerWidth - width - apart))}px`;
    box.style.top = `${Math.min(below, innerHeight - height - apart)}px`;
  }

  // On the words that are selected, or where nothing is on all of the text.
  write(range) {
    const quote = range ? String(range).trim() : "";
    const place = (range ?? this.body).getBoundingClientRect();
    this.words = { quote, near: range ? shareBefore(this.body, range) * this.share : 0 };
    this.quoted.textContent = quote || `On all of it: ${this.body.getAttribute("aria-label")}`;
    this.quoted.classList.toggle("whole", !quote);
    this.name.value ||= stored(WRITER, ofBrowser) ?? "";
    this.complain(quote.length > MOST_QUOTED ? `Select at most ${MOST_QUOTED.toLocaleString("en")} characters to quote.` : "");
    this.offer.hidePopover();
    this.form.showPopover();
    this.place(this.form, range ? place : { ...place.toJSON(), bottom: place.top });
    this.text.focus();
    this.check();
  }

  complain(problem) {
    this.problem.textContent = problem;
    this.problem.hidden = !problem;
    this.check();
  }

  check() {
    this.save.disabled = !this.text.value.trim() || (this.words?.quote.length ?? 0) > MOST_QUOTED;
  }

  send() {
    if (this.save.disabled) return;
    store(WRITER, this.name.value, ofBrowser);
    this.awaited = Date.now();
    this.save.disabled = true;                              // once; it can be tried again when the answer is there
    this.component.setTriggerValue("noted", { ...this.words, text: this.text.value, author: this.name.value, at: this.awaited });
  }

  pressed(event) {
    if (event.key.toLowerCase() !== "n" || event.ctrlKey || event.metaKey || event.altKey || !this.data?.writes) return;
    if (event.composedPath().some((node) => node.matches?.("input, textarea, select, [contenteditable]"))) return;
    const range = selectedIn(this.body);
    if (!range && this.body.getRootNode().activeElement !== this.body) return;
    event.preventDefault();
    this.write(range);
  }

  destroy() {
    this.listeners.abort();
    clearTimeout(this.timer);
    for (const kind of globalThis.Highlight ? ["note", "found"] : []) this.highlight(kind, []);
  }
}
