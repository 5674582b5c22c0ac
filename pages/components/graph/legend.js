// Who works here, below the picture: a button a worker. A press dims the other steps; a second press ends that.

import { element, workerMark } from "../streamlit_patches/shared.js";

// More steps than this are a number, not a list.
const MANY = 30;

export class Legend {
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    this.chosen = null;
    this.shares = [];
  }

  // What is the same as before stays, and the focus on it.
  update(shares) {
    this.shares = shares;
    if (!shares.some(({ worker }) => worker === this.chosen)) this.chosen = null;
    const signature = JSON.stringify(shares);
    if (signature !== this.signature) {
      const had = [...this.box.children].indexOf(this.box.getRootNode().activeElement);
      this.box.replaceChildren(...shares.map((share) => this.button(share)));
      this.box.children[had]?.focus({ preventScroll: true });
    }
    this.signature = signature;
    this.press();
    this.fit();
  }

  // As many figures as there is room for, the first ones first; the others are in the tips alone.
  fit() {
    for (const most of [4, 3, 2, 1, 0]) {
      for (const figure of this.box.querySelectorAll("[data-at]")) figure.hidden = Number(figure.dataset.at) >= most;
      if (this.box.scrollWidth <= this.box.clientWidth) return;
    }
  }

  button({ worker, mark, steps, figures }) {
    const numbers = steps.map((step) => step + 1).join(", "), words = steps.length > MANY ? `${steps.length} steps` : `step${steps.length > 1 ? "s" : ""} ${numbers}`;
    const title = [worker, ...figures, words].join(" \u00b7 ");
    const parts = figures.flatMap((figure, at) => [" ", element("span", { class: "figure", "data-at": at }, figure)]);
    const button = element("button", { type: "button", title }, workerMark(mark), element("bdi", {}, worker), ...parts);
    button.addEventListener("click", () => {
      this.chosen = worker === this.chosen ? null : worker;
      this.press();
      this.changed();
    });
    return button;
  }

  press() {
    this.shares.forEach(({ worker }, at) => this.box.children[at].setAttribute("aria-pressed", String(worker === this.chosen)));
  }

  // Whether a card has a step of the worker that was pressed, or no worker was.
  shows(card) { return this.chosen === null || this.shares.some(({ worker, steps }) => worker === this.chosen && card.steps.some((step) => steps.includes(step))); }
}
