// A dialog with one field and one list: what can be done is filtered here, words are looked for by the server.
// The focus stays in the field; the arrow keys move through the list.

const TYPING = 150;                                         // milliseconds without a key before the server is asked

class Palette {
  constructor(dialog) {
    this.dialog = dialog;
    this.field = element("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-rows", "aria-autocomplete": "list",
      "aria-label": "Words in this session, or a command", placeholder: "Find words in this session, or a command", maxlength: 200, spellcheck: "false" });
    this.list = element("div", { id: "palette-rows", role: "listbox", "aria-label": "Found" });
    this.state = element("p", { class: "palette-state", role: "status" });
    dialog.append(this.field, this.list, this.state);
    this.options = [];
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
    // What is not looked at is not looked for. A choice ends the search by itself.
    dialog.addEventListener("cancel", () => this.ask(""), { signal });
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
    if (document.querySelector('[role="dialog"], dialog.shortcuts[open]')) return;
    event.preventDefault();
    if (this.dialog.open) return this.leave();
    this.dialog.showModal();
    this.field.select();
    if (this.field.value) this.ask();
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
    const { query, rows, commands } = this.data, typed = this.field.value.trim(), words = typed.toLowerCase();
    // Until the answer is there, the rows before it stay.
    const waits = this.waits = typed !== query && typed !== "";
    const places = typed ? rows.map((row, at) => this.place(row, () => this.component.setTriggerValue("chosen", { query, at }))) : [];
    const usable = commands.filter(([does, , selector]) => does.toLowerCase().includes(words) && button(selector));
    const named = (first) => usable.filter(([does]) => does.toLowerCase().startsWith(words) === first)
      .map(([does, keys, selector]) => this.command(does, keys, selector));
    this.options = [...named(true), ...places, ...named(false)];
    this.list.replaceChildren(...this.options.map(({ node }) => node));
    this.list.classList.toggle("waits", waits);
    this.list.hidden = !this.options.length;
    this.options.forEach(({ node, choose }, at) => {
      node.id = `palette-row-${at}`;
      node.onclick = choose;
      node.onpointermove = () => { if (this.at !== at) this.mark(at, false); };
    });
    this.state.textContent = waits ? "Searching…" : !this.options.length ? "No text or note of this session has these words." : "";
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

  place({ where, before, words, after }, send) {
    const node = element("div", { role: "option", class: "palette-place" }, element("span", "palette-where", where),
      element("span", "palette-words", before, element("mark", {}, words), after));
    return { node, choose: () => { this.dialog.close(); clearTimeout(this.timer); send(); } };
  }

  command(does, keys, selector) {
    const caps = keys.split(" ").filter(Boolean).map((key) => element("kbd", {}, key));
    const node = element("div", { role: "option", class: "palette-command" }, element("span", {}, does), ...caps);
    return { node, command: true, choose: () => { this.leave(); button(selector)?.click(); } };
  }

  destroy() {
    this.listeners.abort();
    clearTimeout(this.timer);
  }
}

// The button or link of a command, where it can be used now.
function button(selector) {
  const found = document.querySelector(selector);
  return found && !found.disabled && found.checkVisibility() ? found : null;
}

export default mounted(".palette", (dialog) => new Palette(dialog));
