// Who may read whom, step by step: rows read columns. One cell has the focus; arrows move it.
//
// The cells stay while the data changes, so that the focus does. A change is only asked for: until Python has
// answered, the cell shows what was wished, dashed. Nothing is sent while the page is still being drawn for the
// wish before: each message carries what all fields of the page show, and one of them may still show what was
// before that wish.

import { drawing, element, icon, mounted, workerMark } from "../streamlit_patches/shared.js";

// What a step may see or call besides earlier steps, by the number that stands for it.
const TOOLS = -3;
const BESIDES = {
  [-1]: { flag: "before", head: "Before", seen: "the previous round", title: "The previous round: all of its steps" },
  [-2]: { flag: "files", head: "Files", seen: "the attached files", title: "The files and images attached to the question" },
  [TOOLS]: { flag: "tools", head: "Tools", seen: "its worker’s tools", title: "The tools of each step’s worker" },
};
const DOES = { [TOOLS]: ["calls", "no longer calls"] };
const RESTS = 180;                                          // milliseconds until the focused row is selected
const LOOKS = 60, PATIENCE = 5000;                          // milliseconds between looks, and until a wish is given up
const TICK = "M4 12.5 9.5 18 20 6.5";

const bounded = (value, most) => Math.min(Math.max(value, 0), most);

class AccessGrid {
  /** @type {number[]} */ columns = [];
  /** @type {HTMLElement[]} */ heads = [];
  /** @type {HTMLElement[]} */ rows = [];
  /** @type {any[][]} */ cells = [];

  constructor(root) {
    this.frame = root.querySelector(".frame");
    this.grid = root.querySelector(".grid");
    this.status = root.querySelector(".status");
    this.root = root;
    this.wishes = new Map();                                // what is shown as wished
    /** @type {{ at: number, wishes: Map<string, boolean> } | null} */
    this.request = null;                                    // the request under way: its mark and its wishes
    this.choice = null;                                     // the step that is still to be selected
    this.place = [0, 0];                                    // row and column of the cell that Tab leads to
    this.selected = null;
    this.sentAt = null;
    this.grid.addEventListener("keydown", (event) => this.pressed(event));
    this.grid.addEventListener("click", (event) => this.clicked(event));
    this.grid.addEventListener("focusin", (event) => this.focused(event));
    this.grid.addEventListener("pointerover", (event) => this.light(event.target.closest(".cell")));
    this.grid.addEventListener("pointerleave", () => this.light(null));
  }

  // -- data from Python --------------------------------------------------------------------------

  update(component) {
    this.component = component;
    const { rows, locked, selected, selected_at, answered } = this.data = component.data;
    const besides = [TOOLS, -2, -1].filter((read) => this.data[BESIDES[read].flag]);
    if (this.request?.at === answered) this.settle();
    const shape = `${rows.length} ${besides}`;
    if (shape !== this.shape) this.build(rows.length, besides);
    this.shape = shape;
    this.root.classList.toggle("locked", locked !== null);
    if ((selected_at ?? null) === this.sentAt && this.choice === null && selected !== this.selected) {
      this.selected = selected;
      if (selected !== null && !this.cells[selected]?.[0].matches(":focus")) this.reveal(selected);
    }
    this.paint();
  }

  build(count, besides) {
    const reads = this.columns = [...besides, ...Array(count).keys()];
    const hasFocus = this.root.getRootNode().activeElement?.closest?.(".grid") === this.grid;
    this.place = [bounded(this.place[0], count - 1), bounded(this.place[1], reads.length - 1)];
    this.wishes.clear();
    this.request = null;
    const head = (kind, text) => element("div", { class: kind, role: "columnheader" }, text);
    this.heads = reads.map((read) => (BESIDES[read] ? head("head beside", BESIDES[read].head) : head("head", String(read + 1))));
    const corner = head("name", "Reader, and what it may read");
    const heads = element("div", { class: "row heads", role: "row" }, corner, ...this.heads);
    this.cells = [];
    this.rows = Array.from({ length: count }, (_, reader) => this.row(reader));
    this.grid.setAttribute("aria-rowcount", count + 1);
    this.grid.setAttribute("aria-colcount", reads.length + 1);
    this.grid.replaceChildren(heads, ...this.rows);
    if (hasFocus) this.cell().focus({ preventScroll: true });
  }

