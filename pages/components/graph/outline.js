// What the canvas shows, as a list that is read aloud: one option a card, text nodes only. On a phone, where the list
// stands in place of the canvas, each option is seen as well, in fewer words.

import { element, markOption, workerMark } from "../streamlit_patches/shared.js";
import { CHANGE_WORDS, STATUS_WORDS } from "./icons.js";

let outlines = 0;

export class Outline {
  constructor(stage, list) {
    this.stage = stage;
    this.list = list;
    this.prefix = `graph-${++outlines}-step-`;
  }

  // `shows`: whether the filter leaves a step in sight; only a list that is seen is filtered.
  show(cards, edges, selected, shows) {
    while (this.list.children.length > cards.length) this.list.lastChild.remove();
    const seen = this.list.closest("[data-list]") !== null;
    cards.forEach((card) => {
      const name = nameOf(card, cards.length, edges);
      if (!this.list.children[card.step]) this.list.append(element("div", { id: this.prefix + card.step, role: "option" }));
      const option = this.list.children[card.step], parts = seen ? [element("span", "said", name), ...lines(card)] : [name];
      const text = parts.map((part) => part.textContent ?? part).join("");
      if (option.textContent !== text) option.replaceChildren(...parts);
      option.dataset.status = card.content.status;
      option.style.setProperty("--heat", String(card.content.heat?.share ?? 0));
      option.dataset.filtered = shows(card.step) ? "in" : "out";
    });
    markOption(this.stage, this.list.children, selected);
  }
}

function nameOf({ step, content }, count, edges) {
  const reads = edges.filter((edge) => edge.to === step).sort((a, b) => a.from - b.from)
    .map(({ from, heat }) => (heat ? `${from + 1} (${heat.text})` : from + 1));
  const access = reads.length ? `reads step${reads.length > 1 ? "s" : ""} ${reads.join(", ")}` : "reads no step";
  const excerpt = content.excerpt && !content.streams && `“${content.excerpt}”`;
  const parts = [CHANGE_WORDS[content.change], content.title, `worker ${content.worker}`, ...content.badges, content.gate && "with a gate before it", STATUS_WORDS[content.status], content.note, ...content.figures, content.remark, content.inside, excerpt, access];
  return `Step ${step + 1} of ${count}: ${parts.filter(Boolean).join(", ")}`;
}

// Number and title with what came of it, and below them who did it and how the output begins.
function lines({ step, content }) {
  const { title, note, status, worker, mark, excerpt, body } = content;
  const line = (name, ...parts) => element("span", { class: name, "aria-hidden": "true" }, ...parts);
  return [
    line("head", element("b", {}, `${step + 1}. `, element("bdi", {}, title)), element("span", {}, note || STATUS_WORDS[status])),
    line("more", workerMark(mark), ` ${[worker, excerpt || body].filter(Boolean).join(" · ")}`),
  ];
}
