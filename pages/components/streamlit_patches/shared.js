// What the scripts of all components share.

// Streamlit's state on its outermost element: whether the server is connected, and whether the script runs.
const stateOfStreamlit = () => document.querySelector('[data-testid="stApp"]')?.dataset ?? {};

const connected = () => stateOfStreamlit().testConnectionState === "CONNECTED";

const drawing = () => stateOfStreamlit().testScriptState === "running";

// What Streamlit calls when a component appears and on each change of its data. The element stays, so what
// `make` makes of the first one inside with this class is made once, and then updated.
function mounted(selector, make) {
  const known = new WeakMap();
  return (component) => {
    const root = component.parentElement.querySelector(selector);
    if (!known.has(root)) known.set(root, make(root));
    known.get(root).update(component);
    return () => {
      known.get(root)?.destroy();
      known.delete(root);
    };
  };
}

// An element with a class, or with these attributes. Texts among its children go into text nodes, never into HTML.
const element = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function filled(node, attributes = {}, children) {
  const named = typeof attributes === "string" ? { class: attributes } : attributes;
  for (const [name, value] of Object.entries(named)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const icon = (path) => svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));

// What only screen readers read, as one more part of a name; the style sheets of its components hide it.
const unseen = (text) => element("span", "unseen", ` ${text} `);

// Marks one option of a list box as selected, or none (null). `box` has the focus.
function markOption(box, options, at) {
  [...options].forEach((option, place) => option.setAttribute("aria-selected", String(place === at)));
  if (at === null) box.removeAttribute("aria-activedescendant");
  else box.setAttribute("aria-activedescendant", options[at].id);
}
