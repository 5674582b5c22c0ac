// One workflow graph on the page: what it shows, what is selected, what it asks Python for.
//
// Selecting shows at once and is reported; an edit is only requested: the picture changes when Python sends another
// workflow.

import { fillScreen } from "../streamlit_patches/shared.js";
import { cuts, drawCard, drawCollapse, drawGate, drawPort, isNumber } from "./card.js";
import { Collapse } from "./collapse.js";
import { Flow } from "./flow.js";
import { HeatSwitch } from "./heat.js";
import { handleKey } from "./keyboard.js";
import { Legend } from "./legend.js";
import { Minimap } from "./minimap.js";
import { Outline } from "./outline.js";
import { HINT_STAYS, Pointer } from "./pointer.js";
import { Proposal } from "./proposal.js";
import { controls, drawEdges, edgeAt, lengthOf, pointAt } from "./routes.js";
import { readTheme, stillness } from "./theme.js";
import { GLIDE, View } from "./view.js";

// Of a usual plan: its rows, with the room between them in cards' sizes, and how far its cards reach aside.
const USUAL_ROWS = 3.6, APART = 1.65;

const EXPAND = "Expand this card to change its steps (C)";

// A card with its heat, whose figures stand in place of the others.
function heated(content, heat) {
  if (!heat) return content;
  const [note, ...figures] = heat.text.split(" \u00b7 ");
  return { ...content, heat, note, figures };
}

// The card whose dot is pointed at, null for none; `placeOf` gives the middle of a card's dot.
const dotAt = ({ x, y }, cards, placeOf, radius) => cards.find((at) => {
  const [across, below] = placeOf(at);
  return Math.hypot(x - across, y - below) <= radius * 1.35;
}) ?? null;

