// Keeps a text for each session in the browser's tab. A server process that has not read it gets it first, and
// nothing is written before that.

export default function ({ data, setTriggerValue }) {
  const place = `conductor-${data.session}`;
  try {
    if (data.reads) {
      const text = sessionStorage.getItem(place) ?? "";
      if (text || data.written) setTriggerValue("found", text);
    } else if (data.written) sessionStorage.setItem(place, data.written);
    else sessionStorage.removeItem(place);
  } catch {
    // A browser that stores nothing, or no more: it is remembered for as long as the server runs.
  }
}
