// The border of a pane, to be dragged or moved with the arrow keys. How far is a length in a property of the
// page's root that panes.css goes by; the browser keeps it from visit to visit.

import { mounted } from "../streamlit_patches/shared.js";
import { ofBrowser, store, stored } from "../streamlit_patches/stored.js";

const STEP = 24;                                            // pixels for a press of an arrow key
const page = document.documentElement;

// Its place, which way it grows, and the least and the most room in pixels, the latter of what there is.
const PANES = {
  read: { key: "ArrowLeft", back: "ArrowRight", upright: true, least: 300, left: 360 },
  drawer: { key: "ArrowUp", back: "ArrowDown", upright: false, least: 120, left: 220 },
};

class Handle {
  constructor(line) {
    this.line = line;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    line.addEventListener("pointerdown", (event) => this.drag(event), { signal });
    line.addEventListener("keydown", (event) => this.key(event), { signal });
    line.addEventListener("dblclick", () => this.give(null), { signal });
  }

  update({ data }) {
    this.pane = data.pane;
    const { upright } = PANES[this.pane];
    this.line.setAttribute("aria-label", data.label);
    this.line.setAttribute("aria-orientation", upright ? "vertical" : "horizontal");
    this.line.title = `${data.label}; double-click to reset`;
    this.give(Number(stored(place(this.pane), ofBrowser)) || null, { keep: false });
  }

  /** @returns {any} */
  get box() { return document.querySelector(`.st-key-${this.pane}-pane, .st-key-${this.pane}`); }

  get room() {
    const { width, height } = this.box.getBoundingClientRect();
    return PANES[this.pane].upright ? width : height;
  }

  drag(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    const { upright } = PANES[this.pane], at = ({ clientX, clientY }) => (upright ? clientX : clientY);
    const from = at(event), room = this.room, moves = new AbortController(), { signal } = moves;
    this.line.setPointerCapture(event.pointerId);
    this.line.addEventListener("pointermove", (moved) => this.give(room + from - at(moved)), { signal });
    for (const end of ["pointerup", "pointercancel"]) this.line.addEventListener(end, () => moves.abort(), { signal });
  }

  key(event) {
    const { key, back } = PANES[this.pane];
    const by = { [key]: STEP, [back]: -STEP }[event.key];
    if (by === undefined && event.key !== "Home") return;
    event.preventDefault();
    this.give(by === undefined ? null : this.room + by);
  }

  // So many pixels; null: as much as it has by itself.
  give(pixels, { keep = true } = {}) {
    const { least, left, upright } = PANES[this.pane], name = `--${this.pane}-room`;
    const whole = upright ? window.innerWidth : window.innerHeight;
    const width = pixels === null ? null : Math.round(Math.max(least, Math.min(whole - left, pixels)));
    if (width === null) page.style.removeProperty(name);
    else page.style.setProperty(name, `${width}px`);
    // The pane may come after its border, or leave before it.
    if (this.box) this.line.setAttribute("aria-valuenow", String(Math.round((100 * this.room) / whole)));
    if (keep) store(place(this.pane), width === null ? null : String(width), ofBrowser);
  }

  destroy() { this.listeners.abort(); }
}

const place = (pane) => `conductor-${pane}-room`;

export default mounted(".pane-handle", (line) => new Handle(line));
