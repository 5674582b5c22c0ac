// Keeps a text for each session in the browser's tab. A server process that has not read it gets it first, and
// nothing is written over it before that.

export default function ({ data, setTriggerValue }) {
  const place = `conductor-${data.session}`;
  try {
    const text = data.reads ? sessionStorage.getItem(place) ?? "" : "";
    if (text || (data.reads && data.written)) setTriggerValue("found", text);
    if (text) return;
    if (data.written) sessionStorage.setItem(place, data.written);
    else sessionStorage.removeItem(place);
  } catch {
    // A browser that stores nothing, or no more: it is remembered until the tab is reloaded.
  }
}
