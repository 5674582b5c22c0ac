// Branches that are one card: Python has them, so that they follow edits; the tab remembers them for a page that is
// loaded once more.

import { ofTab, store, stored } from "../streamlit_patches/stored.js";

const NAME = "conductor-collapsed";

export class Collapse {
  constructor(graph) {
    this.graph = graph;
    this.now = this.finished = [];
    this.offered = false;
    /** @type {{ own: number, text: string } | null} */
    this.announcement = null;
  }

  update({ collapses, revision }) {
    this.offered = Boolean(collapses);
    if (!collapses) return;
    const { now, finished } = collapses, changed = String(now) !== String(this.now), kept = JSON.parse(stored(NAME, ofTab) ?? "{}"), first = this.revision === undefined;
    Object.assign(this, { now, finished });
    if (first && kept[revision] && !now.length) this.ask(kept[revision]);
    else {
      delete kept[this.revision];
      delete kept[revision];
      store(NAME, JSON.stringify(now.length ? { ...kept, [revision]: now } : kept), ofTab);
    }
    this.revision = revision;
    if (!this.announcement || !changed) return;
    this.graph.say(this.announcement.text, this.graph.cards[this.graph.cardOf(this.announcement.own)]);
    this.announcement = null;
  }

  ask(steps) { this.graph.component.setTriggerValue("collapse", steps); }

  // Whether a card's branch is, or can be, one card.
  has(card) { return this.offered && card?.content.branch > 1; }

  isOne(card) { return card?.steps.length > 1; }

  words(card) { return this.isOne(card) ? "Expand" : `Collapse ${card.content.branch} steps`; }

  toggle(card) {
    if (!this.has(card)) return;
    const own = card.steps.at(-1), { branch } = card.content;
    this.announcement = { own, text: this.isOne(card) ? `${branch} cards in place of one` : `One card in place of ${branch}` };
    this.ask(this.isOne(card) ? this.now.filter((step) => step !== own) : [...this.now, own]);
  }

  // What the tool does: for the selected card, else for all that is finished, or that is collapsed.
  get tool() {
    const card = this.graph.cards[this.graph.selected];
    if (this.has(card)) return { words: this.words(card), act: () => this.toggle(card) };
    const left = this.finished.some((step) => !this.graph.cards.some((one) => this.isOne(one) && one.steps.includes(step)));
    if (left) return { words: "Collapse finished", act: () => this.ask([...new Set([...this.now, ...this.finished])]) };
    return this.now.length ? { words: "Expand all", act: () => this.ask([]) } : null;
  }
}
