// Brings what has just begun to the top of what it scrolls in, once for each of them.

const shown = globalThis.conductorScrolledTo ??= new Set();

export default function (component) {
  const { id } = component.data;
  if (shown.has(id)) return;
  shown.add(id);
  requestAnimationFrame(() => document.querySelector(`.st-key-${id}`)?.scrollIntoView({ block: "start" }));
}
