// One row a step: its name, its bar on the run's time, its label. Texts go into text nodes only.

import { element, markOption, unseen, workerMark } from "../streamlit_patches/shared.js";

export const share = (value) => `${(value * 100).toFixed(4)}%`;

const CUT = ["cancelled", "interrupted"];
let lists = 0;

export class Rows {
  constructor(root, chosen, opened) {
    this.list = root.querySelector(".rows");
    this.ways = root.querySelector(".ways");
    this.chosen = chosen;
    this.prefix = `timeline-${++lists}-`;
    this.list.addEventListener("click", ({ target }) => {
      const row = target.closest(".row");
      if (row) this.choose([...this.list.children].indexOf(row));
    });
    this.list.addEventListener("keydown", (event) => {
      const last = this.rows.length - 1, at = this.selected ?? -1;
      const to = { ArrowDown: Math.min(last, at + 1), ArrowUp: Math.max(0, at - 1), Home: 0, End: last }[event.key];
      if (to !== undefined) this.choose(to);
      else if (event.key === "Enter") opened();
      else return;
      event.preventDefault();
    });
  }

  choose(step) {
    if (!this.choosing || step === this.selected) return;
    this.select(step);
    this.list.children[step].scrollIntoView({ block: "nearest" });
    this.sent = Date.now();
    this.chosen({ step, at: this.sent });
  }

  show(data, span) {
    this.rows = data.rows;
    this.choosing = data.choosing;
    this.list.classList.toggle("choosing", data.choosing);
    const signature = JSON.stringify([data.rows, span]);
    if (signature !== this.signature) {
      this.signature = signature;
      this.list.replaceChildren(...data.rows.map((row, at) => this.rowOf(row, at, data, span)));
      this.drawWay(data, span);
    }
    // An answer to an earlier choice must not undo a newer one.
    const answered = this.sent === undefined || this.sent === data.selected_at;
    const selected = answered ? data.selected : this.selected;
    this.select(data.choosing && selected !== null && selected < this.rows.length ? selected : null);
  }

  select(step) {
    this.selected = step;
    markOption(this.list, this.list.children, step);
  }

  rowOf(row, at, data, span) {
    const bars = row.start === null ? [] : row.called ? this.bar(row, data.seconds, span) : [this.mark(row, span)];
    bars.push(...row.calls.map((call, i) => this.call(call, i, span)));
    const box = element("div", { class: "row", id: this.prefix + at, role: "option" },
      this.name(row, at), element("div", "lane", ...bars), element("div", "label", row.label),
      unseen([row.worker, ...row.details].join(", ")));
    box.style.setProperty("--lanes", row.lanes);
    box.classList.toggle("critical", row.critical);
    box.classList.toggle("quiet", row.start === null);
    return box;
  }

  // A step's number stands left of the title, also of one that is written from right to left.
  name(row, at) {
    const number = row.name.startsWith(`${at + 1}. `) ? `${at + 1}. ` : "", title = row.name.slice(number.length);
    const marks = row.marks.map((mark) => workerMark(mark)), words = [element("span", {}, number), element("span", { class: "title", dir: "auto" }, title)];
    // Those of several workers give way to the name.
    return element("div", "name", ...(marks.length > 1 ? [...words, element("span", "team", ...marks)] : [...marks, ...words]));
  }

  bar(row, seconds, span) {
    const end = row.end ?? seconds, length = Math.max(0, end - row.start);
    const bar = element("div", "bar");
    if (row.marks.length === 1) bar.style.setProperty("--worker", row.marks[0].hue);
    bar.style.left = share(row.start / span);
    bar.style.width = share(length / span);
    if (row.status === "failed") bar.dataset.end = "failed";
    else if (row.status === "refused") bar.dataset.end = "refused";
    else if (CUT.includes(row.status)) bar.dataset.end = "cut";
    else if (row.end === null) bar.dataset.end = "open";
    if (row.first !== null && length > 0) {
      const silence = element("div", "silence");
      silence.style.width = share((row.first - row.start) / length);
      bar.append(silence);
    }
    return [bar, ...row.retries.map((at) => {
      const retry = element("div", "retry");
      retry.style.left = share(at / span);
      return retry;
    })];
  }

  // A request or a call of a tool, below the bar of its step.
  call({ tool, failed, lane, start, end }, at, span) {
    const call = element("div", { class: "call", "data-call": at });
    call.classList.toggle("tool", tool);
    call.classList.toggle("failed", failed);
    call.style.setProperty("--lane", lane);
    call.style.left = share(start / span);
    call.style.width = share(Math.max(0, end - start) / span);
    return call;
  }

  mark(row, span) {
    const mark = element("div", "mark");
    mark.style.left = share(row.start / span);
    return mark;
  }

  // From the end of each step of the critical path down (or up) to the one that waited for it.
  drawWay({ rows, path }, span) {
    this.ways.replaceChildren(...path.slice(1).map((step, i) => {
      const from = path[i], way = element("div", "way");
      way.style.left = share(rows[step].start / span);
      const [above, below] = [Math.min(from, step), Math.max(from, step)];
      const lanes = (own) => own.reduce((sum, row) => sum + row.lanes, 0);
      way.style.top = `calc(var(--row) * ${above + 0.5} + var(--nested) * ${lanes(rows.slice(0, above))})`;
      way.style.height = `calc(var(--row) * ${below - above} + var(--nested) * ${lanes(rows.slice(above, below))})`;
      return way;
    }));
  }
}

const HEADINGS = ["Step", "Worker", "State", "Began", "Ended", "Took", "Details"];

export function fillTable(table, rows) {
  const line = (cells, name) => element("tr", {}, ...cells.map((text) => element(name, {}, text)));
  const body = rows.map((row) => line([row.name, row.worker, row.state, ...row.times, row.details.concat(row.calls.map((call) => call.words)).join(". ")], "td"));
  const head = element("thead", {}, line(HEADINGS, "th"));
  table.replaceChildren(element("caption", {}, "Steps by time"), head, element("tbody", {}, ...body));
}
