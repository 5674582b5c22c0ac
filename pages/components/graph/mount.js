// The part that every graph on a page carries: it waits for the library, which the page carries once.
export default function (component) {
  const root = component.parentElement.querySelector(".graph");
  // At once, so that the page below does not jump when the library arrives.
  root.style.height = `${component.data.height}px`;
  let stop = () => window.removeEventListener("conductor-graph-ready", start);
  const start = () => { stop = globalThis.conductorGraph.mount(root, component); };
  if (globalThis.conductorGraph) start();
  else window.addEventListener("conductor-graph-ready", start, { once: true });
  return () => stop();
}