  row(reader) {
    const parts = [element("div", "title"), element("div", "how")];
    const name = element("div", { class: "name", role: "rowheader" }, ...parts);
    const boxes = this.columns.map((read) => {
      const seen = BESIDES[read] ? `${read === TOOLS ? "call" : "see"} ${BESIDES[read].seen}` : `read step ${read + 1}`;
      const label = `Step ${reader + 1} may ${seen}`;
      const box = element("div", { class: "box", role: "checkbox", "aria-label": label }, icon(TICK));
      box.classList.toggle("never", read >= reader);
      box.classList.toggle("self", read === reader);
      return Object.assign(box, { reader, read });
    });
    this.cells.push(boxes);
    const cells = boxes.map((box) =>
      element("div", { class: BESIDES[box.read] ? "cell beside" : "cell", role: "gridcell" }, box));
    return element("div", { class: reader ? "row" : "row first", role: "row" }, name, ...cells);
  }

  paint() {
    const { rows } = this.data;
    rows.forEach((row, reader) => {
      const line = this.rows[reader];
      line.toggleAttribute("data-selected", reader === this.selected);
      this.describe(line.firstChild, row, reader);
      for (const box of this.cells[reader]) this.paintBox(box, row);
    });
    this.heads.forEach((head, at) => {
      const read = this.columns[at];
      head.title = BESIDES[read]?.title ?? rows[read].name;
    });
    this.rove();
  }

  describe(name, { name: step, worker, mark, written, means, edited }, reader) {
    const [first, how] = name.children;
    // The number stands left of the title, also of one that is written from right to left.
    const number = `${reader + 1}. `;
    first.replaceChildren(workerMark(mark), number, element("span", { dir: "auto" }, step.slice(number.length)));
    const now = edited ? [element("span", "edited", "edited"), `, reads ${means}`] : [`means ${means}`];
    if (written === null) how.replaceChildren(`reads ${means}`);
    else how.replaceChildren(element("code", {}, written), " ", ...now);
    name.title = `${step}\n${worker}\n${how.textContent}`;
  }

  paintBox(box, row) {
    const reason = this.reason(box);
    const wished = this.wishes.get(keyOf(box));
    box.setAttribute("aria-checked", String(wished ?? this.allowed(box, row)));
    box.toggleAttribute("aria-busy", false);
    if (wished !== undefined) box.setAttribute("aria-busy", "true");
    if (reason === null) box.removeAttribute("aria-disabled");
    else box.setAttribute("aria-disabled", "true");
    if (box.read === TOOLS) box.classList.toggle("never", !row.has.length && !row.tools?.length);
    const named = box.read === TOOLS ? (row.tools ?? row.has).join(", ") : "";
    box.title = reason ?? `${box.getAttribute("aria-label")}${named && `: ${named}`}`;
  }

  // "mixed": some of its worker's tools.
  allowed(box, row) {
    if (box.read === TOOLS) return row.tools ? row.tools.length > 0 && "mixed" : row.has.length > 0;
    return BESIDES[box.read] ? row[BESIDES[box.read].flag] : row.reads.includes(box.read);
  }

  // Why a cell cannot be changed; null where it can.
  reason({ reader, read }) {
    const { has, tools } = this.data.rows[reader];
    if (read === TOOLS && !has.length && !tools?.length) return `The worker of step ${reader + 1} has no tools`;
    if (read === reader) return `Step ${reader + 1} cannot read itself`;
    if (read > reader) return `Step ${reader + 1} comes before step ${read + 1} and cannot read it`;
    return this.data.locked;
  }

  // -- where the focus is --------------------------------------------------------------------------

  cell() { return this.cells[this.place[0]][this.place[1]]; }

  rove() {
    const own = this.cell();
    for (const box of this.cells.flat()) box.tabIndex = box === own ? 0 : -1;
  }

  go(row, column) {
    this.place = [bounded(row, this.cells.length - 1), bounded(column, this.columns.length - 1)];
    this.rove();
    this.cell().focus();
  }

