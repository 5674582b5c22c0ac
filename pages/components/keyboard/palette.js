// A dialog with one field and one list: places and what can be done are filtered here, what was chosen last comes
// first; sessions and words are looked for by the server. The focus stays in the field; the arrow keys move through
// the list.

import { element, isDialogOpen, markOption, mounted } from "../streamlit_patches/shared.js";
import { holds, score } from "./fuzzy.js";

const TYPING = 150;                                         // milliseconds without a key before the server is asked
const RECENT = "conductor-palette", MOST_RECENT = 6;
const MOST_ROWS = 100;                                      // rows drawn; a plan may have ten times as many steps

class Palette {
  constructor(dialog) {
    this.dialog = dialog;
    this.field = element("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-rows", "aria-autocomplete": "list",
      "aria-label": "Search, or run a command", placeholder: "Search sessions, steps, pages and documentation, or run a command", maxlength: 200, spellcheck: "false" });
    this.list = element("div", { id: "palette-rows", role: "listbox", "aria-label": "Found" });
    this.state = element("p", { class: "palette-state", role: "status" });
    dialog.append(this.field, this.list, this.state);
    this.options = [];
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
    // What is not looked at is not looked for. A choice ends the search by itself.
    dialog.addEventListener("cancel", () => this.ask(""), { signal });
    document.addEventListener("click", (/** @type {any} */ { target }) => { if (target.closest?.(".show-palette")) this.open(); }, { signal });
    dialog.addEventListener("click", ({ target }) => { if (target === dialog) this.leave(); }, { signal });
    dialog.addEventListener("keydown", (event) => this.key(event), { signal });
    this.field.addEventListener("input", () => this.typed(), { signal });
  }

  update(component) {
    this.component = component;
    this.data = component.data;
    if (this.dialog.open) this.draw();
  }

  pressed(event) {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    if (this.dialog.open) return this.leave();
    this.open();
  }

  open() {
    // A dialog keeps the focus to itself.
    if (isDialogOpen()) return;
    this.dialog.showModal();
    this.field.select();
    this.ask();
    this.draw();
  }

  leave() {
    this.dialog.close();
    clearTimeout(this.timer);
    this.ask("");
  }

  typed() {
    this.entered = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), TYPING);
    this.draw();
  }

  ask(words = this.field.value) { this.component.setTriggerValue("typed", words); }

  key(event) {
    // Keys that are typed here mean nothing to the page behind.
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], { length } = this.options;
    if (step && length) {
      event.preventDefault();
      this.mark((this.at + step + length) % length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      // What was found for other words is no answer to these: the first place is chosen when it is there.
      if (this.waits && !this.options[this.at]?.command) this.entered = true;
      else this.options[this.at]?.choose();
    }
  }

  draw() {
    const { query, rows, places, commands } = this.data, typed = this.field.value.trim(), words = typed.toLowerCase();
    // Until the answer is there, the rows before it stay.
    const waits = this.waits = typed !== query, recent = lately();
    const doable = commands.filter(([, , selector]) => button(selector)).map(([name, keys, selector]) => ({ id: `do:${name}`, kind: "", name, keys, selector }));
    // Before anything is typed, what people mostly go to comes first: sessions.
    const all = typed ? [...doable, ...places, ...rows] : [...rows, ...places, ...doable];
    const age = ({ id }) => (recent.indexOf(id) + 1) || MOST_RECENT + 1;
    // What the server has answers these words, wherever they stand in it.
    const rank = ({ text, kind, name, detail = "" }, answers) => (text ? 2 : score(name, words) ?? (holds(`${kind} ${name} ${detail}`, words) || answers ? 2 : null));
    const matches = all
      .flatMap((row) => {
        const answers = rows.includes(row), at = rank(row, answers);
        return at === null ? [] : [{ row, answers, at }];
      })
      .sort((one, other) => one.at - other.at || age(one.row) - age(other.row));
    this.options = matches.slice(0, MOST_ROWS).map(({ row, answers }) => this.option(row, answers, () => this.component.setTriggerValue("chosen", { query, id: row.id })));
    this.list.replaceChildren(...this.options.map(({ node }) => node));
    this.list.classList.toggle("waits", waits);
    this.list.hidden = !this.options.length;
    this.options.forEach(({ node, choose }, at) => {
      node.id = `palette-row-${at}`;
      node.onclick = choose;
      node.onpointermove = () => { if (this.at !== at) this.mark(at, false); };
    });
    this.state.textContent = waits ? "Searching…" : !this.options.length ? "No results." : `${matches.length} found${matches.length > MOST_ROWS ? `, ${MOST_ROWS} of them shown` : ""}`;
    this.mark(Math.min(this.typedAt === typed ? this.at ?? 0 : 0, Math.max(0, this.options.length - 1)));
    this.typedAt = typed;
    if (waits || !this.entered) return;
    this.entered = false;
    this.options[this.at]?.choose();
  }

  mark(at, scrolls = true) {
    this.at = at;
    const nodes = this.options.map(({ node }) => node);
    markOption(this.field, nodes, nodes.length ? at : null);
    if (scrolls) nodes[at]?.scrollIntoView({ block: "nearest" });
  }

  option({ id, kind, name, detail, text, keys = "", selector }, answers, send) {
    const node = element("div", { role: "option" }, element("span", "palette-name", name), element("span", "palette-detail", detail ?? ""),
      ...keys.split(" ").filter(Boolean).map((key) => element("kbd", {}, key)), element("span", "palette-kind", kind));
    if (text) node.append(element("span", "palette-words", text[0], element("mark", {}, text[1]), text[2]));
    const choose = () => {
      if (!text) remember(id);
      this.dialog.close();
      clearTimeout(this.timer);
      // No message beside the button's own: it may lead to another page, which a fragment of this one would break off.
      if (selector) button(selector)?.click();
      else send();
    };
    return { node, command: !answers, choose };
  }

  destroy() {
    this.listeners.abort();
    clearTimeout(this.timer);
  }
}

// What was chosen in this tab, the newest first.
const lately = () => JSON.parse(sessionStorage.getItem(RECENT) ?? "[]");

function remember(id) {
  sessionStorage.setItem(RECENT, JSON.stringify([id, ...lately().filter((other) => other !== id)].slice(0, MOST_RECENT)));
}

// The button or link of a command, where it can be used now.
function button(selector) {
  const target = document.querySelector(selector);
  return target && !target.disabled && target.checkVisibility() ? target : null;
}

export default mounted(".palette", (dialog) => new Palette(dialog));
