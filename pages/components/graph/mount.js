// The part that every graph on a page carries: it waits for the library, which the page carries once, and
// chooses by the width there is which of the pictures is shown and how high the graph then has to be.

import { mounted } from "../streamlit_patches/shared.js";

// As layout.py and graph.css count them.
const MARGIN = 24, BAR_HEIGHT = 48, LEGEND_HEIGHT = 36;
const LEAST_HEIGHT = 200;
const ROOM = ".st-key-graph-room";
// At this width the steps are a list: see graph.css.
const phone = window.matchMedia("(max-width: 700px)");
// A scroll bar that comes with a higher picture must not bring back the lower one, and so on for ever.
const INDIFFERENT = 24;
// The size of the page's letters at which an audience's graph has its usual ones; at larger ones it has larger ones.
const USUAL_LETTERS = 13;

// What was scrolled to once is not scrolled to again; each component has a module of its own.
const revealed = globalThis.conductorRevealed ??= new Set();

class Frame {
  constructor(root) {
    this.root = root;
    this.width = 0;
    this.graph = null;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    window.addEventListener("conductor-graph-ready", () => this.draw(), { once: true, signal });
    // A page may give the graph a room to fill; elsewhere it is as high as it needs.
    this.room = root.getRootNode().host?.closest(ROOM) ?? null;
    this.observer = new ResizeObserver(() => {
      if (Math.abs(root.clientWidth - this.width) >= INDIFFERENT) this.draw();
      else if (this.room && this.root.style.height !== `${this.room.clientHeight}px`) this.draw();
    });
    this.observer.observe(root);
    if (this.room) this.observer.observe(this.room);
  }

  update(component) {
    this.component = component;
    this.draw();
    const { reveal } = component.data;
    if (!reveal || revealed.has(reveal)) return;
    revealed.add(reveal);
    requestAnimationFrame(() => this.root.scrollIntoView({ block: "nearest" }));
  }

  draw() {
    const { root, component } = this, { pictures } = component.data;
    if (Math.abs(root.clientWidth - this.width) >= INDIFFERENT) this.width = root.clientWidth;
    const chosen = this.room ? this.forRoom(pictures) : this.forWidth(pictures);
    // At once, so that the page below does not jump when the library arrives.
    if (this.room) this.fill();
    else root.style.height = `${this.heightFor(pictures[chosen])}px`;
    if (!globalThis.ConductorGraph) return;
    this.graph ??= new globalThis.ConductorGraph(root);
    this.graph.update(component, chosen);
  }

  forWidth(pictures) {
    const fitting = pictures.findIndex((picture) => picture.least_width <= this.width);
    return fitting < 0 ? pictures.length - 1 : fitting;
  }

  // The first that can be read here as a whole, or almost so, as letters never get smaller than they may; else the
  // one that lacks the least room.
  forRoom(pictures) {
    const { large } = this.component.data;
    const enlargement = large ? parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL_LETTERS : 1;
    const height = this.room.clientHeight - (large ? 0 : BAR_HEIGHT) - this.legendHeight - 2 * MARGIN;
    const room = pictures.map(({ least_width, least_height }) => Math.min(this.width / least_width, height / least_height) / enlargement);
    const fitting = [0.92, ...(large ? [0.75] : [])].map((least) => room.findIndex((share) => share >= least));
    return fitting.find((at) => at >= 0) ?? room.indexOf(Math.max(...room));
  }

  get legendHeight() { const { workers, proposal, grows } = this.component.data; return workers.length || proposal || grows ? LEGEND_HEIGHT : 0; }

  fill() {
    const height = phone.matches ? "auto" : `${this.room.clientHeight}px`;
    this.root.toggleAttribute("data-list", phone.matches);
    this.root.classList.toggle("large", this.component.data.large);
    // The room has a frame of its own.
    if (this.root.style.height !== height) Object.assign(this.root.style, { height, border: "0", borderRadius: "0" });
  }

  heightFor({ width, height, most_height }) {
    const scale = Math.min(1, Math.max(1, this.width - 2 * MARGIN) / width);
    const pictureHeight = Math.min(most_height, height * scale);
    return Math.max(LEAST_HEIGHT, Math.round(pictureHeight + 2 * MARGIN + BAR_HEIGHT + this.legendHeight));
  }

  destroy() {
    this.listeners.abort();
    this.observer.disconnect();
    this.graph?.destroy();
  }
}

export default mounted(".graph", (root) => new Frame(root));
