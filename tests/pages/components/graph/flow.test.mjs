// How much moves on the graph at once.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Canvas } from "./canvas.mjs";

globalThis.window = /** @type {any} */ ({ matchMedia: () => ({ matches: false }) });
globalThis.document = /** @type {any} */ ({ createElement: () => ({ getContext: () => null }) });
globalThis.devicePixelRatio = 1;
const { Flow } = await import("../../../../pages/components/graph/flow.js");

for (const [edges, expected] of [[3, 3], [100, 100], [1_000, 0]])
  test(`of ${edges} edges along which an output flows ${expected} have sparks`, () => {
    const ctx = /** @type {any} */ (new Canvas());
    let strokes = 0;
    Object.assign(ctx, { stroke: () => { strokes += 1; }, setTransform() {}, clearRect() {} });
    const view = { network: { canvasToDOM: () => ({ x: 0, y: 0 }) }, scale: 1 };
    const flow = new Flow(/** @type {any} */ ({ clientWidth: 600, clientHeight: 400, getContext: () => ctx }), view);
    const route = [[0, 0], [0, 10]];
    Object.assign(flow, { theme: { spark: "blue", font: "sans-serif" }, edges: Array.from({ length: edges }, (_, id) => ({ id, flows: true, route })) });
    flow.draw();
    assert.equal(strokes, expected);
  });
