// Where the map of a large picture lies: over no card, and nowhere where all are in view and cover each corner.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Minimap } from "../../../../pages/components/graph/minimap.js";

const ROOM = { width: 600, height: 400 }, MAP = { width: 130, height: 100 };

function mapped(cards) {
  const style = {};
  const canvas = {
    style, addEventListener() {},
    getBoundingClientRect() {
      const left = style.left === "auto" ? ROOM.width - 10 - MAP.width : 10, top = style.top === "auto" ? ROOM.height - 10 - MAP.height : 10;
      return { left, top, right: left + MAP.width, bottom: top + MAP.height };
    },
  };
  const view = {
    canvas: { clientWidth: ROOM.width, clientHeight: ROOM.height, getBoundingClientRect: () => ({ left: 0, top: 0, right: ROOM.width, bottom: ROOM.height }) },
    outside: (point) => point,
  };
  const map = new Minimap(canvas, view, null);
  map.update(cards.map(([left, top]) => ({ left, top, width: 60, height: 40 })), {});
  return { hides: map.hides(), corner: ["left", "right", "top", "bottom"].filter((side) => style[side] === "10px") };
}

const middle = (count) => Array(count).fill([270, 180]);

test("fewer than ten steps have no map", () => assert.equal(mapped(middle(9)).hides, true));

for (const [name, corners, corner] of [
  ["no corner", [], ["right", "bottom"]],
  ["the first corner", [[500, 340]], ["left", "bottom"]],
  ["both corners below", [[500, 340], [20, 340]], ["right", "top"]],
]) test(`the map takes a free corner where cards lie in ${name}`, () => {
  for (const count of [10, 30]) assert.deepEqual(mapped([...middle(count), ...corners]), { hides: false, corner });
});

const EACH = [[500, 340], [20, 340], [500, 20], [20, 20]];

test("where all cards are in view and lie in each corner, the map goes", () => assert.equal(mapped([...middle(10), ...EACH]).hides, true));

test("where some cards are out of view, there is a map in any case", () => assert.equal(mapped([...middle(10), ...EACH, [900, 20]]).hides, false));
