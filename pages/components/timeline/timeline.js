// A run by time on the page: rows with bars, the axis above them, the player of a run that is over.

import { element, mounted, workerMark } from "../streamlit_patches/shared.js";
import { roomFor, ticksOf } from "./axis.js";
import { Player } from "./player.js";
import { Rows, fillTable, share } from "./rows.js";

class Timeline {
  constructor(root) {
    this.root = root;
    this.axis = root.querySelector(".axis");
    this.over = root.querySelector(".over");
    this.span = 1;
    this.tip = root.querySelector(".tip");
    this.knob = this.axis.appendChild(element("div", "knob"));
    this.head = this.over.appendChild(element("div", "head"));
    this.listeners = new AbortController();
    this.rows = new Rows(root, (choice) => this.component.setStateValue("selected", choice), () => this.open());
    this.player = new Player(root, (position) => this.drawMoment(position));
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(root);
    this.listen(root.querySelector(".body"));
    root.__timeline = this;
  }

  listen(body) {
    const { signal } = this.listeners;
    body.addEventListener("pointermove", (event) => this.showTip(event), { signal });
    body.addEventListener("pointerleave", () => (this.tip.hidden = true), { signal });
    this.axis.addEventListener("pointerdown", (event) => this.scrub(event), { signal });
    this.axis.addEventListener("pointermove", (event) => this.axis.hasPointerCapture(event.pointerId) && this.scrubTo(event), { signal });
  }

  update(component) {
    const { data } = this.component = component;
    this.span = data.live ? roomFor(data.seconds) : Math.max(data.seconds, 1e-6);
    this.rows.show(data, this.span);
    this.drawAxis();
    this.player.update(component);
    this.root.classList.toggle("presented", data.presented);
    this.player.listen(data.presented);
    fillTable(this.root.querySelector(".table"), data.rows);
    this.drawLegend(data);
  }

  // Enter moves the focus to the selected step's fields, wherever they are on the page.
  open() { document.querySelector(`.st-key-${this.component.data.inspector} :is(input, textarea)`)?.focus(); }

  scrub(event) {
    if (!this.component.data.replayable || event.button) return;
    this.axis.setPointerCapture(event.pointerId);
    this.scrubTo(event);
  }

  scrubTo({ clientX }) {
    const { left, width } = this.axis.getBoundingClientRect();
    this.player.seek(((clientX - left) / width) * this.span);
  }

  // -- drawing -----------------------------------------------------------------------------------

  resized() {
    const names = Math.min(270, Math.max(130, this.root.clientWidth * 0.27));
    this.root.style.setProperty("--names", `${Math.round(names)}px`);
    this.player.place();
    if (this.component) this.drawAxis();
  }

  drawAxis() {
    const width = this.axis.clientWidth;
    if (!width) return;
    const ticks = ticksOf(this.span, this.component.data.unit, width);
    const signature = JSON.stringify(ticks);
    if (signature === this.ticks) return;
    this.ticks = signature;
    this.axis.querySelectorAll(".tick").forEach((tick) => tick.remove());
    this.over.querySelectorAll(".line").forEach((line) => line.remove());
    for (const [seconds, label] of ticks) {
      const tick = element("span", "tick", label), line = element("div", "line");
      tick.style.left = line.style.left = share(seconds / this.span);
      this.axis.append(tick);
      this.over.append(line);
    }
  }

  // `position` is where the replay stands, or null without one.
  drawMoment(position) {
    const at = position === null ? "" : share(position / this.span);
    this.root.style.setProperty("--head", at);
    for (const part of [this.knob, this.head]) {
      part.style.display = at ? "" : "none";
      part.style.left = at;
    }
  }

  showTip({ target, clientX, clientY }) {
    const box = target.closest?.(".row"), row = box && this.component.data.rows[[...box.parentNode.children].indexOf(box)];
    this.tip.hidden = !row;
    if (!row) return;
    const call = row.calls[target.dataset.call];
    this.tip.replaceChildren(element("b", {}, row.name), element("span", {}, ...row.marks.map((mark) => workerMark(mark)), ` ${row.worker}`),
      ...(call ? [call.words] : row.details).map((line) => element("span", {}, line)));
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    this.tip.style.left = `${Math.max(8, Math.min(clientX + 14, innerWidth - width - 8))}px`;
    this.tip.style.top = `${clientY + 18 + height < innerHeight ? clientY + 18 : clientY - height - 10}px`;
  }

  // What occurs, and only that.
  drawLegend({ rows, path }) {
    const sample = (inside, around = {}) => element("i", around, inside);
    const bar = element("div", "bar", element("div", { class: "silence", style: "width: 60%" }));
    const failed = element("div", { class: "bar", "data-end": "failed" });
    const entries = [
      [path.length, sample(element("div", "bar"), "critical"), "Critical path"],
      [rows.some((row) => row.first !== null), sample(bar), "Before the first word"],
      [rows.some((row) => row.retries.length), sample(element("div", "retry")), "Retry"],
      [rows.some((row) => row.lanes), sample(element("div", "call")), "Request"],
      [rows.some((row) => row.lanes), sample(element("div", "call tool")), "Tool call"],
      [rows.some(({ calls }) => calls.some((call) => call.failed)), sample(element("div", "call failed")), "Error"],
      [rows.some((row) => row.start !== null && !row.called), sample(element("div", "mark")), "No call needed"],
      [rows.some((row) => row.status === "failed"), sample(failed), "Failed"],
    ];
    const samples = entries.filter(([occurs]) => occurs).map(([, box, text]) => element("span", {}, box, text));
    this.root.querySelector(".legend").replaceChildren(...samples);
  }

  destroy() {
    this.knob.remove();
    this.head.remove();
    this.listeners.abort();
    this.observer.disconnect();
    this.player.destroy();
  }
}

export default mounted(".timeline", (root) => new Timeline(root));
