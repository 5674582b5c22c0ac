// The colours of edges: at their end that of the worker that is read, and which edges stand out.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Canvas } from "./canvas.mjs";

// What theme.js asks of a page when it is loaded.
Object.assign(globalThis, { window: { matchMedia: () => ({}) }, document: { createElement: () => ({ getContext: () => ({}) }) } });
const { drawEdges } = await import("../../../../pages/components/graph/routes.js");

const THEME = { primary: "primary", ground: "ground", edge: "edge", dimmed: "dimmed", faint: "faint", outgoing: "outgoing", status: {}, change: {} };
const EVERYONE = { shows: () => true };
const CARDS = [0, 1, 2, 3, 4].map((step) => ({ steps: [step] }));
// Steps 0 and 1 share their end at step 3, which step 2 reaches at another place.
const EDGES = [
  { id: "0-3", from: 0, to: 3, hue: "red", route: [[0, 0], [0, 50], [90, 50], [90, 100]] },
  { id: "1-3", from: 1, to: 3, hue: "blue", route: [[50, 0], [50, 50], [90, 50], [90, 100]] },
  { id: "2-3", from: 2, to: 3, hue: "green", route: [[110, 0], [110, 100]] },
  { id: "3-4", from: 3, to: 4, hue: "pink", route: [[100, 130], [100, 200]] },
];

class Strokes extends Canvas {
  strokes = [];
  widths = [];
  dash = [];
  setLineDash(dash) { this.dash = dash; }
  stroke() { this.widths.push(this.lineWidth); this.strokes.push({ color: this.strokeStyle, dash: this.dash, from: this.lineDashOffset ?? 0 }); }
}

function draw(state = {}) {
  const canvas = new Strokes();
  drawEdges(canvas, EDGES, { cards: CARDS, lit: null, selectedEdge: null, hoverEdge: null, legend: EVERYONE, ...state }, THEME, true, 1);
  return canvas.strokes;
}

const colors = (strokes) => strokes.map(({ color }) => color);

test("an edge ends in the colour of the worker that is read", () => {
  assert.deepEqual(colors(draw()).filter((color) => color !== "edge").sort(), ["blue", "green", "pink", "red"]);
});

test("edges that share their end take turns on it", () => {
  const ends = Object.fromEntries(draw().map(({ color, dash, from }) => [color, { dash, from }]));
  assert.deepEqual(ends.red.dash, ends.blue.dash);
  assert.notEqual(ends.red.from, ends.blue.from);
  assert.deepEqual(ends.green.dash, []);
});

test("of the step that is lit, what it reads and who reads it stand out, and other edges are dimmed", () => {
  assert.deepEqual(colors(draw({ lit: 3 })).filter((color) => color in THEME).sort(), ["outgoing", "primary", "primary", "primary"]);
  assert.deepEqual(colors(draw({ lit: 2 })).filter((color) => color in THEME).sort(), ["dimmed", "dimmed", "dimmed", "outgoing"]);
});

test("of one edge that is selected, all others stand back", () => {
  assert.deepEqual(colors(draw({ selectedEdge: "1-3" })), ["dimmed", "dimmed", "dimmed", "primary"]);
});

test("where cards are only seen as spots, edges are faint, but for those of a step that is lit", () => {
  const canvas = new Strokes(), cards = CARDS.map((card) => ({ ...card, height: 34 }));
  drawEdges(canvas, EDGES, { cards, lit: 3, selectedEdge: null, hoverEdge: null, legend: EVERYONE }, THEME, true, 0.1);
  assert.deepEqual(colors(canvas.strokes).filter((color) => color in THEME).sort(), ["outgoing", "primary", "primary", "primary"]);
  canvas.strokes = [];
  drawEdges(canvas, EDGES, { cards, lit: null, selectedEdge: null, hoverEdge: null, legend: EVERYONE }, THEME, true, 0.1);
  assert.deepEqual(colors(canvas.strokes), ["faint", "faint", "faint", "faint"]);
});

test("an edge between steps that the legend leaves out is faint and has no colour at its end", () => {
  const legend = { shows: ({ steps }) => steps.includes(4) };
  assert.deepEqual(colors(draw({ legend })).sort(), ["edge", "faint", "faint", "faint", "pink"]);
});

test("an edge is as wide as the figure on it is large, one without a figure thin, one of unknown size dashed", () => {
  const canvas = new Strokes(), shares = [1, 0.5, null];
  const edges = EDGES.map((edge, at) => ({ ...edge, heat: at < 3 ? { share: shares[at] } : null }));
  drawEdges(canvas, edges, { cards: CARDS, lit: null, selectedEdge: null, hoverEdge: null, legend: EVERYONE, heat: { ofEdges: true } }, { ...THEME, heat: "heat" }, true, 1);
  assert.deepEqual(canvas.widths.map((width) => Math.round(width * 10)), [12, 86, 51, 16]);
  assert.deepEqual(canvas.strokes.map(({ color }) => color), ["dimmed", "heat", "heat", "edge"]);
  assert.ok(canvas.strokes[3].dash.length > 0);
});
