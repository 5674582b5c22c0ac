// Untrusted text on the page: every character goes through textContent, never through HTML.

import { atEndOf, element } from "../streamlit_patches/shared.js";
import { copy } from "./copy_text.js";
import { Notable } from "./notable.js";
import { legend, markChosen } from "./text_block_legend.js";

const signatures = new WeakMap(), notables = new WeakMap();

export default function (component) {
  const { data, parentElement } = component;
  const root = parentElement.querySelector(".text-block");
  const body = root.querySelector(".text-block-body");
  root.classList.toggle("framed", data.framed);
  root.querySelector(".text-block-head").hidden = !data.heading && !data.copy && !data.notes.length;
  root.querySelector(".text-block-heading").textContent = data.heading ? data.label : "";
  root.querySelector(".text-block-notes").replaceChildren(
    ...data.notes.map((text) => element("span", "text-block-note", text)));
  body.style.maxHeight = data.height ? `${data.height}px` : "";
  body.style.height = data.steady ? body.style.maxHeight : "";
  body.setAttribute("aria-label", data.label);
  body.setAttribute("aria-live", data.live ? "polite" : "off");
  write(body, data.parts, data.live);
  legend(root, body, data.legend);
  markChosen(root, body);
  const button = root.querySelector(".text-block-copy");
  button.hidden = !data.copy;
  button.setAttribute("aria-label", `Copy ${data.label.toLowerCase()}`);
  button.onclick = () => copy(body.textContent, button);
  if (!notables.has(root)) notables.set(root, new Notable(root, body));
  notables.get(root).update(component);
  return atEndOf(root, () => {
    notables.get(root)?.destroy();
    notables.delete(root);
  });
}

function write(body, parts, live) {
  const signature = JSON.stringify(parts);
  if (signatures.get(body) === signature) return;          // a poll without news must not lose a selection
  signatures.set(body, signature);
  const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < 24;
  body.replaceChildren(...parts.map(([text, tone, title, source, chip]) => {
    const part = element({ removed: "del", added: "ins" }[tone] ?? "span", "text-block-part", text);
    if (tone) part.dataset.tone = tone;
    if (title) part.title = title;
    if (source !== null) part.dataset.source = source;
    if (chip) part.dataset.chip = chip;                     // drawn by the style sheet: no part of the text
    return part;
  }));
  if (live && atEnd) body.scrollTop = body.scrollHeight;    // follow the stream unless the reader scrolled up
}
