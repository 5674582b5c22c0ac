// Which content of the reading pane is shown: an attribute of the page's root, which panes.css goes by.
//
// A click on a card shows at once what is known of its step; without that, the one drawn before is dimmed until
// the server has drawn it.

import { connected, element, mounted } from "../streamlit_patches/shared.js";

const NAMES = { answer: "Answer", step: "Step", live: "Live" };
const PHASES = { ready: "answer", live: "live", replay: "live", done: "answer" };
const page = document.documentElement;

// What each session showed last. It outlives a page that is left and drawn again.
const remembered = globalThis.conductorReading ??= new Map();

class ReadingTabs {
  constructor(list) {
    this.list = list;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    this.tabs = Object.fromEntries(Object.entries(NAMES).map(([name, text]) => {
      const tab = element("button", { type: "button", role: "tab", id: `reading-tab-${name}`, class: `reading-tab of-${name}` }, text);
      tab.addEventListener("click", () => this.show(name), { signal });
      return [name, tab];
    }));
    list.append(...Object.values(this.tabs));
    list.addEventListener("keydown", (event) => this.key(event), { signal });
    // On a phone the step lies over what was read before.
    list.nextElementSibling.addEventListener("click", () => this.show(PHASES[this.data.phase]), { signal });
    window.addEventListener("conductor-step", ({ detail }) => {
      // Of the graph whose steps this pane shows; others show theirs below them.
      if (detail.graph === "inspector") this.selected(detail.step);
    }, { signal });
  }

  update({ data }) {
    this.data = data;
    page.dataset.stepPart = data.part ?? "";
    const { session, phase, step, selection, started_at } = data;
    const before = remembered.get(session);
    if (!before) this.show(step === null || phase === "live" ? PHASES[phase] : "step");
    // A run may be over before the page was drawn for its beginning.
    else if (started_at > before.started_at && phase === "done") this.show(PHASES.done);
    else if (before.phase !== phase) this.show(this.following(before, phase));
    else if (before.selection !== selection) this.show(step !== null ? "step" : before.tab === "step" ? PHASES[phase] : before.tab);
    else this.show(before.tab);
    if (step === this.awaited) this.settle();
    this.tabs.step.textContent = step === null ? NAMES.step : `${NAMES.step} ${step + 1}`;
  }

  // A run that begins shows itself, and at its end its answer; a step that a person looks at stays.
  following({ tab }, phase) {
    return phase === "live" || tab === "live" || (phase === "replay" && tab === "answer") ? PHASES[phase] : tab;
  }

  selected(step) {
    if (step === null) return this.show(page.dataset.reads === "step" ? PHASES[this.data.phase] : page.dataset.reads);
    if (step !== this.data.step) this.wait(step);
    this.show("step");
  }

  wait(step) {
    this.awaited = step;
    this.tabs.step.textContent = `${NAMES.step} ${step + 1}`;
    page.dataset.awaitsStep = "";
    clearTimeout(this.timer);
    // Whatever came of it, what is drawn can be read then. While the server is away, what is known stays.
    this.timer = setTimeout(() => (connected() ? this.settle() : this.wait(step)), 3000);
  }

  settle() {
    this.awaited = undefined;
    delete page.dataset.awaitsStep;
  }

  show(name) {
    const { session, phase, selection, started_at } = this.data, before = remembered.get(session)?.started_at ?? 0;
    remembered.set(session, { tab: name, phase, selection, started_at: Math.max(started_at, before) });
    if (page.dataset.reads !== name) {
      page.dataset.reads = name;
      window.dispatchEvent(new Event("conductor-reads"));
    }
    page.toggleAttribute("data-live", phase === "live");
    for (const [of, tab] of Object.entries(this.tabs)) {
      tab.setAttribute("aria-selected", String(of === name));
      tab.tabIndex = of === name ? 0 : -1;
      const panel = document.querySelector(`.st-key-read-${of}`);
      panel?.setAttribute("role", "tabpanel");
      panel?.setAttribute("aria-labelledby", tab.id);
    }
  }

  key(event) {
    const names = Object.keys(NAMES), at = names.indexOf(page.dataset.reads ?? "");
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = names[(to + names.length) % names.length];
    this.show(name);
    this.tabs[name].focus();
  }

  destroy() {
    clearTimeout(this.timer);
    this.settle();
    this.listeners.abort();
  }
}

export default mounted(".reading-tabs", (list) => new ReadingTabs(list));
