// Texts that the browser keeps by their names, in one tab or in all. Where it stores nothing, they stay until the page
// is left, for the component that stored them.

const memory = new Map();

export function stored(name, storage) {
  try {
    return storage().getItem(name) ?? memory.get(name) ?? null;
  } catch {
    return memory.get(name) ?? null;
  }
}

// null: no longer.
export function store(name, text, storage) {
  memory.delete(name);
  try {
    if (text === null) storage().removeItem(name);
    else storage().setItem(name, text);
  } catch {
    if (text !== null) memory.set(name, text);
  }
}

export const ofTab = () => sessionStorage;
export const ofBrowser = () => localStorage;
