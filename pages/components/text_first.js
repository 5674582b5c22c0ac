// A press that comes in one breath with the leaving of a text field waits until the text is on its way.
// Otherwise Streamlit would send both in one message, draw only the part of the page that the text stands in,
// and complain of that to the console.

let leaving = 0;

// What the field has to send waits for a timer that is set after this one, so the second goes off behind it.
const afterwards = (act) => setTimeout(() => setTimeout(act));

function left({ target }) {
  if (!target.matches("input, textarea")) return;
  leaving++;
  afterwards(() => leaving--);
}

function pressed(event) {
  if (!leaving || !event.isTrusted) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const { target } = event, again = new event.constructor(event.type, event);
  afterwards(() => target.dispatchEvent(again));
}

let watch = null;

export default function () {
  if (watch) return;
  const listeners = watch = new AbortController(), { signal } = listeners;
  document.addEventListener("focusout", left, { capture: true, signal });
  for (const press of ["pointerup", "click"]) window.addEventListener(press, pressed, { capture: true, signal });
  return () => {
    watch = null;
    listeners.abort();
  };
}
