// What the canvas shows, as a list that is read aloud: one option a card, text nodes only. On a phone, where the list
// stands in place of the canvas, each option is seen as well, in fewer words.

import { element, markOption, workerMark } from "../streamlit_patches/shared.js";
import { isPile, numberOf, signOf } from "./card.js";
import { CHANGE_WORDS, STATUS_WORDS } from "./icons.js";

let outlines = 0;

export class Outline {
  constructor(stage, list) {
    this.stage = stage;
    this.list = list;
    this.prefix = `graph-${++outlines}-step-`;
  }

  // `shows`: whether the filter leaves a card in sight; only a list that is seen is filtered.
  show(cards, edges, selected, shows) {
    while (this.list.children.length > cards.length) this.list.lastChild.remove();
    const seen = this.list.closest("[data-list]") !== null;
    const into = cards.map(() => []);
    for (const edge of edges) into[edge.to].push(edge);
    cards.forEach((card) => {
      const name = nameOf(card, cards, into[card.step]);
      if (!this.list.children[card.step]) this.list.append(element("div", { id: this.prefix + card.step, role: "option" }));
      const option = this.list.children[card.step], parts = seen ? [element("span", "said", name), ...lines(card)] : [name];
      const text = parts.map((part) => part.textContent ?? part).join("");
      if (option.textContent !== text) option.replaceChildren(...parts);
      option.dataset.status = card.content.status;
      option.style.setProperty("--heat", String(card.content.heat?.share ?? 0));
      option.dataset.filtered = shows(card) ? "in" : "out";
    });
    markOption(this.stage, this.list.children, selected);
  }
}

// A step as others name it; one to come has no number.
const named = (card) => (card.steps.length ? signOf(card) : `“${card.content.title}”`);

// `own`: the edges into the card.
function nameOf(card, cards, own) {
  const { content } = card;
  own.sort((a, b) => a.from - b.from);
  const source = ({ from, heat }) => named(cards[from]) + (heat ? ` (${heat.text})` : "");
  const steps = (list) => `step${list.length > 1 ? "s" : ""} ${list.map(source).join(", ")}`;
  const [reads, lost] = [own.filter(({ change }) => change !== "removed"), own.filter(({ change }) => change === "removed")];
  const no = lost.length ? `no longer reads ${steps(lost)}` : "reads no step";
  const access = content.change === "removed" ? "" : [reads.length && `reads ${steps(reads)}`, (lost.length || !reads.length) && no].filter(Boolean).join(", ");
  const excerpt = content.excerpt && !content.streams && `“${content.excerpt}”`;
  const inside = isPile(content) ? `stands for ${content.inside}: ${card.steps.map((at) => at + 1).join(", ")}` : content.inside;
  const parts = [CHANGE_WORDS[content.change], content.title, `worker ${content.worker}`, ...content.badges, content.gate && "with a gate before it", STATUS_WORDS[content.status], content.note, ...content.figures, content.remark, inside, excerpt, access];
  const which = !card.steps.length ? "Step to come" : `Step ${signOf(card)}${content.steps ? "" : ` of ${cards.length}`}`;
  return `${which}: ${parts.filter(Boolean).join(", ")}`;
}

// Number and title with what came of it, and below them who did it and how the output begins.
function lines(card) {
  const { title, note, status, worker, mark, excerpt, body, change, inside } = card.content;
  const line = (name, ...parts) => element("span", { class: name, "aria-hidden": "true" }, ...parts);
  return [
    line("head", element("b", {}, `${numberOf(card)} `, element("bdi", {}, title)), element("span", {}, [isPile(card.content) && inside, CHANGE_WORDS[change] ?? (note || STATUS_WORDS[status])].filter(Boolean).join(" · "))),
    line("more", workerMark(mark), ` ${[worker, excerpt || body].filter(Boolean).join(" · ")}`),
  ];
}
