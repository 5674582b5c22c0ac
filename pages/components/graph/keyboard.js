// Keys on the graph. Arrows move along the picture as it lies, so "down" is down in both directions.

const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

export function handleKey(graph, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = keyAction(graph, event.key);
  if (!action) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

function keyAction(graph, key) {
  const { selected, cards } = graph;
  const go = (step) => () => {
    graph.select(step);
    graph.view.reveal(cards[step]);
  };
  if (ARROWS[key]) return go(selected === null ? 0 : neighbour(cards, selected, ARROWS[key], graph.down));
  switch (key) {
    case "Home": return go(0);
    case "End": return go(cards.length - 1);
    case " ": return graph.proposal.has(selected) ? () => graph.proposal.toggle(selected) : null;
    case "Enter": return selected === null ? null : () => graph.open();
    case "o": case "O": return () => graph.toggleInside(selected);
    case "c": case "C": return () => graph.collapse.toggle(cards[selected]);
    case "b": case "B": return selected === null ? null : () => graph.toggleGate(selected);
    // Where nothing is selected, the key is the page's.
    case "Escape": return graph.idle ? null : () => graph.escape();
    case "Delete":
    case "Backspace": return () => graph.remove();
    case "z": case "Z": return selected === null ? null : () => graph.use("show");
    case "+": case "=": return () => graph.view.zoom(1.25);
    case "-": return () => graph.view.zoom(0.8);
    case "0": return () => graph.view.fit({ animated: true });
    case "f": case "F": return () => graph.use("full");
    default: return null;
  }
}

// The next card that way. Within a row, the neighbour; between rows, the nearest card of the next row.
function neighbour(cards, from, [dx, dy], down) {
  const here = cards[from];
  const ahead = (card) => (card.x - here.x) * dx + (card.y - here.y) * dy;
  const aside = (card) => Math.abs((card.x - here.x) * dy) + Math.abs((card.y - here.y) * dx);
  const onward = cards.filter((card) => ahead(card) > 1).sort((a, b) => ahead(a) - ahead(b));
  const withinRow = down ? dx !== 0 : dy !== 0;
  const row = withinRow
    ? onward.filter((card) => aside(card) < 1).slice(0, 1)
    : onward.filter((card) => ahead(card) - ahead(onward[0]) < 1).sort((a, b) => aside(a) - aside(b));
  return (row[0] ?? here).step;
}
