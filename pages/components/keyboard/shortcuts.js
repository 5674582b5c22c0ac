// Keyboard shortcuts that press buttons of the page. Text fields keep their own keys: only the field that
// a shortcut names (`within`) lets it through.

const PATIENCE = 3000;                                      // milliseconds

// The page is drawn piece by piece: what was typed in its first moments may be there before its button.
function pressDrawn(selector, until) {
  const button = document.querySelector(`${selector} button`);
  if (button && !button.disabled) button.click();
  else if (!button && performance.now() < until) requestAnimationFrame(() => pressDrawn(selector, until));
}

export default function (component) {
  const { data } = component;
  const pressed = (event) => {
    if (event.altKey) return;
    const control = event.ctrlKey || event.metaKey;
    const field = event.composedPath().find((node) => node.matches?.("input, textarea, select, [contenteditable]"));
    const found = data.shortcuts.find(({ key, ctrl, shift, within }) =>
      key === event.key.toLowerCase() && ctrl === control && shift === event.shiftKey && (!field || (within && field.closest(within))));
    if (!found) return;
    const button = document.querySelector(`${found.button} button`);
    if (button ? button.disabled : !field) return;
    event.preventDefault();
    pressDrawn(found.button, performance.now() + PATIENCE);
  };
  document.addEventListener("keydown", pressed);
  component.parentElement.dataset.listens = "";
  return () => document.removeEventListener("keydown", pressed);
}
