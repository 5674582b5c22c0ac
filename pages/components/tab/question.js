// Keeps what is typed into the question's box in the browser's tab, by the place where it was typed, until it has
// been asked there; and in the browser whether what is asked is run at once.

const PATIENCE = 2000;                                      // milliseconds in which the box is drawn
const LOOK = 50;                                            // milliseconds

const memory = new Map();                                   // where the browser stores nothing

function stored(name, storage) {
  try {
    return storage().getItem(name) ?? memory.get(name) ?? null;
  } catch {
    return memory.get(name) ?? null;
  }
}

function store(name, text, storage) {
  memory.delete(name);
  try {
    if (text === null) storage().removeItem(name);
    else storage().setItem(name, text);
  } catch {
    if (text !== null) memory.set(name, text);
  }
}

const ofTab = () => sessionStorage;
const ofBrowser = () => localStorage;
const RUNS = "conductor-runs-plans";
const ASKED = "conductor-question-asked";
const nameOf = (place) => `conductor-question-${place}`;

// As if it was typed: React notices a value only by its event.
function show(field, text) {
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

let shown = {};                                             // the box and what it was given last
let following = 0;

// While the page is drawn, the box of the page before may stand beside its own.
function follow(data, until, turn) {
  if (turn !== following) return;
  fill(data);
  if (drawing() || performance.now() < until) setTimeout(() => follow(data, until, turn), LOOK);
}

function fill(data) {
  const field = document.querySelector(data.box);
  if (!field) return;
  const wanted = { field, place: data.place, text: data.text, refused: data.refused };
  if (Object.keys(wanted).every((name) => wanted[name] === shown[name])) return;
  // Typed before this was here.
  if (shown.place === undefined && field.value) store(nameOf(data.place), field.value, ofTab);
  shown = wanted;
  const text = stored(nameOf(data.place), ofTab) ?? data.text;
  if (field.value !== text) show(field, text);
}

export default function ({ data, setTriggerValue }) {
  if (data.asked && stored(ASKED, ofTab) !== data.asked.id) {
    store(ASKED, data.asked.id, ofTab);
    store(nameOf(data.asked.place), null, ofTab);
  }
  const kept = stored(RUNS, ofBrowser);
  if (data.runs !== null) store(RUNS, data.runs ? "yes" : "no", ofBrowser);
  else if (kept === "yes") setTriggerValue("runs", kept);

  const typed = ({ target }) => {
    if (!target.matches?.(data.box)) return;
    store(nameOf(data.place), target.value === data.text ? null : target.value, ofTab);
  };
  document.addEventListener("input", typed);
  following += 1;
  follow(data, performance.now() + PATIENCE, following);
  return () => document.removeEventListener("input", typed);
}