class WorkflowGraph {
  constructor(root) {
    this.root = root;
    this.stage = root.querySelector(".stage");
    this.hint = root.querySelector(".hint");
    this.cards = [];
    this.edges = [];
    /** @type {any} */
    this.theme = null;
    this.hinted = { text: "", clientX: 0, clientY: 0 };
    this.selected = this.selectedEdge = this.hoverCard = this.hoverEdge = this.link = null;
    this.stats = { updates: 0, layouts: 0, edits: 0 };
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    this.view = new View(root.querySelector(".canvas"), {
      drawCard: ({ ctx, id }) => this.cardRenderer(ctx, id),
      drawBelow: (ctx) => { this.readers = this.litReaders(); drawEdges(ctx, this.edges, this, this.theme, this.down, this.view.scale); },
      drawAbove: (ctx) => { this.drawAffordances(ctx); this.flow?.draw(); this.minimap?.draw(); },
    });
    this.minimap = new Minimap(root.querySelector(".minimap"), this.view, signal);
    this.flow = new Flow(root.querySelector(".flow"), this.view);
    this.legend = new Legend(root.querySelector(".legend"), () => this.changed());
    this.heat = new HeatSwitch(root.querySelector(".heat"), () => this.update(this.component, this.picture), signal);
    this.proposal = new Proposal(this, signal);
    this.collapse = new Collapse(this);
    this.outline = new Outline(this.stage, root.querySelector(".outline"));
    this.outline.list.addEventListener("click", ({ target }) => {
      const at = [...this.outline.list.children].indexOf(target.closest('[role="option"]'));
      if (at >= 0) this.select(at);
    }, { signal });
    this.pointer = new Pointer(this, signal);
    this.stage.addEventListener("keydown", (event) => handleKey(this, event), { signal });
    const menu = root.querySelector(".more");
    document.addEventListener("pointerdown", (event) => { menu.open &&= event.composedPath().includes(menu); }, { signal });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      menu.open = false;
      menu.firstElementChild.focus();
    }, { signal });
    root.querySelectorAll("[data-tool]").forEach((button) =>
      button.addEventListener("click", () => this.use(button.dataset.tool), { signal }));
    root.__fg = this;
  }

  // -- data from Python --------------------------------------------------------------------------

  // `picture` is the index of the picture to show.
  update(component, picture) {
    const { data } = this.component = component, { direction, kind } = data.pictures[picture];
    this.picture = picture;
    const news = this.content !== data, first = !this.content, moved = data.selection_revision !== this.revision, step = this.stepOf(this.selected);
    this.stats.updates++;
    this.locked = data.locked || !data.editable;
    this.root.classList.toggle("grows", data.grows);
    this.view.enlarge(data.large);
    this.legend.update(data.workers);
    this.heat.update(data.heats);
    const others = this.proposal.update(data.proposal);
    this.down = direction === "down";
    this.root.querySelector(".note").hidden = direction === data.direction;
    this.readTheme();
    this.view.resized();
    this.readCards(data, picture, kind);
    this.collapse.update(data);
    this.selected = this.cardOf(step);
    this.content = data;
    this.revision = data.selection_revision;
    if (!data.knows_selection && this.selected !== null) {
      // A server that was away does not know it, also where it was reported: the report may have been lost. The same
      // data at another size is no news.
      if (news) this.report();
    } else if (moved) {
      this.selected = this.cardOf(data.selected);
      this.selectedEdge = null;
      // A step that was found elsewhere is looked for in a picture of numbers in vain.
      const card = this.cards[this.selected];
      if (card && !first && isNumber(card, this.view.scale)) this.view.show(card);
    // The cards of a proposed change are others, in another order.
    } else if (others && this.selected !== null) this.select(null);
    this.dropVanished();
    this.flow.update(this.cards, this.edges, this.theme, { live: data.locked || this.wasLocked, down: this.down });
    this.minimap.update(this.cards, this.theme);
    this.wasLocked = data.locked;
    this.changed();
  }

  readTheme() {
    this.theme = readTheme(this.root);
    this.root.style.setProperty("--ground", this.theme.ground);
    this.root.style.setProperty("--face", this.theme.face);
    this.root.style.setProperty("--heat-hue", this.theme.heat);
    if (this.font === this.theme.font) return;
    this.font = this.theme.font;
    // Before the font has arrived, texts would be cut to the widths of another one.
    Promise.all([400, 500, 600].map((weight) => document.fonts.load(`${weight} 13px ${this.font}`))).then(() => {
      cuts.clear();
      this.view.paint();
    });
  }

  readCards(data, picture, kind) {
    const { nodes, edges, grows } = data, earlier = this.cards;
    this.cards = nodes.map(({ id, places, content }) => {
      const [x, y, width, height] = places[picture];
      const steps = content.steps ?? [id], heat = this.heat.ofStep(steps.at(-1));
      return { step: id, steps, x, y, width, height, kind, content: heated(content, heat), left: x - width / 2, top: y - height / 2 };
    });
    const routed = edges.map(({ id, from, to, routes, change }) => ({ id, from, to, change, route: routes[picture] }));
    for (const edge of routed) edge.hue = nodes[edge.from].content.mark?.hue;
    const geometry = JSON.stringify([this.down, nodes.map(({ places }) => places[picture]), routed]);
    const heat = () => { for (const edge of this.edges) edge.heat = this.heat.ofEdge(edge.id); };
    if (geometry === this.geometry) return heat();
    const before = this.look;
    this.look = `${this.down} ${kind} ${this.cards[0]?.width} ${data.collapses?.now ?? ""}`;
    this.geometry = geometry;
    this.stats.layouts++;
    this.edges = routed;
    heat();
    // The same plan in another room is drawn in another way, and nothing of it has to stay.
    const fresh = before !== this.look || this.content === this.component.data;
    const bounds = this.bounds();
    this.view.place(this.cards, bounds, fresh, grows ? this.withRoom(bounds) : bounds);
    // Cards in place go to where an edge wants them; after a step has come or gone others have its number.
    if (fresh || stillness.matches || !(grows || earlier.length === nodes.length)) return;
    for (const card of this.cards) card.glide = { from: earlier[card.step] ?? card, since: performance.now() };
  }

  // A plan that is being written begins where its next steps will have room, too: behind the first, and beside it.
  withRoom({ left, right, top, bottom }) {
    const [{ width, height }] = this.cards, aside = APART * (this.down ? width : height), middle = (this.down ? left + right : top + bottom) / 2;
    return this.down
      ? { left: Math.min(left, middle - aside), right: Math.max(right, middle + aside), top, bottom: Math.max(bottom, USUAL_ROWS * height) }
      : { left, right: Math.max(right, USUAL_ROWS * width), top: Math.min(top, middle - aside), bottom: Math.max(bottom, middle + aside) };
  }

  bounds() {
    const points = [
      ...this.cards.flatMap(({ left, top, width, height }) => [[left, top], [left + width, top + height]]),
      ...this.edges.flatMap((edge) => edge.route),
    ];
    const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
    return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
  }

  dropVanished() {
    const edge = (id) => (this.edges.some((drawnEdge) => drawnEdge.id === id) ? id : null);
    this.selectedEdge = edge(this.selectedEdge);
    this.hoverEdge = edge(this.hoverEdge);
    if (this.hoverCard >= this.cards.length) this.hoverCard = null;
    if (this.selected >= this.cards.length) this.select(null);
    if (this.link && (this.locked || this.link.from >= this.cards.length)) this.endLink();
  }

  // -- what the user does --------------------------------------------------------------------------

  // The step of a card, null for one to come, and the card on which a step is.
  stepOf(at) { return this.cards[at]?.steps.at(-1) ?? null; }

  cardOf(step) { return this.cards.find(({ steps }) => steps.includes(step))?.step ?? null; }

  select(at) {
    const isSelected = at === this.selected, step = this.stepOf(at);
    this.selected = at;
    this.selectedEdge = null;
    this.changed();
    // The page shows a step beside the graph before the server knows of the click.
    window.dispatchEvent(new CustomEvent("conductor-step", { detail: { step, graph: this.component.data.inspector } }));
    if (!isSelected) this.report();
  }

  // With the time, because a value that is the same as the last one sent would not be reported.
  report() {
    this.component.setStateValue("selected", { step: this.stepOf(this.selected), at: Date.now() });
  }

  // An edge is selected beside the selected step; empty canvas deselects both.
  selectEdge(id) {
    if (id === null) return this.select(null);
    this.selectedEdge = id;
    this.changed();
  }

  get idle() { return !this.link && !this.selectedEdge && this.selected === null && this.proposal.whole; }

  escape() {
    if (this.link) this.endLink();
    else if (this.selectedEdge) { this.selectedEdge = null; this.changed(); }
    else if (this.selected !== null) this.select(null);
    else this.proposal.tickAll();
  }

  // Enter moves the focus to the selected step's fields, wherever they are on the page.
  open() { document.querySelector(`.st-key-${this.component.data.inspector} :is(input, textarea)`)?.focus(); }

  hover(card, edge) {
    if (card === this.hoverCard && edge === this.hoverEdge) return;
    this.hoverCard = card;
    this.hoverEdge = edge;
    this.view.paint();
  }

  remove() {
    if (this.locked) return;
    const edge = this.edges.find(({ id }) => id === this.selectedEdge);
    const card = this.cards[edge?.to ?? this.selected];
    if (this.collapse.isOne(card)) this.say(EXPAND, card);
    else if (edge) this.edit({ op: "remove_access", from: this.stepOf(edge.from), to: this.stepOf(edge.to) });
    else if (this.selected !== null && this.cards.length > 1) this.edit({ op: "remove_step", step: this.stepOf(this.selected) });
  }

  use(tool) {
    switch (tool) {
      case "add": return this.edit({ op: "add_step", step: this.stepOf(this.selected) });
      case "remove":
      case "detach": return this.remove();
      case "inside": return this.toggleInside(this.selected);
      case "collapse": return this.collapse.tool?.act();
      case "turn": return this.component.setTriggerValue("turn", this.component.data.direction === "down" ? "right" : "down");
      case "show": return this.selected === null ? undefined : this.view.show(this.cards[this.selected]);
      case "in": return this.view.zoom(1.25);
      case "out": return this.view.zoom(0.8);
      case "full": return fillScreen(this.root);
      case "fit": return this.view.fit({ animated: true });
    }
  }

  edit(request) {
    if (this.locked) return;
    this.stats.edits++;
    // With what is shown here: Python may have drawn another revision by now.
    this.component.setTriggerValue("edit", { ...request, revision: this.component.data.revision });
  }

  toggleGate(at) { this.edit({ op: "gate", step: this.stepOf(at), gate: !this.cards[at].content.gate }); }

  // Asks for what is inside a card to be shown, or no longer; a locked graph may, too.
  toggleInside(at) {
    const card = this.cards[at], step = this.stepOf(at);
    if (this.collapse.isOne(card)) return this.collapse.toggle(card);
    if (!card?.content.inside) return;
    this.component.setTriggerValue("inside", { step, open: this.component.data.opened !== step });
  }

  // Why `to` cannot be made to read `from`; null when it can.
  refusal(from, to) {
    if (this.collapse.isOne(this.cards[to])) return EXPAND;
    const [read, reader] = [from, to].map((at) => this.stepOf(at) + 1);
    if (to < from) return `Step ${reader} comes before step ${read} and cannot read it`;
    if (this.edges.some((edge) => edge.from === from && edge.to === to)) return `Step ${reader} reads step ${read} already`;
    return null;
  }

  endLink() {
    this.link = null;
    this.hideHint();
    this.view.paint();
  }

  // -- the hint beside the pointer ------------------------------------------------------------------

  showHint(text, clientX, clientY) {
    clearTimeout(this.hintTimer);
    this.hint.textContent = text;
    this.hint.hidden = false;
    const { left, top, width, height } = this.root.getBoundingClientRect();
    const x = Math.min(clientX - left + 16, width - this.hint.offsetWidth - 8);
    const y = Math.min(clientY - top + 18, height - this.hint.offsetHeight - 8);
    this.hint.style.transform = `translate(${Math.max(8, x)}px, ${Math.max(8, y)}px)`;
    this.hinted = { text, clientX, clientY };
  }

  hideHint() {
    clearTimeout(this.hintTimer);
    this.hint.hidden = true;
  }

  // Beside a card for a moment, and aloud.
  say(text, { left, top, height }) {
    this.showHint(text, ...this.view.outside([left, top + height]));
    this.keepHint(HINT_STAYS);
  }

  keepHint(milliseconds) {
    this.showHint(this.hinted.text, this.hinted.clientX, this.hinted.clientY);
    this.hintTimer = setTimeout(() => this.hideHint(), milliseconds);
  }

  // -- what is where ---------------------------------------------------------------------------------

  cardAt({ x, y }) {
    return this.cards.find((card) => Math.abs(x - card.x) <= card.width / 2 && Math.abs(y - card.y) <= card.height / 2) ?? null;
  }

  // Whether `p` lies on the part of the card that opens it, as far as there was room to draw that.
  onInside({ opener }, { x, y }) {
    return Boolean(opener) && x >= opener.left && x <= opener.right && y >= opener.top && y <= opener.bottom;
  }

  edgeAt(p) { return edgeAt(this.edges, p, 7 / this.view.scale); }

  /** @returns {[number, number]} */
  edgePoint(step, outward = 0) {
    const { x, y, width, height } = this.cards[step];
    return this.down ? [x, y + height / 2 + outward] : [x + width / 2 + outward, y];
  }

  // On the card's edge, a little outward, so that the title of a flat card stays readable.
  portPoint(step) { return this.edgePoint(step, this.portRadius() * 0.45); }

  // Large enough to press at any zoom, yet not larger than a flat card at a small one.
  portRadius() {
    const pixel = 1 / this.view.scale;
    return Math.min(Math.max(8, 7.5 * pixel), Math.max(5 * pixel, this.cards[0].height * 0.36));
  }

  // Ports show on the hovered and the selected card; the last step has none, as no step follows it.
  visiblePorts() {
    if (this.locked) return [];
    const steps = this.link ? [this.link.from] : [...new Set([this.hoverCard, this.selected])];
    return steps.filter((step) => step !== null && step < this.cards.length - 1);
  }

  portAt(p) { return dotAt(p, this.visiblePorts(), (at) => this.portPoint(at), this.portRadius()); }

  // Where the work comes in, opposite the port.
  /** @returns {[number, number]} */
  gatePoint(step) {
    const { x, y, width, height } = this.cards[step], outward = this.gateRadius() * 0.35;
    return this.down ? [x, y - height / 2 - outward] : [x - width / 2 - outward, y];
  }

  gateRadius() { return this.portRadius() * 0.8; }

  // A gate always shows; the hovered and the selected card without a gate show a place for one.
  visibleGates() {
    const offered = this.locked || this.link ? [] : [this.hoverCard, this.selected];
    const closed = this.cards.filter(({ content }) => content.gate).map(({ step }) => step);
    return [...new Set([...closed, ...offered])].filter((step) => step !== null && step < this.cards.length);
  }

  gateAt(p) { return this.locked ? null : dotAt(p, this.visibleGates(), (at) => this.gatePoint(at), this.gateRadius()); }

  // On the corner where no edge begins or ends.
  /** @returns {[number, number]} */
  collapsePoint(at) {
    const { left, top } = this.cards[at], inset = this.gateRadius() * 0.5;
    return this.down ? [left + inset, top] : [left, top + inset];
  }

  visibleCollapses() {
    const offered = this.link ? [] : [this.hoverCard, this.selected];
    return this.cards.filter((card) => this.collapse.has(card) && (this.collapse.isOne(card) ? !card.opener : offered.includes(card.step))).map(({ step }) => step);
  }

  collapseAt(p) { return dotAt(p, this.visibleCollapses(), (at) => this.collapsePoint(at), this.gateRadius()); }

  // -- drawing -----------------------------------------------------------------------------------------

  cardRenderer(ctx, step) {
    const card = this.cards[step], { from, since } = card.glide ?? { from: card, since: 0 };
    const left = Math.max(0, 1 - (performance.now() - since) / GLIDE) ** 2, [dx, dy] = [(from.x - card.x) * left, (from.y - card.y) * left];
    if (left) this.view.paint();
    const drawNode = () => { ctx.translate(dx, dy); drawCard(ctx, card, this.lookOf(card)); ctx.translate(-dx, -dy); };
    return { nodeDimensions: { width: card.width, height: card.height }, drawNode };
  }

  // The step whose edges stand out: the one that is pointed at, else the selected one.
  get lit() { return this.hoverCard ?? this.selected; }

  // The cards that read the lit one, and those at an edge that is pointed at or selected; once a drawing, as each card asks.
  litReaders() {
    const { lit, hoverEdge, selectedEdge } = this;
    return new Set(this.edges.flatMap(({ id, from, to }) => (id === hoverEdge || id === selectedEdge ? [from, to] : from === lit ? [to] : [])));
  }

  lookOf({ step }) {
    const { link } = this;
    const refused = link && step !== link.from && this.refusal(link.from, step);
    return {
      theme: this.theme, scale: this.view.scale, selected: step === this.selected,
      opened: this.stepOf(step) === this.component.data.opened,
      target: Boolean(link && link.over === step && step !== link.from && !refused), dimmed: Boolean(refused) || !this.legend.shows(this.cards[step]) || this.proposal.leaves(step),
      reader: this.readers.has(step),
    };
  }

  drawAffordances(ctx) {
    if (this.link) this.drawLink(ctx, this.link);
    for (const step of this.visibleGates())
      drawGate(ctx, this.gatePoint(step), this.gateRadius(), this.theme, this.cards[step].content.gate);
    for (const at of this.visibleCollapses())
      drawCollapse(ctx, this.collapsePoint(at), this.gateRadius(), this.theme, this.cards[at].steps.length, this.view.scale);
    for (const step of this.visiblePorts()) drawPort(ctx, this.portPoint(step), this.portRadius(), this.theme);
  }

  drawLink(ctx, { from, at, over }) {
    const start = this.edgePoint(from);
    const accepted = over !== null && over !== from && !this.refusal(from, over);
    const [near, far] = controls(start, [at.x, at.y], this.down);
    ctx.strokeStyle = this.theme.primary;
    ctx.lineWidth = Math.max(2, 1.6 / this.view.scale);
    ctx.setLineDash(accepted ? [] : [6, 5]);
    ctx.beginPath();
    ctx.moveTo(...start);
    ctx.bezierCurveTo(...near, ...far, at.x, at.y);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  changed() {
    const tool = (name) => this.root.querySelector(`[data-tool=${name}]`);
    const focused = this.root.getRootNode().activeElement, card = this.cards[this.selected], one = this.collapse.isOne(card);
    this.root.classList.toggle("locked", this.locked);
    tool("add").hidden = this.cards.length >= this.component.data.most_steps;
    tool("show").hidden = this.selected === null;
    tool("detach").hidden = this.selectedEdge === null;
    tool("inside").hidden = one || !card?.content.inside;
    tool("inside").textContent = this.component.data.opened === this.stepOf(this.selected) ? "Close inside" : "Open inside";
    tool("collapse").hidden = !this.collapse.tool;
    tool("collapse").textContent = this.collapse.tool?.words ?? "";
    const { direction, turns } = this.component.data, other = direction === "down" ? "right" : "down";
    tool("turn").hidden = !turns;
    tool("turn").textContent = other === "down" ? "Lay out top to bottom" : "Lay out left to right";
    tool("remove").hidden = this.selected === null || one || this.selectedEdge !== null || this.cards.length === 1;
    // A tool that goes takes no focus with it.
    if (focused?.matches("button") && !focused.checkVisibility()) this.stage.focus({ preventScroll: true });
    this.proposal.show();
    this.outline.show(this.cards, this.edges, this.selected, (each) => this.legend.shows(each));
    this.view.paint();
  }

  destroy() {
    this.listeners.abort();
    this.pointer.press?.abort();
    this.flow.destroy();
    clearTimeout(this.hintTimer);
    this.view.destroy();
  }

  // -- for tests, through root.__fg: client coordinates of what the canvas shows --------------------------

  get selection() { return { step: this.selected, edge: this.selectedEdge }; }

  positions() {
    return this.cards.map(({ left, top, width, height }) => {
      const [x0, y0] = this.view.outside([left, top]), [x1, y1] = this.view.outside([left + width, top + height]);
      return { left: x0, top: y0, right: x1, bottom: y1, x: (x0 + x1) / 2, y: (y0 + y1) / 2 };
    });
  }

  collapsePoints() { return this.cards.map(({ step }) => this.view.outside(this.collapsePoint(step))); }

  gates() { return this.cards.map(({ step }) => this.view.outside(this.gatePoint(step))); }

  ports() { return this.cards.map(({ step }) => this.view.outside(this.portPoint(step))); }

  openers() {
    return this.cards.map(({ opener }) =>
      opener ? this.view.outside([(opener.left + opener.right) / 2, (opener.top + opener.bottom) / 2]) : null);
  }

  edgePositions() {
    const along = (route) => Array.from({ length: 13 }, (_, i) => this.view.outside(pointAt(route, (lengthOf(route) * i) / 12)));
    return Object.fromEntries(this.edges.map(({ id, route }) => [id, along(route)]));
  }
}

globalThis.ConductorGraph = WorkflowGraph;
window.dispatchEvent(new Event("conductor-graph-ready"));

export default () => {};
