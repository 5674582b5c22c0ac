// What is known of a step, from the moment its card is selected until the server has drawn it: the page shows this
// instead of the step before (panes.css, by data-awaits-step on its root, which tabs.js sets).

import { element, mounted } from "../streamlit_patches/shared.js";
import { TextBlock } from "./text_block.js";

const page = document.documentElement;

class StepPreview {
  constructor(root) {
    this.root = root;
    this.text = new TextBlock(root.querySelector(".text-block"));
    this.listeners = new AbortController();
    window.addEventListener("conductor-step", ({ detail }) => {
      if (detail.graph === "inspector" && detail.step !== null) this.show(detail.step);
    }, { signal: this.listeners.signal });
  }

  update({ data }) {
    this.data = data;
    page.dataset.previews = "";
  }

  show(step) {
    const { steps, parts } = this.data, content = steps[step], find = (name) => this.root.querySelector(name);
    page.toggleAttribute("data-previews", Boolean(content));
    if (!content) return;
    const part = page.dataset.stepPart || content.usual, [output, instruction] = parts;
    find("h3").textContent = content.name;
    find(".preview-worker").textContent = content.worker;
    find(".preview-parts").replaceChildren(...parts.map((name) =>
      element("span", { class: "preview-part", "data-shown": name === part }, name)));
    find(".preview-state").textContent = part === output ? content.state : "";
    find(".preview-instruction").textContent = part === instruction ? content.instruction : "";
    this.text.root.hidden = part !== output || !content.output;
    if (!this.text.root.hidden) this.text.update({ data: { ...APPEARANCE, label: output, notes: content.notes, ...content.output } });
  }

  destroy() {
    delete page.dataset.previews;
    this.listeners.abort();
    this.text.destroy();
  }
}

const APPEARANCE = { legend: [], heading: true, framed: true, copy: false, live: false, height: null, steady: false };

export default mounted(".step-preview", (root) => new StepPreview(root));
