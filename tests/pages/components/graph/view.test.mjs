// What the view does where a picture grows: it moves as far as needed, and is fitted again where that is not enough.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = /** @type {any} */ ({ matchMedia: () => ({ matches: false }) });
globalThis.document = /** @type {any} */ ({ createElement: () => ({ getContext: () => null }) });
const { View } = await import("../../../../pages/components/graph/view.js");

const ROOM = { clientWidth: 600, clientHeight: 400 };

// A view of the room at zoom 1, with its middle at (300, 200): where its middle is afterwards, or "fitted".
function followed({ left = 0, top = 0, right, bottom }, { touched = false, fresh = false } = {}) {
  let end = null;
  const view = Object.create(View.prototype, {
    canvas: { value: ROOM }, mostFitted: { value: 1.15 }, touched: { value: touched }, scale: { value: 1 },
    nodes: { value: { getIds: () => [], remove() {}, update() {} } },
    network: { value: { getViewPosition: () => ({ x: 300, y: 200 }), moveTo: ({ position }) => { end = [position.x, position.y]; } } },
    fit: { value: () => { end = "fitted"; } },
  });
  view.place([], { left, top, right, bottom }, fresh);
  return end;
}

for (const [name, box, expected] of [
  ["all of it is seen", { left: 50, top: 20, right: 550, bottom: 380 }, null],
  ["a row comes below", { left: 50, top: 60, right: 550, bottom: 420 }, [300, 232]],
  ["a card comes on the left", { left: -40, top: 20, right: 500, bottom: 380 }, [248, 200]],
  ["it is too high", { right: 500, bottom: 700 }, "fitted"],
  ["it is too broad", { right: 900, bottom: 300 }, "fitted"],
  ["it is small", { left: 300, top: 200, right: 360, bottom: 240 }, null],
]) test(`where ${name}, the view ${expected ? `is ${expected}` : "stays"}`, () => assert.deepEqual(followed(/** @type {any} */ (box)), expected));

for (const [scale, expected] of [[0.1, 190 / 300], [2, 2]]) test(`a card is shown in letters to be read, from zoom ${scale}`, () => {
  let move = null;
  const view = Object.create(View.prototype, {
    scale: { value: scale }, touched: { value: false, writable: true }, network: { value: { moveTo: (to) => { move = to; } } },
  });
  view.show({ x: 900, y: 700, width: 300 });
  assert.deepEqual([move.scale, move.position, view.touched], [expected, { x: 900, y: 700 }, true]);
});

test("a picture that is another one is fitted", () => assert.equal(followed({ left: 50, top: 20, right: 550, bottom: 380 }, { fresh: true }), "fitted"));

test("a view that a person chose stays", () => assert.equal(followed({ right: 900, bottom: 700 }, { touched: true, fresh: true }), null));
