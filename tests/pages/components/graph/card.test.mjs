// Where the texts, the badges, the figures and the button of a card lie: inside of it and over nothing else.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawCard, fitText, rightToLeft } from "../../../../pages/components/graph/card.js";
import { Canvas } from "./canvas.mjs";

const THEME = { font: "sans-serif", status: {}, change: {} };
const LONG = "compares all that was measured with what the three earlier steps have computed";
const PLAIN = { status: "finished", title: "Check it", worker: "alpha", badges: [], figures: [], note: "", excerpt: "", body: "Add the numbers.", remark: "", inside: "", change: null };
const CONTENTS = {
  plain: {},
  waiting: { status: "waiting" },
  long: { title: LONG, worker: "a-worker-with-a-long-name", body: LONG, note: "12.9 s" },
  badges: { badges: ["simulated", "second answer"], note: "1.9 s", figures: ["2 retries", "1,200 tokens", "$0.02"], excerpt: LONG },
  remark: { remark: "The answer was cut at 4,096 tokens", note: "1.9 s", excerpt: LONG, badges: ["tiny"] },
  inside: { inside: "3 steps inside", note: "1.9 s", figures: ["300 tokens"], excerpt: LONG },
  everything: { title: LONG, inside: "3 steps inside", remark: "cut", note: "1.9 s", figures: ["300 tokens"], badges: ["simulated"], excerpt: LONG, change: "edited" },
  crowded: { title: "Sum", worker: "a-worker-with-a-long-name", badges: ["simulated", "second answer", "cached"], note: "1.9 s", figures: ["2 retries"], excerpt: LONG },
  short: { title: "Sum", worker: "alpha", note: "1.9 s", inside: "3 steps inside", remark: "cut", excerpt: LONG },
  streams: { status: "running", streams: true, excerpt: `${LONG} ${LONG}` },
  pile: { title: LONG, worker: "a-worker-with-a-long-name", steps: [3, 7, 10], inside: "3 steps", note: "2 of 3 done", figures: ["300 tok"], badges: ["simulated"], excerpt: LONG },
  heat: { title: LONG, heat: { share: 0.4 }, note: "12.9 s", figures: ["38%"], excerpt: LONG },
  unknown: { heat: { share: null }, note: "cost unknown", badges: ["simulated"], inside: "3 steps inside" },
  arabic: { title: "تحقق من النتيجة مع الخطوات السابقة", excerpt: "النتيجة هي مئتان وخمسة", note: "1.9 s" },
};
// As conductor/drawing/layout.py has them.
const SHAPES = [["full", 240, 126], ["brief", 200, 84], ["brief", 250, 84], ["brief", 320, 84], ["brief", 130, 132], ["flat", 300, 34], ["flat", 380, 34], ["flat", 460, 34]];
const ZOOMS = [2.2, 1.15, 1, 0.75, 0.69, 0.62, 0.44, 0.3, 0.15, 0.05];

function draw(kind, width, height, scale, content, step = 10) {
  const card = { step, kind, width, height, left: 100, top: 50, x: 100 + width / 2, y: 50 + height / 2, content: { ...PLAIN, ...content } };
  const canvas = new Canvas();
  drawCard(canvas, card, { theme: THEME, scale, selected: false, opened: false, target: false, dimmed: false });
  return { card, canvas, texts: canvas.texts, words: canvas.texts.map(({ text }) => text) };
}

const apart = (one, other) => one.right <= other.left + 0.01 || other.right <= one.left + 0.01 || one.bottom <= other.top || other.bottom <= one.top;

const inside = (one, { left, right, top, bottom }) => one.left >= left - 0.01 && one.right <= right + 0.01 && one.top >= top && one.bottom <= bottom;

for (const [kind, width, height] of SHAPES) for (const [name, content] of Object.entries(CONTENTS)) {
  test(`all of it has a place of its own inside the card: ${kind}, ${width} x ${height}, ${name}`, () => {
    for (const scale of ZOOMS) {
      const { card, texts } = draw(kind, width, height, scale, content);
      const edges = { left: card.left, right: card.left + width, top: card.top, bottom: card.top + height };
      for (const text of texts) assert.ok(inside(text, edges), `outside of the card at ${scale}: ${text.text}`);
      texts.forEach((one, at) => texts.slice(at + 1).forEach((other) =>
        assert.ok(apart(one, other), `over one another at ${scale}: ${one.text} | ${other.text}`)));
      if (!card.opener) continue;
      assert.ok(inside(card.opener, edges), `the button at ${scale}`);
      for (const text of texts) assert.ok(apart(text, card.opener) || inside(text, card.opener), `under the button at ${scale}: ${text.text}`);
    }
  });
}

