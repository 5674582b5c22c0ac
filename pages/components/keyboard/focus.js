// Keyboard focus that would be lost: from a button that disappears or can no longer be pressed, it goes to a
// neighbour, so that the next Tab does not start at the top of the page.

import { atEndOf, drawing } from "../streamlit_patches/shared.js";

const ARMED_AFTER = 500;                                    // milliseconds
const PATIENCE = 400, MOST_PATIENCE = 8000, PAUSE = 120;

const KEY = "st-key-";

/** @type {{ of: string, to: string[] }[]} */
let fallbacks = [];                                         // by keys; "*" at the end of one is the rest of many
/**
 * The button last used by keyboard, and its fallbacks.
 * @type {{ element: HTMLElement, to: string[], drawnAt: number, lostAt?: number, opener?: HTMLElement, timer?: number } | null}
 */
let held = null;
/** @type {{ element: HTMLElement, until: number } | null} */
let fresh = null;                                           // who got the focus, until when it is not pressed

const usable = (element) => element.isConnected && !element.disabled && element.checkVisibility();

const unfocused = () => !document.activeElement || document.activeElement === document.body;

function find(keys) {
  for (const key of keys) {
    const target = [...document.querySelectorAll(`.${KEY}${key} :is(button, input, textarea, [role="tab"][tabindex="0"])`)].find(usable);
    if (target) return target;
  }
  return null;
}

function focused({ target }) {
  // A dialog that closes hands the focus back to its opener by itself; who shall have it may be about to come.
  if (held && waiting()) held.opener = target;
  else if (target.matches(":focus-visible")) hold(target);
  else held = null;
}

// Whether the best fallback may still come. A page that is drawn slowly is no reason to take another one, so the
// end of the drawing counts, not the time; between two runs of a script the page is idle for a moment.
function waiting() {
  if (!held?.lostAt) return false;
  const now = performance.now(), lost = now - held.lostAt;
  if (drawing()) held.drawnAt = now;
  return lost < PATIENCE || (now - held.drawnAt < PAUSE && lost < MOST_PATIENCE);
}

// Looks again until nothing is awaited any more.
function lookAgain() {
  clearTimeout(held?.timer);
  if (held) held.timer = setTimeout(changed, PAUSE);
}

// A press anywhere decides where the focus goes.
function pointed() {
  held = null;
}

// What is chosen in a menu counts for the button that opened it.
const opener = (item) =>
  item.closest('[role="menu"]') ? document.querySelector('[aria-haspopup="menu"][aria-expanded="true"]') : item;

function hold(target) {
  const element = opener(target);
  if (!element) return;
  const to = fallbacksOf(element);
  held = to ? { element, to, drawnAt: -PAUSE } : null;
}

// The keys of the innermost box around it that has a rule: its own, then the others.
function fallbacksOf(element) {
  for (let box = element; box; box = box.parentElement) {
    for (const name of box.classList) {
      if (!name.startsWith(KEY)) continue;
      const key = name.slice(KEY.length);
      for (const { of, to } of fallbacks) {
        const many = of.endsWith("*"), stem = many ? of.slice(0, -1) : of;
        if (many ? !key.startsWith(stem) : key !== stem) continue;
        return [key, ...to.map((other) => (other.endsWith("*") ? other.slice(0, -1) + key.slice(stem.length) : other))];
      }
    }
  }
  return null;
}

// Taking the focus off a button that is still there is intended.
function left({ target, relatedTarget }) {
  if (!relatedTarget && held && target.closest('[role="menu"]')) {
    // A menu that closes leaves the focus on nothing.
    setTimeout(() => { if (held && unfocused() && usable(held.element)) held.element.focus({ focusVisible: true }); });
  }
  if (relatedTarget || held?.element !== target) return;
  setTimeout(() => { if (held?.element === target && usable(target) && unfocused()) held = null; });
}

function changed() {
  if (!held || usable(held.element)) return;
  // A button that has just been disabled keeps the focus until the next picture.
  const active = document.activeElement;
  if (!unfocused() && active !== held.element && active !== held.opener) return;
  held.lostAt ??= performance.now();
  // The page is drawn piece by piece: the best fallback may only be about to come.
  const early = waiting();
  const fallback = early ? find(held.to.slice(0, 2)) : active === held.opener ? null : find(held.to);
  if (!fallback) return early ? lookAgain() : undefined;
  held = null;
  fallback.focus({ preventScroll: true, focusVisible: true });
  fresh = { element: fallback, until: performance.now() + ARMED_AFTER };
}

// A key held down, or pressed twice, was meant for the button that is gone.
function pressed(event) {
  if (event.key === "Escape" && event.target.closest('[role="dialog"]')) held = null;
  else hold(event.target);
  if (!fresh || event.target !== fresh.element || !["Enter", " "].includes(event.key)) return;
  if (!event.repeat && performance.now() > fresh.until) return;
  event.preventDefault();
  event.stopPropagation();
}

// Who writes into a field that got the focus means its keys.
function written({ target, isTrusted }) {
  if (isTrusted && target === fresh?.element) fresh = null;
}

/** @type {AbortController | null} */
let watch = null;

export default function (component) {
  fallbacks = component.data.fallbacks;
  if (watch) return;
  const listeners = watch = new AbortController(), { signal } = listeners;
  document.addEventListener("focusin", focused, { signal });
  document.addEventListener("focusout", left, { signal });
  document.addEventListener("keydown", pressed, { capture: true, signal });
  document.addEventListener("input", written, { capture: true, signal });
  document.addEventListener("pointerdown", pointed, { capture: true, signal });
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled", "data-test-script-state"] });
  return atEndOf(component.parentElement, () => {
    watch = null;
    listeners.abort();
    observer.disconnect();
  });
}
