// A table of untrusted texts: every character goes through textContent, never through HTML.

import { element } from "../streamlit_patches/shared.js";

const signatures = new WeakMap();

export default function (component) {
  const { data, parentElement } = component;
  const root = parentElement.querySelector(".text-table");
  const signature = JSON.stringify(data);
  if (signatures.get(root) === signature) return;          // a poll without news must not lose a selection
  signatures.set(root, signature);
  root.setAttribute("aria-label", data.label);
  root.classList.toggle("narrow", data.narrow);
  const head = element("thead", {}, element("tr", {}, element("td"), ...data.columns.map((name) => element("th", { scope: "col", dir: "auto" }, name))));
  const body = element("tbody", {}, ...data.rows.map(row));
  root.querySelector("table").replaceChildren(head, body);
}

function row({ name, cells }) {
  return element("tr", {}, element("th", { scope: "row" }, name), ...cells.map(cell));
}

function cell({ title, text, notes, foot, mark }) {
  const parts = [
    title && element("div", { class: "title", dir: "auto" }, title),
    notes.length && element("div", { class: "notes" }, ...notes.map((note) => element("span", { class: "note" }, note))),
    text.length && element("div", { class: "text", dir: "auto" }, ...text.map(stretch)),
    foot && element("div", { class: "foot" }, foot),
  ];
  return element("td", mark ? { "data-mark": mark } : {}, ...parts.filter(Boolean));
}

function stretch([text, tone, title]) {
  const attributes = { ...(tone && { "data-tone": tone }), ...(title && { title }) };
  return element({ removed: "del", added: "ins" }[tone] ?? "span", attributes, text);
}
