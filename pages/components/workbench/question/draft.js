// Keeps what is typed into the question's box in the browser's tab, by the place where it was typed, until it has
// been asked there; and in the browser whether what is asked is run at once. While a person types, it presses the
// option that the text is likely meant as (meaning.js), until that person presses one.

import { drawing } from "../../streamlit_patches/shared.js";
import { ofBrowser, ofTab, store, stored } from "../../streamlit_patches/stored.js";
import { meaningOf } from "./meaning.js";

const PATIENCE = 2000;                                      // milliseconds in which the box is drawn
const LOOK = 50;                                            // milliseconds

const RUNS = "conductor-runs-plans";
const ASKED = "conductor-question-asked";
const GIVEN = "conductor-question-given";
const nameOf = (place) => `conductor-question-${place}`;
const chosenOf = (place) => `conductor-question-chosen-${place}`;

// As if it was typed: React notices a value only by its event.
function show(field, text) {
  const value = /** @type {any} */ (Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value"));
  value.set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// One for the browser's tab, however often a page draws this again: what is shown now, what the box was given last.
const state = (document.conductorQuestion ??= { data: null, content: {}, following: 0, listens: false });

// While the page is drawn, the box of the page before may stand beside its own.
function follow(until, turn) {
  if (turn !== state.following) return;
  fill(state.data);
  if (drawing() || performance.now() < until) setTimeout(() => follow(until, turn), LOOK);
}

function fill(data) {
  const field = document.querySelector(data.box);
  if (!field) return;
  const content = { field, place: data.place, text: data.text, refused: data.refused };
  if (Object.keys(content).every((name) => content[name] === state.content[name])) return;
  // Typed before this was here.
  if (state.content.place === undefined && field.value) store(nameOf(data.place), field.value, ofTab);
  state.content = content;
  const text = stored(nameOf(data.place), ofTab) ?? data.text;
  if (field.value !== text) show(field, text);
}

function typed({ target }) {
  const { data } = state;
  if (!target.matches?.(data.box)) return;
  store(nameOf(data.place), target.value === data.text ? null : target.value, ofTab);
  propose(target.value);
}

// Presses it, as a person would, which the server learns, too.
function mean(change) {
  const option = document.querySelectorAll(state.data.meaning)[change ? 1 : 0];
  if (option && !isPressed(option)) option.click();
}

const isPressed = (option) => option.getAttribute("aria-checked") === "true" || option.matches('[kind$="Active"]');

function propose(text) {
  const { place, workers } = state.data;
  if (!stored(chosenOf(place), ofTab)) mean(meaningOf(text, workers) === "change");
}

// What a person presses counts until the text has been sent, whatever is typed meanwhile.
function chosen({ target, isTrusted }) {
  if (isTrusted && target.closest?.(state.data.meaning)) store(chosenOf(state.data.place), "yes", ofTab);
}

function turned(event) {
  if (event.key !== "/" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  const options = [...document.querySelectorAll(state.data.meaning)];
  if (options.length < 2) return;
  event.preventDefault();
  store(chosenOf(state.data.place), "yes", ofTab);
  mean(!isPressed(options[1]));
  document.querySelector(state.data.box)?.focus();
}

// A wish from elsewhere on the page stands in the box as if it had been typed.
function give({ place, text, id }) {
  if (stored(GIVEN, ofTab) === id) return;
  store(GIVEN, id, ofTab);
  store(nameOf(place), text, ofTab);
  store(chosenOf(place), "yes", ofTab);
  state.content = {};
  setTimeout(() => document.querySelector(state.data.box)?.focus());
}

export default function ({ data, setTriggerValue }) {
  if (data.asked && stored(ASKED, ofTab) !== data.asked.id) {
    store(ASKED, data.asked.id, ofTab);
    store(nameOf(data.asked.place), null, ofTab);
    store(chosenOf(data.asked.place), null, ofTab);
  }
  const runs = stored(RUNS, ofBrowser);
  if (data.runs !== null) store(RUNS, data.runs ? "yes" : "no", ofBrowser);
  else if (runs === "yes") setTriggerValue("runs", runs);

  state.data = data;
  if (data.given) give(data.given);
  if (!state.listens) {
    document.addEventListener("input", typed);
    document.addEventListener("keydown", turned);
    for (const event of ["click", "keydown"]) document.addEventListener(event, chosen, true);
  }
  state.listens = true;
  state.following += 1;
  follow(performance.now() + PATIENCE, state.following);
}
