// The mouse on the canvas: hover, click, drawing an access from a card's port, zooming. vis pans.

const CLICK_TRAVEL = 5;
export const HINT_STAYS = 2000;

export class Pointer {
  constructor(graph, signal) {
    this.graph = graph;
    const { stage } = graph;
    // In the capture phase, before vis: a drag that begins on a port must not pan.
    stage.addEventListener("pointerdown", (event) => this.pressed(event), { capture: true, signal });
    stage.addEventListener("pointermove", (event) => { if (!event.buttons) this.hover(event); }, { signal });
    stage.addEventListener("pointerleave", () => graph.hover(null, null), { signal });
    stage.addEventListener("wheel", (event) => this.wheel(event), { capture: true, passive: false, signal });
  }

  pressed(event) {
    const { graph } = this;
    if (event.button !== 0) return;
    const step = graph.portAt(graph.view.inside(event.clientX, event.clientY));
    if (step !== null) {
      event.stopImmediatePropagation();
      this.link(step, event);
    } else {
      this.follow({ up: (end) => {
        const travel = Math.hypot(end.clientX - event.clientX, end.clientY - event.clientY);
        if (travel < CLICK_TRAVEL) this.click(end);
      } });
    }
  }

  // Events of one press, wherever on the page it ends. What is still under way ends with the component.
  follow({ move = () => {}, up, cancelled = () => {} }) {
    this.press?.abort();
    const press = this.press = new AbortController();
    const { signal } = press;
    window.addEventListener("pointermove", move, { capture: true, signal });
    window.addEventListener("pointerup", (event) => { press.abort(); up(event); }, { capture: true, signal });
    window.addEventListener("pointercancel", () => { press.abort(); cancelled(); }, { capture: true, signal });
  }

  click(event) {
    const { graph } = this, p = graph.view.inside(event.clientX, event.clientY);
    const card = graph.cardAt(p), gate = graph.gateAt(p), collapse = graph.collapseAt(p);
    if (collapse !== null) graph.collapse.toggle(graph.cards[collapse]);
    else if (gate !== null) graph.toggleGate(gate);
    else if (card && graph.onInside(card, p)) graph.toggleInside(card.step);
    else if (card) graph.select(card.step);
    else graph.selectEdge(graph.edgeAt(p)?.id ?? null);
  }

  hover(event) {
    const { graph } = this, p = graph.view.inside(event.clientX, event.clientY);
    const port = graph.portAt(p), card = port === null ? graph.cardAt(p)?.step ?? null : port;
    const edge = card === null ? graph.edgeAt(p)?.id ?? null : null, collapse = graph.collapseAt(p), gate = graph.gateAt(p), dot = collapse ?? gate;
    graph.stage.style.cursor = port !== null ? "crosshair" : card !== null || edge !== null || dot !== null ? "pointer" : "";
    this.explain(dot === null ? null : collapse === null ? this.gateWords(gate) : `${graph.collapse.words(graph.cards[collapse])} (C)`, event);
    // On the half of a dot that is outside of its card, that card stays the one that is pointed at.
    graph.hover(dot ?? card, dot === null ? edge : null);
  }

  gateWords(at) {
    const step = `step ${this.graph.stepOf(at) + 1}`;
    return this.graph.cards[at].content.gate ? `Remove the gate before ${step} (B)` : `Add a gate before ${step} (B)`;
  }

  explain(words, { clientX, clientY }) {
    if (words === this.explained) return;
    this.explained = words;
    if (words === null) this.graph.hideHint();
    else this.graph.showHint(words, clientX, clientY);
  }

  link(from, event) {
    const { graph } = this;
    const moved = ({ clientX, clientY }) => {
      if (!graph.link) return;
      graph.link = { from, at: graph.view.inside(clientX, clientY), over: graph.cardAt(graph.view.inside(clientX, clientY))?.step ?? null };
      const { over } = graph.link;
      if (over === null || over === from) graph.hideHint();
      else graph.showHint(graph.refusal(from, over) ?? `Step ${graph.stepOf(over) + 1} will read step ${graph.stepOf(from) + 1}`, clientX, clientY);
      graph.view.paint();
    };
    graph.link = { from, at: graph.view.inside(event.clientX, event.clientY), over: null };
    this.follow({ move: moved, cancelled: () => graph.endLink(), up: (end) => { moved(end); this.drop(); } });
  }

  drop() {
    const { graph } = this;
    if (!graph.link) return;
    const { from, over } = graph.link;
    graph.endLink();
    if (over === null || over === from) return;
    if (graph.refusal(from, over)) return graph.keepHint(HINT_STAYS);
    graph.hideHint();
    graph.edit({ op: "add_access", from, to: over });
  }

  // A plain wheel scrolls the page, as anywhere on it; with Ctrl or Cmd (and so by pinching a touch pad) it zooms.
  wheel(event) {
    event.stopPropagation();
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left, top } = this.graph.view.canvas.getBoundingClientRect();
    this.graph.view.zoom(Math.exp(-event.deltaY * 0.003), { x: event.clientX - left, y: event.clientY - top });
  }
}