  pressed(event) {
    if (event.altKey || event.metaKey || event.shiftKey) return;
    const [row, column] = this.place, last = this.columns.length - 1, page = 5;
    const whole = event.ctrlKey;
    const keys = {
      ArrowUp: () => this.go(row - 1, column), ArrowDown: () => this.go(row + 1, column),
      ArrowLeft: () => this.go(row, column - 1), ArrowRight: () => this.go(row, column + 1),
      PageUp: () => this.go(row - page, column), PageDown: () => this.go(row + page, column),
      Home: () => this.go(whole ? 0 : row, 0), End: () => this.go(whole ? this.cells.length - 1 : row, last),
      " ": () => event.repeat || this.toggle(this.cell()), Enter: () => event.repeat || this.toggle(this.cell()),
    };
    if (!keys[event.key] || (whole && !["Home", "End"].includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  clicked({ target }) {
    const box = target.closest(".cell")?.firstChild;
    if (box) {
      this.place = [box.reader, this.columns.indexOf(box.read)];
      this.rove();
      box.focus({ preventScroll: true });
      this.toggle(box);
      return;
    }
    const row = this.rows.indexOf(target.closest(".row"));
    if (row >= 0) this.select(row);
  }

  focused({ target }) {
    if (target.reader === undefined) return;
    this.place = [target.reader, this.columns.indexOf(target.read)];
    this.rove();
    this.light(target.parentElement);
    const reason = this.reason(target);
    this.announce(reason ?? "");
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.select(target.reader), RESTS);
  }

  // The row and the column of a cell, so that the eye finds both names.
  light(cell) {
    const at = cell ? this.columns.indexOf(cell.firstChild.read) : -1;
    this.heads.forEach((head, column) => head.classList.toggle("lit", column === at));
    this.cells.forEach((boxes) => boxes.forEach((box, column) => box.parentElement.classList.toggle("lit", column === at)));
  }

  reveal(reader) {
    const { offsetTop, offsetHeight } = this.rows[reader] ?? {};
    if (offsetTop === undefined) return;
    const top = this.frame.scrollTop, head = 28, height = this.frame.clientHeight;
    if (offsetTop - this.grid.offsetTop < top + head) this.frame.scrollTop = offsetTop - this.grid.offsetTop - head;
    else if (offsetTop - this.grid.offsetTop + offsetHeight > top + height) {
      this.frame.scrollTop = offsetTop - this.grid.offsetTop + offsetHeight - height;
    }
    this.revealReads(reader);
  }

  // The last step that it may read: what it does read is mostly near.
  revealReads(reader) {
    const cell = this.cells[reader].find((box) => box.read === reader - 1)?.parentElement;
    if (!cell) return;
    const end = cell.offsetLeft - this.grid.offsetLeft + cell.offsetWidth + 8;
    if (end > this.frame.scrollLeft + this.frame.clientWidth) this.frame.scrollLeft = end - this.frame.clientWidth;
  }

  // -- requests to Python -----------------------------------------------------------------------------

  select(step) {
    clearTimeout(this.resting);
    if (step === this.selected) return;
    this.selected = this.choice = step;
    this.paint();
    this.send();
  }

  toggle(box) {
    const reason = this.reason(box);
    if (reason !== null) return this.announce(reason);
    const sees = box.getAttribute("aria-checked") !== "true";
    this.wishes.set(keyOf(box), sees);
    this.paintBox(box, this.data.rows[box.reader]);
    const seen = BESIDES[box.read]?.seen ?? `step ${box.read + 1}`;
    const [does, not] = DOES[box.read] ?? ["reads", "no longer reads"];
    this.announce(`Step ${box.reader + 1} ${sees ? does : not} ${seen}`);
    this.send();
  }

  // All that is wished by now, in one message; the selection goes after it.
  send() {
    clearTimeout(this.later);
    if (!this.wishes.size && this.choice === null) return;
    if (this.request || drawing()) {
      if (this.request && Date.now() > this.request.at + PATIENCE) this.settle();
      this.later = setTimeout(() => this.send(), LOOKS);
      return;
    }
    const at = this.sentLast = Math.max(Date.now(), (this.sentLast ?? 0) + 1);
    if (!this.wishes.size) {
      this.sentAt = at;
      this.component.setStateValue("selected", { step: this.choice, at });
      this.choice = null;
      return;
    }
    this.request = { at, wishes: new Map(this.wishes) };
    const wishes = [...this.wishes].map(([place, sees]) => {
      const [reader, read] = place.split(",").map(Number);
      return { reader, read, sees };
    });
    this.component.setTriggerValue("edit", { wishes, at, revision: this.data.revision });
    this.send();
  }

  // The request was handled; later wishes are sent next.
  settle() {
    for (const [place, sees] of this.request?.wishes ?? []) if (this.wishes.get(place) === sees) this.wishes.delete(place);
    this.request = null;
    this.paint();
  }

  destroy() {
    clearTimeout(this.later);
    clearTimeout(this.resting);
  }

  announce(text) { if (this.status.textContent !== text) this.status.textContent = text; }
}

const keyOf = ({ reader, read }) => `${reader},${read}`;

export default mounted(".access", (root) => new AccessGrid(root));
