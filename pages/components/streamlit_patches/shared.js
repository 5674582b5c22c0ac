// What the scripts of all components share.

// Streamlit's state on its outermost element: whether the server is connected, and whether the script runs.
const stateOfStreamlit = () => document.querySelector('[data-testid="stApp"]')?.dataset ?? {};

export const connected = () => stateOfStreamlit().testConnectionState === "CONNECTED";

export const drawing = () => stateOfStreamlit().testScriptState === "running";

// What a component returns to Streamlit, to `end` what belongs to its element. Streamlit calls it when the component
// is taken off the page, and also, late, for a call that had not ended when the next one came: the element stays then,
// and with it what the next call made or updated.
export const atEndOf = (element, end) => () => { if (!element.isConnected) end(); };

// What Streamlit calls when a component appears and on each change of its data. The element stays, so what
// `make` makes of the first one inside with this class is made once, and then updated.
export function mounted(selector, make) {
  const instances = new WeakMap();
  return (component) => {
    const root = component.parentElement.querySelector(selector);
    if (!instances.has(root)) instances.set(root, make(root));
    instances.get(root).update(component);
    return atEndOf(root, () => {
      instances.get(root)?.destroy();
      instances.delete(root);
    });
  };
}

// An element with a class, or with these attributes. Texts among its children go into text nodes, never into HTML.
export const element = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function filled(node, attributes = {}, children) {
  const named = typeof attributes === "string" ? { class: attributes } : attributes;
  for (const [name, value] of Object.entries(named)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const icon = (path) => svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));

// A worker's mark, which stands beside its name; nothing where it has none.
export const workerMark = (mark, size = 12) => mark
  ? svg("svg", { class: "worker-mark", viewBox: "0 0 24 24", width: size, height: size, "aria-hidden": "true" }, svg("polygon", { points: mark.points, fill: mark.hue }))
  : "";

// Gives the browser a file to keep.
export function giveOut(name, mime, text) {
  const href = URL.createObjectURL(new Blob([text], { type: mime }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

// Gives an element the whole screen, or ends that.
export function fillScreen(node) {
  if (document.fullscreenElement) document.exitFullscreen();
  else node.requestFullscreen?.().catch(() => {});
}

// Whether a dialog, ours or Streamlit's, takes the keys.
export const isDialogOpen = () =>
  document.querySelector('[role="dialog"][aria-modal="true"], [data-testid="stDialog"], dialog.shortcuts[open]') !== null;

// What only screen readers read, as one more part of a name; the style sheets of its components hide it.
export const unseen = (text) => element("span", "unseen", ` ${text} `);

// Marks one option of a list box as selected, or none (null). `box` has the focus.
export function markOption(box, options, at) {
  [...options].forEach((option, place) => option.setAttribute("aria-selected", String(place === at)));
  if (at === null) box.removeAttribute("aria-activedescendant");
  else box.setAttribute("aria-activedescendant", options[at].id);
}
