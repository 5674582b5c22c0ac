// What a component makes of its element lives exactly as long as that, in whatever order Streamlit calls.

import assert from "node:assert/strict";
import test from "node:test";

import { mounted } from "../../../../pages/components/streamlit_patches/shared.js";

function example() {
  const root = { isConnected: true }, parentElement = { querySelector: () => root }, lived = [];
  const component = mounted(".part", () => {
    lived.push("made");
    return { update: ({ data }) => lived.push(data), destroy: () => lived.push("ended") };
  });
  return { root, lived, draw: (data) => component({ data, parentElement }) };
}

test("a call that another one has followed by then ends nothing", () => {
  const { lived, draw } = example();
  const first = draw("one");
  draw("two");
  first();
  draw("three");
  assert.deepEqual(lived, ["made", "one", "two", "three"]);
});

test("what was made ends once, with its element", () => {
  const { root, lived, draw } = example();
  const first = draw("one"), second = draw("two");
  root.isConnected = false;
  second();
  first();
  assert.deepEqual(lived, ["made", "one", "two", "ended"]);
});
