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

// One for the browser's tab, however often a page draws this again: what is shown now, what the box was given last.
const state = (document.conductorQuestion ??= { data: null, shown: {}, following: 0, listens: false });

// While the page is drawn, the box of the page before may stand beside its own.
function follow(until, turn) {
  if (turn !== state.following) return;
  fill(state.data);
  if (drawing() || performance.now() < until) setTimeout(() => follow(until, turn), LOOK);
}

function fill(data) {
  const field = document.querySelector(data.box);
  if (!field) return;
  const wanted = { field, place: data.place, text: data.text, refused: data.refused };
  if (Object.keys(wanted).every((name) => wanted[name] === state.shown[name])) return;
  // Typed before this was here.
  if (state.shown.place === undefined && field.value) store(nameOf(data.place), field.value, ofTab);
  state.shown = wanted;
  const text = stored(nameOf(data.place), ofTab) ?? data.text;
  if (field.value !== text) show(field, text);
}

function typed({ target }) {
  const { data } = state;
  if (!target.matches?.(data.box)) return;
  store(nameOf(data.place), target.value === data.text ? null : target.value, ofTab);
}

export default function ({ data, setTriggerValue }) {
  if (data.asked && stored(ASKED, ofTab) !== data.asked.id) {
    store(ASKED, data.asked.id, ofTab);
    store(nameOf(data.asked.place), null, ofTab);
  }
  const kept = stored(RUNS, ofBrowser);
  if (data.runs !== null) store(RUNS, data.runs ? "yes" : "no", ofBrowser);
  else if (kept === "yes") setTriggerValue("runs", kept);

  state.data = data;
  if (!state.listens) document.addEventListener("input", typed);
  state.listens = true;
  state.following += 1;
  follow(performance.now() + PATIENCE, state.following);
}
