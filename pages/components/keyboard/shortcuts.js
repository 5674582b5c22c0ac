// Keys that press buttons of the page, and the sheet of all keys. Text fields keep their own keys: only the field
// that a shortcut names (`within`) lets it through.

import { element, mounted } from "../streamlit_patches/shared.js";

const PATIENCE = 3000;                                      // milliseconds

// The page is drawn piece by piece: what was typed in its first moments may be there before its button.
function pressWhenReady(selector, until) {
  const button = document.querySelector(`${selector} button`);
  if (button && !button.disabled) button.click();
  else if (!button && performance.now() < until) requestAnimationFrame(() => pressWhenReady(selector, until));
}

// As they stand on this machine's keyboard.
const mac = navigator.platform.startsWith("Mac");
const named = (key) => (mac ? { Ctrl: "⌘", Shift: "⇧", Enter: "↩" }[key] : null) ?? key;

// "Ctrl+Z" is two keys at once, "+" is one.
const keyCaps = (keys) => element("span", "at-once", ...keys.split(/(?<=.)\+(?=.)/).map((key) => element("kbd", {}, named(key))));

class Shortcuts {
  constructor(sheet) {
    this.sheet = sheet;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
    document.addEventListener("click", (/** @type {any} */ { target }) => {
      // Beside the sheet is the sheet's own backdrop.
      if (target === sheet || target.closest(".close-shortcuts")) sheet.close();
      else if (target.closest(".show-shortcuts")) this.show();
    }, { signal });
  }

  update({ data }) {
    this.data = data;
    this.sheet.replaceChildren(
      element("header", {}, element("h2", { id: "shortcuts-title" }, "Keyboard"),
        element("button", { type: "button", class: "close-shortcuts" }, "Close")),
      element("div", "groups", ...data.groups.map(({ name, rows }) => element("section", {}, element("h3", {}, name),
        element("dl", {}, ...rows.flatMap(([keys, does]) => [element("dt", {}, ...keys.map(keyCaps)), element("dd", {}, does)]))))));
  }

  show() {
    // A dialog keeps the focus to itself.
    if (!this.sheet.open && !document.querySelector('[role="dialog"]')) this.sheet.showModal();
  }

  pressed(event) {
    if (event.altKey || this.sheet.open) return;
    const control = event.ctrlKey || event.metaKey, typed = event.key.toLowerCase();
    const field = event.composedPath().find((node) => node.matches?.("input, textarea, select, [contenteditable]"));
    if (!field && !control && typed === this.data.sheet) {
      event.preventDefault();
      this.show();
      return;
    }
    const shortcut = this.data.pressed.find(({ key, ctrl, shift, within }) =>
      key === typed && ctrl === control && shift === event.shiftKey && (!field || (within && field.closest(within))));
    if (!shortcut) return;
    const button = document.querySelector(`${shortcut.button} button`);
    if (button ? button.disabled : !field) return;
    event.preventDefault();
    pressWhenReady(shortcut.button, performance.now() + PATIENCE);
  }

  destroy() { this.listeners.abort(); }
}

export default mounted(".shortcuts", (sheet) => new Shortcuts(sheet));
