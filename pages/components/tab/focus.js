// Keyboard focus that would be lost: of a button that goes or can no longer be pressed, it goes on to a
// neighbour, so that the next Tab does not start at the top of the page.

const ARMED_AFTER = 500, PATIENCE = 400;                    // milliseconds

let heirs = [];
let held = null;                                            // the button last used by keyboard, and its heirs
let fresh = null;                                           // who got the focus, until when it is not pressed

const usable = (element) => element.isConnected && !element.disabled && element.checkVisibility();

const nobody = () => !document.activeElement || document.activeElement === document.body;

function find(selectors) {
  for (const selector of selectors) {
    const found = [...document.querySelectorAll(`${selector} :is(button, input, textarea)`)].find(usable);
    if (found) return found;
  }
  return null;
}

function focused({ target }) {
  // A dialog that closes hands the focus back to its opener by itself; who shall have it may be about to come.
  if (waiting()) held.opener = target;
  else if (target.matches(":focus-visible")) hold(target);
  else held = null;
}

const waiting = () => held?.lostAt && performance.now() - held.lostAt < PATIENCE;

// Whoever presses anywhere says where the focus is to be.
function pointed() {
  held = null;
}

// What is chosen in a menu counts for the button that opened it.
const opener = (item) =>
  item.closest('[role="menu"]') ? document.querySelector('[aria-haspopup="menu"][aria-expanded="true"]') : item;

function hold(target) {
  const element = opener(target);
  if (!element) return;
  const rule = heirs.find(({ of }) => element.closest(of));
  held = rule ? { element, to: [rule.of, ...rule.to] } : null;
}

// Whoever takes the focus off a button that is still there means it.
function left({ target, relatedTarget }) {
  if (!relatedTarget && held && target.closest('[role="menu"]')) {
    // A menu that closes leaves the focus to nobody.
    setTimeout(() => { if (held && nobody() && usable(held.element)) held.element.focus({ focusVisible: true }); });
  }
  if (relatedTarget || held?.element !== target) return;
  setTimeout(() => { if (held?.element === target && usable(target) && nobody()) held = null; });
}

function changed() {
  if (!held || usable(held.element)) return;
  // A button that has just been disabled keeps the focus until the next picture.
  const active = document.activeElement;
  if (!nobody() && active !== held.element && active !== held.opener) return;
  if (!held.lostAt) {
    held.lostAt = performance.now();
    setTimeout(changed, PATIENCE + 20);
  }
  // The page is drawn piece by piece: the best heir may only be about to come.
  const heir = waiting() ? find(held.to.slice(0, 2)) : active === held.opener ? null : find(held.to);
  if (!heir) return;
  held = null;
  heir.focus({ preventScroll: true, focusVisible: true });
  fresh = { element: heir, until: performance.now() + ARMED_AFTER };
}

// A key held down, or pressed twice, was meant for the button that is gone.
function pressed(event) {
  if (event.key === "Escape" && event.target.closest('[role="dialog"]')) held = null;
  else hold(event.target);
  if (event.target !== fresh?.element || !["Enter", " "].includes(event.key)) return;
  if (!event.repeat && performance.now() > fresh.until) return;
  event.preventDefault();
  event.stopPropagation();
}

let watch = null;

export default function (component) {
  heirs = component.data.heirs;
  if (watch) return;
  const listeners = watch = new AbortController(), { signal } = listeners;
  document.addEventListener("focusin", focused, { signal });
  document.addEventListener("focusout", left, { signal });
  document.addEventListener("keydown", pressed, { capture: true, signal });
  document.addEventListener("pointerdown", pointed, { capture: true, signal });
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
  return () => {
    watch = null;
    listeners.abort();
    observer.disconnect();
  };
}
