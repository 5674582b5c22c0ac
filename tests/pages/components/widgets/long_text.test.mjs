// A long text in chunks: none too long, none cut inside of a letter, together the text.

import assert from "node:assert/strict";
import test from "node:test";

import { BEGINNING, chunksOf } from "../../../../pages/components/widgets/long_text.js";

const CASES = [
  ["", ""],
  ["short", "short"],
  ["x".repeat(BEGINNING), "x"],
  ["a line of it\n".repeat(4_000), "a line of it\n"],
  ["words ".repeat(9_000), "words "],
  ["x".repeat(50_000), "x"],
  ["x" + "😀".repeat(30_000), "😀"],
  ["x" + "e\u0301".repeat(30_000), "e\u0301"],
  ["x" + "👩\u200d🚀".repeat(30_000), "👩\u200d🚀"],
];

for (const [text, end] of CASES) {
  test(`a text of ${text.length} characters is cut behind ${JSON.stringify(end)}`, () => {
    const pieces = chunksOf([[text]]).map(([[words]]) => words);
    assert.equal(pieces.join(""), text);
    for (const piece of pieces) {
      assert.ok(piece.length <= BEGINNING);
      assert.ok(piece.endsWith(end));
    }
  });
}

test("parts are cut where they are long, and only the first piece has what is drawn before it", () => {
  const parts = [["x".repeat(15_000), "t", "title", 0, "one"], ["y".repeat(30_000), "t", "title", 1, "two"], ["", "t", "title", 2, "three"]];
  const cut = chunksOf(parts).map((chunk) => chunk.map(([text, , , source, chip]) => [text.length, source, chip]));
  assert.deepEqual(cut, [
    [[15_000, 0, "one"], [5_000, 1, "two"]],
    [[20_000, 1, undefined]],
    [[5_000, 1, undefined], [0, 2, "three"]],
  ]);
});
