// Keeps what is typed into the question's box in the browser's tab, by the place where it was typed, until it has
// been asked there; and in the browser whether what is asked is run at once. While a person types, it presses the
// option that the text is likely meant as (meaning.js), until that person presses one.

import { drawing } from "../../streamlit_patches/shared.js";
import { ofBrowser, ofTab, store, stored } from "../../streamlit_patches/stored.js";
import { meaningOf } from "./meaning.js";

const PATIENCE = 2000;                                      // milliseconds in which the box is drawn
const LOOK = 50;                                            // milliseconds

const RUNS = "conductor-runs-plans";
const QUESTION_KEY = "conductor-question-asked";
const WISH_KEY = "conductor-question-given";
const nameOf = (place) => `conductor-question-${place}`;
const chosenOf = (place) => `conductor-question-chosen-${place}`;

// As if it was typed: React notices a value only by its event.
function show(field, text) {
  const value = /** @type {any} */ (Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value"));
  value.set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// One for the browser's tab, however often a page draws this again: what is shown now, what the box was given last.
const state = (document.conductorQuestion ??= { data: null, content: {}, options: 0, following: 0, listens: false });

// While the page is drawn, the box of the page before may stand beside its own.
function follow(until, turn) {
  if (turn !== state.following) return;
  fill(state.data);
  if (drawing() || performance.now() < until) setTimeout(() => follow(until, turn), LOOK);
}

function fill(data) {
  const field = document.querySelector(data.box);
  if (!field) return;
  const options = document.querySelectorAll(data.meaning).length;
  const content = { field, place: data.place, text: data.text, refused: data.refused };
  if (Object.keys(content).every((name) => content[name] === state.content[name])) {
    if (options !== state.options) propose(field.value);
    state.options = options;
    return;
  }
  state.options = options;
  // Typed before this was here.
  if (state.content.place === undefined && field.value) store(nameOf(data.place), field.value, ofTab);
  state.content = content;
  const text = stored(nameOf(data.place), ofTab) ?? data.text;
  if (field.value !== text) show(field, text);
  propose(text);
}

function typed({ target }) {
  const { data, content } = state;
  // While the page is drawn, the box is not its own yet, and yet the one that was given this place.
  if (!target.matches?.(data.box) && (target !== content.field || content.place !== data.place)) return;
  store(nameOf(data.place), target.value === data.text ? null : target.value, ofTab);
  propose(target.value);
}

// Presses it, as a person would, which the server learns, too.
function mean(change) {
  const option = document.querySelectorAll(state.data.meaning)[change ? 1 : 0];
  if (option && !isPressed(option)) option.click();
}

const isPressed = (option) => option.getAttribute("aria-checked") === "true" || option.matches('[kind$="Active"]');

// What a person pressed counts until the text has been sent, whatever is typed meanwhile.
function propose(text) {
  const { place, workers } = state.data;
  mean((stored(chosenOf(place), ofTab) ?? meaningOf(text, workers)) === "change");
}

const choose = (change) => store(chosenOf(state.data.place), change ? "change" : "ask", ofTab);

function pressed(/** @type {any} */ { type, key, target, isTrusted }) {
  const option = isTrusted && target.closest?.(state.data.meaning);
  if (option && (type === "click" || key === "Enter" || key === " ")) choose(option !== document.querySelector(state.data.meaning));
}

function turned(event) {
  if (event.key !== "/" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  const options = [...document.querySelectorAll(state.data.meaning)];
  if (options.length < 2) return;
  event.preventDefault();
  const change = !isPressed(options[1]);
  choose(change);
  mean(change);
  document.querySelector(state.data.box)?.focus();
}

// A wish from elsewhere on the page stands in the box as if it had been typed.
function give({ place, text, id }) {
  if (stored(WISH_KEY, ofTab) === id) return;
  store(WISH_KEY, id, ofTab);
  store(nameOf(place), text, ofTab);
  store(chosenOf(place), "change", ofTab);
  state.content = {};
  setTimeout(() => document.querySelector(state.data.box)?.focus());
}

export default function ({ data, setTriggerValue }) {
  if (data.asked && stored(QUESTION_KEY, ofTab) !== data.asked.id) {
    store(QUESTION_KEY, data.asked.id, ofTab);
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
    document.addEventListener("click", pressed, true);
    document.addEventListener("keydown", pressed, true);
  }
  state.listens = true;
  state.following += 1;
  follow(performance.now() + PATIENCE, state.following);
}
