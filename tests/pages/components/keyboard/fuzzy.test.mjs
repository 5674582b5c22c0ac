// Which names the palette offers for what is typed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { holds, score } from "../../../../pages/components/keyboard/fuzzy.js";

const ROWS = [
  ["Run the workflow", "run", 0],
  ["Run the workflow", "workf", 1],
  ["Run the workflow", "flow", 2],
  ["Open Learning", "ol", 3],
  ["Open Learning", "opl", 3],
  ["Open Learning", "o l", 3],
  ["3. Write it down", "write", 1],
  ["Évaluer", "év", 0],
  ["Open Learning", "pen l", 2],
  ["Open Learning", "og", null],
  ["Open Learning", "learnings", null],
  ["Open Learning", "zebra", null],
  ["", "a", null],
  ["Anything", "", 0],
];

for (const [name, words, expected] of ROWS) {
  test(`"${words}" against "${name}"`, () => assert.equal(score(name, words), expected));
}

for (const [words, expected] of [["step 777", true], ["777 writer", true], ["step 77", true], ["step 78", false], ["tep 777", false]]) {
  test(`"${words}" for step 777 of a writer`, () => assert.equal(holds("Step 777. Sum it up writer", words), expected));
}

test("a long name and many letters take no time that grows with their product", () => {
  assert.equal(score("a ".repeat(50_000), `${"a".repeat(200)}b`), null);
});
