// Has the recorded run of the start page play once it is looked at, or shows its end where a person wants less motion;
// and gives the question's box the focus where "Ask your own" is pressed.

import { connected, drawing, mounted } from "../../streamlit_patches/shared.js";

const AGAIN = 60;                                          // milliseconds between two looks whether the page is drawn
const steady = window.matchMedia("(prefers-reduced-motion: reduce)");

class Opening {
  constructor() {
    this.plays = false;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("visibilitychange", () => this.begin(), { signal });
    document.addEventListener("click", (/** @type {any} */ { target }) => {
      if (target.closest?.(".st-key-invite-ask")) /** @type {any} */ (document.querySelector(".st-key-query textarea"))?.focus();
    }, { signal });
  }

  update(component) {
    this.component = component;
    this.begin();
  }

  begin() {
    clearTimeout(this.timer);
    if (!this.component.data.waits || this.plays || document.hidden) return;
    if (drawing() || !connected()) {
      this.timer = setTimeout(() => this.begin(), AGAIN);
      return;
    }
    this.plays = true;
    this.component.setTriggerValue("begin", steady.matches ? "end" : "play");
  }

  destroy() {
    clearTimeout(this.timer);
    this.listeners.abort();
  }
}

export default mounted(".stage-begin", () => new Opening());
