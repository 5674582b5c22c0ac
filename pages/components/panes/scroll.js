// Holds what a person has just begun at the top of its pane, also while more of it comes, until a person scrolls there.

import { atEndOf } from "../streamlit_patches/shared.js";

const PANE = ".st-key-drawer-body";
const over = new Set();

export default function ({ data: { of }, parentElement }) {
  const part = document.querySelector(`.st-key-${of}`), pane = part?.closest(PANE);
  if (!part || !pane || over.has(of)) return undefined;
  const align = () => { pane.scrollTop += part.getBoundingClientRect().top - pane.getBoundingClientRect().top; };
  const sizes = new ResizeObserver(align), hands = new AbortController();
  const end = () => { sizes.disconnect(); hands.abort(); };
  for (const hand of ["wheel", "pointerdown", "keydown", "touchmove"])
    pane.addEventListener(hand, () => { over.add(of); end(); }, { passive: true, signal: hands.signal });
  sizes.observe(part);
  return atEndOf(parentElement, end);
}