for (const [scale, heat, expected] of [[0.1, null, 300], [0.1, { share: 0.4 }, 25], [0.5, null, 5]])
  test(`the state's colour is ${expected} wide at ${scale}${heat ? " beside a heat" : ""}`, () => {
    const canvas = new Canvas(), widths = [];
    canvas.fillRect = (...[, , width]) => { if (canvas.fillStyle === "green") widths.push(width); };
    const card = { step: 10, kind: "flat", width: 300, height: 34, left: 100, top: 50, x: 250, y: 67, content: { ...PLAIN, heat } };
    drawCard(canvas, card, { theme: { ...THEME, status: { finished: "green" } }, scale, selected: false, opened: false, target: false, dimmed: false });
    assert.deepEqual(widths, [expected]);
    assert.equal(canvas.texts.length > 0, scale > 0.1);
  });

// Below the zoom at which layout.py shows a kind, its letters may be smaller.
const READABLE = { full: 0.75, brief: 0.62, flat: 0.44 };

test("a flat card names its worker beside any title", () => {
  for (const width of [300, 380, 460]) for (const title of ["Sum", LONG]) for (const note of ["", "12.9 s"]) {
    const { texts } = draw("flat", width, 34, 0.63, { title, note, worker: "facts-8b" });
    assert.ok(texts.some(({ text }) => /^facts/.test(text)), `${width} ${title} ${note}: ${texts.map(({ text }) => text)}`);
  }
});

test("a flat card has the figure that is looked at beside any title", () => {
  for (const width of [300, 380, 460]) for (const title of ["Sum", LONG, "Gather what is known about it"]) for (const note of ["12.9 s", "cost unknown"]) {
    const { words } = draw("flat", width, 34, 0.63, { title, note, heat: { share: 0.5 }, worker: "facts-8b" });
    assert.ok(words.includes(note), `${width} ${title}: ${words}`);
  }
});

class Fills extends Canvas {
  bars = [];
  lines = [];
  fillRect(...place) { if (this.fillStyle === "heat") this.bars.push(place[2]); }
  setLineDash(dash) { this.dash = dash; }
  stroke() { this.lines.push([this.strokeStyle, this.dash?.length > 0]); }
}

for (const [share, bars, dashed] of [[1, [240, 240], false], [0.25, [240, 60], false], [0, [240, 0], false], [null, [], true]]) {
  test(`heat is a tint and a bar as long as its share, unknown heat a dashed line: ${share}`, () => {
    const canvas = new Fills();
    const card = { step: 1, kind: "full", width: 240, height: 126, left: 0, top: 0, x: 120, y: 63, content: { ...PLAIN, heat: { share }, note: "x" } };
    drawCard(canvas, card, { theme: { ...THEME, heat: "heat", muted: "muted" }, scale: 1 });
    assert.deepEqual(canvas.bars, bars);
    assert.equal(canvas.lines.some(([color, isDashed]) => color === "muted" && isDashed), dashed);
  });
}

test("the lines of a title after the first one begin where its number does", () => {
  const { texts } = draw("full", 240, 126, 1, { title: LONG });
  const [number, first, second] = texts.filter(({ top }) => top < 50 + 45).sort((a, b) => a.top - b.top || a.left - b.left);
  assert.equal(second.left, number.left);
  assert.ok(first.left > number.right);
});

test("what stands below the title of a brief card begins where its number does", () => {
  const { texts } = draw("brief", 250, 84, 1, {});
  assert.deepEqual([...new Set(texts.filter(({ text }) => text !== "Check it").map(({ left }) => left))].length, 1);
});

for (const [kind, width, height] of SHAPES) {
  test(`letters on the screen are large enough to be read: ${kind}, ${width} x ${height}`, () => {
    for (const scale of ZOOMS.filter((zoom) => zoom >= READABLE[kind])) for (const content of Object.values(CONTENTS))
      for (const { text, size } of draw(kind, width, height, scale, content).texts)
        assert.ok(size * scale >= 9, `${size * scale} at ${scale}: ${text}`);
  });
}

