// Keyboard shortcuts that press buttons of the page. Text fields keep their own keys: only the field that
// a shortcut names (`within`) lets it through.

export default function (component) {
  const { data } = component;
  const pressed = (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const found = data.shortcuts.find(
      (shortcut) => shortcut.key === event.key.toLowerCase() && shortcut.shift === event.shiftKey,
    );
    const field = event.composedPath().find((node) => node.matches?.("input, textarea, select, [contenteditable]"));
    if (!found || (field && !(found.within && field.closest(found.within)))) return;
    const button = document.querySelector(`${found.button} button:not(:disabled)`);
    if (!button) return;
    event.preventDefault();
    button.click();
  };
  document.addEventListener("keydown", pressed);
  component.parentElement.dataset.listens = "";
  return () => document.removeEventListener("keydown", pressed);
}
