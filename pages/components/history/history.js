// Revisions as a list with the lines of their tree. One row is selected; arrows move on.
//
// Every character goes through textContent. A poll without news leaves the rows as they are, with the focus and
// the place they were scrolled to.

import { element, markOption, mounted, svg, unseen } from "../streamlit_patches/shared.js";

const STEP = 14, HIGH = 46, MIDDLE = HIGH / 2, LANES = 8;   // pixels, and lanes that are drawn apart
const RESTS = 160;                                          // milliseconds until the focused row is sent

const x = (lane) => STEP * Math.min(lane, LANES) + STEP / 2 + 1;

class History {
  constructor(root) {
    this.list = root.querySelector(".rows");
    this.list.addEventListener("click", ({ target }) => this.choose(this.rows.findIndex((row) => row.contains(target))));
    this.list.addEventListener("keydown", (event) => this.pressed(event));
    this.rows = [];
    this.selected = null;
  }

  update(component) {
    this.component = component;
    const { rows, selected } = component.data;
    const signature = JSON.stringify(rows);
    if (signature !== this.signature) this.build(rows);
    this.signature = signature;
    // While keys are pressed in turn, the row that they arrived at counts.
    if (this.resting === undefined) this.mark(selected);
  }

  build(rows) {
    const top = this.list.scrollTop;
    const lanes = Math.max(0, ...rows.flatMap((row) => [row.lane, ...row.joins, ...row.passing]));
    this.data = rows;
    this.rows = rows.map((row) => this.row(row, x(lanes) + STEP / 2));
    this.list.replaceChildren(...this.rows);
    this.list.scrollTop = top;
    this.mark(this.selected);
  }

  row(data, width) {
    const older = data.runs.length - 1;
    const marks = element("div", "marks");
    // The space separates two marks for screen readers.
    const mark = (kind, text) => marks.append(element("span", `mark ${kind}`, text), " ");
    for (const count of data.tests) mark("tests", count);
    if (older > 0) mark("earlier", `${older} more`);
    if (older >= 0) mark("run", data.runs[older]);
    if (data.standing) mark(data.standing, data.standing);
    const text = element("div", "text", element("div", "note", data.note), element("div", "facts", data.facts.join(" · ")));
    const row = element("div", {
      class: "row", id: `revision-${data.id}`, role: "option", title: [data.note, data.tested, ...data.runs].filter(Boolean).join("\n"),
      "data-origin": data.origin, "data-standing": data.standing,
    }, lines(data, width), element("div", "number", unseen("Revision"), String(data.number)), text, marks,
      unseen([data.tested, ...data.runs.slice(0, -1)].filter(Boolean).join(", ")));
    row.toggleAttribute("data-way", data.current);
    return row;
  }

  mark(id) {
    this.selected = id;
    const at = this.place();
    markOption(this.list, this.rows, at < 0 ? null : at);
  }

  place() { return this.data?.findIndex((row) => row.id === this.selected) ?? -1; }

  pressed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const at = this.place(), last = this.rows.length - 1;
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - 8, PageDown: at + 8, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(Math.min(Math.max(to, 0), last), RESTS);
  }

  choose(at, rests = 0) {
    if (at < 0) return;
    this.mark(this.data[at].id);
    this.reveal(at);
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.resting = undefined;
      this.component.setStateValue("selected", { id: this.selected });
    }, rests);
  }

  destroy() { clearTimeout(this.resting); }

  reveal(at) {
    const { scrollTop, clientHeight } = this.list;
    if (at * HIGH < scrollTop) this.list.scrollTop = at * HIGH;
    else if ((at + 1) * HIGH > scrollTop + clientHeight) this.list.scrollTop = (at + 1) * HIGH - clientHeight;
  }
}

function lines({ lane, above, below, joins, passing, current, way: lit }, width) {
  const tree = svg("svg", { class: "lines", width, height: HIGH, "aria-hidden": "true" });
  const own = x(lane);
  const line = (d, way) => tree.append(svg("path", way ? { d, class: "way" } : { d }));
  for (const other of passing) line(`M${x(other)} 0V${HIGH}`, lit && other === 0);
  for (const other of joins) line(`M${x(other)} 0C${x(other)} ${MIDDLE} ${own} 6 ${own} ${MIDDLE}`, false);
  if (above) line(`M${own} 0V${MIDDLE}`, lit && lane === 0);
  if (below) line(`M${own} ${MIDDLE}V${HIGH}`, current);
  tree.append(svg("circle", { cx: own, cy: MIDDLE, r: 4.5 }));
  return tree;
}

export default mounted(".history", (root) => new History(root));