// Contents, and what a card has from above, from left to right.
const ROWS = {
  "a full card": [["full", 240, 126, 1, { note: "1.9 s" }], [["11.", "Check it"], ["Add the numbers."], ["alpha", "1.9 s"]]],
  "an output in place of the instruction": [["full", 240, 126, 1, { excerpt: "1,205" }], [["11.", "Check it"], ["1,205"], ["alpha"]]],
  "a warning above the words": [["full", 240, 126, 1, { remark: "It was cut" }], [["11.", "Check it"], ["It was cut"], ["Add the numbers."], ["alpha"]]],
  "words beside the button": [["full", 240, 126, 1, { inside: "2 steps" }], [["11.", "Check it"], ["2 steps", "Add the numbers."], ["alpha"]]],
  "figures that have no room beside the badges": [
    ["full", 240, 126, 1, { badges: ["simulated"], note: "1.9 s", figures: ["1,200 tokens", "$0.02"] }],
    [["11.", "Check it"], ["Add the numbers."], ["alpha", "simulated"], ["1.9 s · 1,200 tokens · $0.02"]],
  ],
  "a badge that would be cut too short": [
    ["full", 240, 126, 1, { worker: "worker-of-some-length", badges: ["simulated", "second answer"] }],
    [["11.", "Check it"], ["Add the numbers."], ["worker-of-some-le…", "simulated"]],
  ],
  "a brief card": [["brief", 250, 84, 1, { note: "1.9 s" }], [["11.", "Check it"], ["Add the numbers."], ["alpha", "1.9 s"]]],
  "a high card": [["brief", 130, 132, 1, {}], [["11."], ["Check it"], ["Add the"], ["numbers."], ["alpha"]]],
  "a flat card": [["flat", 460, 34, 1, { note: "1.9 s" }], [["11.", "Check it", "Add the numbers.", "alpha", "1.9 s"]]],
  "a flat card without room for words": [["flat", 300, 34, 1, { title: "Check the sum", note: "1.9 s" }], [["11.", "Check the sum", "alpha", "1.9 s"]]],
  "a button in half of the room at most": [["flat", 300, 34, 1, { inside: "a workflow of 3 steps" }], [["11.", "Check it", "alpha", "inside"]]],
  "a button with all of its words": [["flat", 460, 34, 1, { inside: "3 steps", excerpt: "1,205" }], [["11.", "Check it", "1,205", "alpha", "3 steps"]]],
  "a title of one line where words need the other": [["full", 240, 126, 0.69, { title: LONG, note: "1.9 s", badges: ["simulated"], figures: ["1,200 tokens"] }], [["11.", "compares all th…"], ["Add the numbers."], ["alpha", "simulated"], ["1.9 s · 1,200 tokens"]]],
  "no words where few letters have room": [["flat", 300, 34, 1, { title: "Check the sum of all", excerpt: LONG }], [["11.", "Check the sum of all", "alpha"]]],
  "the end of what is being written": [
    ["full", 240, 126, 1, { status: "running", streams: true, excerpt: `${LONG} ${LONG}` }],
    [["11.", "Check it"], ["…earlier steps have computed"], ["compares all that was"], ["measured with what the three"], ["earlier steps have computed"], ["alpha"]],
  ],
  "a small card": [["full", 240, 126, 0.2, { note: "1.9 s" }], [["11"]]],
};

for (const [name, [[kind, width, height, scale, content], rows]] of Object.entries(ROWS)) {
  test(`what stands where: ${name}`, () => {
    const { texts } = draw(kind, width, height, scale, content);
    const line = ({ top, bottom }) => Math.round((top + bottom) / 8);
    const lines = [...new Set(texts.map(line))].sort((a, b) => a - b);
    const inRow = (row) => texts.filter((text) => line(text) === row).sort((a, b) => a.left - b.left);
    assert.deepEqual(lines.map((row) => inRow(row).map(({ text }) => text)), rows);
  });
}

test("a title that is written from right to left begins at the right edge", () => {
  const { card, texts } = draw("brief", 250, 84, 1, CONTENTS.arabic);
  const title = texts.find(({ text }) => rightToLeft(text));
  assert.equal(title.direction, "rtl");
  assert.ok(title.right > card.left + 0.8 * card.width);
});

for (const [text, width, cut] of [["as it is", 50, "as it is"], ["too long for it", 45, "too lon…"], ["too long for it", 28, "too…"], ["👍🏽👍🏽👍🏽", 18, "👍🏽…"], ["too long", 2, ""]]) {
  test(`a text is cut to its room: ${text}, ${width}`, () => assert.equal(fitText(new Canvas(), text, width), cut));
}
