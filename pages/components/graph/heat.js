// Which figures are drawn onto the graph as heat, chosen in its corner; the tab remembers the choice, for all of its
// graphs. Trials that end while a graph is looked at are drawn at once.

import { element } from "../streamlit_patches/shared.js";
import { ofTab, store, stored } from "../streamlit_patches/stored.js";

const KEY = "conductor-heat", CHANGED = "conductor-heat-changed", NONE = "No heat";

export class HeatSwitch {
  constructor(select, changed, signal) {
    this.select = select;
    this.maps = [];
    /** @type {Set<string> | null} */
    this.seen = null;
    select.addEventListener("change", () => choose(select.value), { signal });
    window.addEventListener(CHANGED, () => { this.show(); changed(); }, { signal });
  }

  update(maps) {
    this.maps = maps;
    const trials = new Set(maps.map(({ trial }) => trial).filter(Boolean)), fresh = maps.find(({ trial }) => trial && this.seen && !this.seen.has(trial));
    this.seen = trials;
    if (fresh) store(KEY, fresh.name, ofTab);
    const options = [["", NONE], ...maps.map(({ name, label }) => [name, label])], signature = JSON.stringify(options);
    if (signature !== this.signature) this.select.replaceChildren(...options.map(([value, label]) => element("option", { value }, label)));
    this.signature = signature;
    this.show();
  }

  show() {
    this.select.hidden = this.maps.length === 0;
    this.select.value = this.map?.name ?? "";
  }

  get map() { return this.maps.find(({ name }) => name === stored(KEY, ofTab)) ?? null; }

  ofStep(step) { return this.map?.steps[step] ?? null; }

  ofEdge(id) { return this.map?.edges[id] ?? null; }

  // Whether edges are what is measured: those that were not are thin then.
  get ofEdges() { return Object.keys(this.map?.edges ?? {}).length > 0; }
}

function choose(name) {
  store(KEY, name || null, ofTab);
  window.dispatchEvent(new Event(CHANGED));
}
