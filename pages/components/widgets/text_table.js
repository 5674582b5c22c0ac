// A table of untrusted texts: every character goes through textContent, never through HTML.

const shown = new WeakMap();

export default function (component) {
  const { data, parentElement } = component;
  const root = parentElement.querySelector(".text-table");
  const signature = JSON.stringify(data);
  if (shown.get(root) === signature) return;               // a poll without news must not lose a selection
  shown.set(root, signature);
  root.setAttribute("aria-label", data.label);
  root.classList.toggle("narrow", data.narrow);
  const head = made("thead", {}, made("tr", {}, made("td"), ...data.columns.map((name) => made("th", { scope: "col", dir: "auto" }, name))));
  const body = made("tbody", {}, ...data.rows.map(row));
  root.querySelector("table").replaceChildren(head, body);
}

function row({ name, cells }) {
  return made("tr", {}, made("th", { scope: "row" }, name), ...cells.map(cell));
}

function cell({ title, text, notes, foot, mark }) {
  const parts = [
    title && made("div", { class: "title", dir: "auto" }, title),
    notes.length && made("div", { class: "notes" }, ...notes.map((note) => made("span", { class: "note" }, note))),
    text.length && made("div", { class: "text", dir: "auto" }, ...text.map(stretch)),
    foot && made("div", { class: "foot" }, foot),
  ];
  return made("td", mark ? { "data-mark": mark } : {}, ...parts.filter(Boolean));
}

function stretch([text, tone, title]) {
  const attributes = { ...(tone && { "data-tone": tone }), ...(title && { title }) };
  return made({ removed: "del", added: "ins" }[tone] ?? "span", attributes, text);
}

function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.append(...children);
  return element;
}
