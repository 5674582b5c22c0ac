// Above a text that comes from many places: how much comes from where, as a bar and as a list of the places.
// An entry of the list, once pressed, shows its stretches of the text.

import { element } from "../streamlit_patches/shared.js";

const listed = new WeakMap();

export function legend(root, body, entries) {
  const box = root.querySelector(".text-block-legend");
  box.hidden = !entries.length;
  const signature = JSON.stringify(entries);
  if (listed.get(box) === signature) return;               // a poll without news must not lose the focus
  listed.set(box, signature);
  const choose = (at) => point(root, body, root.dataset.chosen === String(at) ? null : at);
  const bar = box.querySelector(".text-block-bar");
  bar.setAttribute("aria-label", entries.map(({ name, percent }) => `${name} ${percent}`).join(", "));
  bar.replaceChildren(...entries.filter(({ part }) => part > 0).map((entry) => {
    const segment = element("span", "text-block-segment", entry.part >= 0.07 ? entry.mark : "");
    segment.style.flexGrow = entry.part;
    segment.dataset.tone = entry.tone;
    segment.title = `${entry.name}: ${entry.amount} ${entry.unit}, ${entry.percent}`;
    segment.onclick = () => choose(entries.indexOf(entry));
    return segment;
  }));
  const lines = entries.map((entry, at) => element("li", {}, source(entry, () => choose(at))));
  box.querySelector(".text-block-sources").replaceChildren(...lines);
  point(root, body, null, { scroll: false });
}

function source({ name, detail, mark, tone, amount, percent, unit, notes }, chosen) {
  const button = element("button", { class: "text-block-source", type: "button" },
    element("span", { class: "text-block-swatch", "data-tone": tone, "aria-hidden": "true" }, mark),
    element("span", "text-block-name", name),
    element("span", "text-block-amount", amount, element("span", "text-block-unit", ` ${unit}`)),
    element("span", "text-block-percent", percent));
  button.onclick = chosen;
  if (!detail && !notes.length) return button;
  const about = notes.map((text) => element("span", "text-block-note", text));
  if (detail) about.unshift(element("span", "text-block-detail", detail));
  button.append(element("span", "text-block-about", ...about));
  return button;
}

// Which source is pointed at; null for none.
function point(root, body, chosen, { scroll = true } = {}) {
  if (chosen === null) delete root.dataset.chosen;
  else root.dataset.chosen = chosen;
  root.querySelectorAll(".text-block-source").forEach((button, at) => {
    button.setAttribute("aria-pressed", at === chosen);
  });
  markChosen(root, body);
  const first = body.querySelector(".text-block-part.chosen");
  if (first && scroll) body.scrollTop = first.offsetTop - body.offsetTop - 28;
}

// Again after the text was replaced.
export function markChosen(root, body) {
  const { chosen } = root.dataset;
  body.classList.toggle("pointed", chosen !== undefined);
  for (const part of body.querySelectorAll(".text-block-part")) part.classList.toggle("chosen", part.dataset.source === chosen);
}
