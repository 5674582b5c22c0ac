// What the canvas shows, as a list that is read aloud: one option a card, text nodes only.

let outlines = 0;

class Outline {
  constructor(stage, list) {
    this.stage = stage;
    this.list = list;
    this.prefix = `graph-${++outlines}-step-`;
  }

  show(cards, edges, selected) {
    while (this.list.children.length > cards.length) this.list.lastChild.remove();
    cards.forEach((card) => {
      const name = nameOf(card, cards.length, edges), option = this.list.children[card.step];
      if (!option) this.list.append(element("div", { id: this.prefix + card.step, role: "option" }, name));
      else if (option.textContent !== name) option.textContent = name;
    });
    markOption(this.stage, this.list.children, selected);
  }
}

function nameOf({ step, content }, count, edges) {
  const reads = edges.filter((edge) => edge.to === step).map((edge) => edge.from + 1).sort((a, b) => a - b);
  const access = reads.length ? `reads step${reads.length > 1 ? "s" : ""} ${reads.join(", ")}` : "reads no step";
  const excerpt = content.excerpt && !content.streams && `“${content.excerpt}”`;
  const parts = [CHANGE_WORDS[content.change], content.title, `worker ${content.worker}`, ...content.badges, STATUS_WORDS[content.status], content.note, ...content.figures, content.remark, content.inside, excerpt, access];
  return `Step ${step + 1} of ${count}: ${parts.filter(Boolean).join(", ")}`;
}
