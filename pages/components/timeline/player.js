// The player of a run that is over: the position of its replay, and the requests to Python.
//
// The position advances here by the browser's clock; Python computes it for the rest of the page from the
// moment of the request. Each request has a mark: an answer to an earlier one changes nothing here.

import { element, fillScreen, icon } from "../streamlit_patches/shared.js";

const ICONS = {
  play: "M8 5v14l11-7z",
  pause: "M6 19h4V5H6zm8-14v14h4V5z",
  back: "M6 6h2v12H6zm3.5 6 8.5 6V6z",
  forth: "M6 18l8.5-6L6 6zM16 6v12h2V6z",
  end: "M5.6 7.4 10.2 12l-4.6 4.6L7 18l6-6-6-6zM16 6h2v12h-2z",
};
const BETWEEN_WISHES = 150;                                // milliseconds
const steady = window.matchMedia("(prefers-reduced-motion: reduce)");

// The page's keys before an audience: whatever has the focus, they move the player.
const KEYS = {
  " ": (player) => player.press(player.button("play")),
  ArrowLeft: (player) => player.press(player.button("back")),
  ArrowRight: (player) => player.press(player.button("forth")),
  Home: (player) => player.seek(player.moments[0] ?? 0),
  End: (player) => player.end(),
};

// The player's position at its last message: a component that is mounted again continues from there.
let standing = {};

export class Player {
  constructor(root, moved) {
    this.root = root;
    this.box = root.querySelector(".player");
    this.hole = root.querySelector(".place");
    this.range = root.querySelector(".position");
    this.speeds = root.querySelector(".speeds");
    this.moved = moved;
    this.on = this.playing = false;
    this.position = this.since = 0;
    this.moments = [];
    /** @type {any} */
    this.timer = null;
    for (const name of ["back", "forth", "end"]) this.button(name).replaceChildren(icon(ICONS[name]));
    this.box.addEventListener("click", ({ target }) => this.press(target.closest("button")));
    this.range.addEventListener("input", () => this.seek(Number(this.range.value)));
    this.speeds.addEventListener("keydown", (event) => this.otherSpeed(event));
    this.watch = new IntersectionObserver(() => this.place());
    this.watch.observe(this.hole);
    this.pressed = (event) => this.key(event);
  }

  // Scrolling up to the graph during a replay takes the player along.
  place() {
    const { left, width, top, bottom } = this.hole.getBoundingClientRect();
    const floats = this.on && (bottom < 0 || top > innerHeight);
    // Its room stays, so that nothing moves below it.
    this.hole.style.height = floats ? `${bottom - top}px` : "";
    this.box.classList.toggle("floating", floats);
    this.box.style.left = floats ? `${left}px` : "";
    this.box.style.width = floats ? `${width}px` : "";
  }

  button(name) { return this.root.querySelector(`[data-do=${name}]`); }

  // -- data from Python --------------------------------------------------------------------------

  update(component) {
    const { data } = this.component = component;
    this.box.hidden = this.hole.hidden = !data.replayable;
    this.root.classList.toggle("replayable", data.replayable);
    // How long a run took is known when it is over.
    if (!this.replayable) this.speed = data.first_speed;
    this.replayable = data.replayable;
    if (data.run !== this.run) {
      this.run = data.run;
      this.speed = data.first_speed;
      this.sent = undefined;
      this.on = this.playing = false;
    }
    this.seconds = data.seconds;
    this.moments = momentsOf(data);
    this.offerSpeeds(data.speeds);
    if (this.sent === undefined) this.sent = this.standingMark(data);
    if (this.sent === undefined) this.obey(data.replay);
    // Whatever was asked here is known there by now: it can only have ended since.
    else if (this.sent === data.mark && this.on && !data.replay) this.obey(null);
    this.draw();
    this.go();
  }

  // A position that another mount sent and Python received is exact here; Python's own estimate was on its way.
  standingMark({ mark, replay }) {
    if (!mark || standing.mark !== mark || !replay) return undefined;
    Object.assign(this, standing.state);
    return mark;
  }

  obey(replay) {
    this.on = replay !== null;
    this.playing = this.on && replay.playing;
    if (!this.on) return;
    this.speed = replay.speed;
    this.position = replay.position;
    this.since = performance.now();
  }

  listen(isOn) {
    // Before anything on the page gets them.
    if (isOn) window.addEventListener("keydown", this.pressed, true);
    else window.removeEventListener("keydown", this.pressed, true);
  }

  // -- what the person does ----------------------------------------------------------------------

  press(button) {
    switch (button?.dataset.do) {
      case "play": return this.playing ? this.pause() : this.play();
      case "back": return this.seek(this.moments.findLast((at) => at < this.now() - 1e-9) ?? 0);
      case "forth": return this.seek(this.moments.find((at) => at > this.now() + 1e-9) ?? this.seconds);
      case "end": return this.end();
    }
    if (button?.dataset.speed) this.setSpeed(Number(button.dataset.speed));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.key.toLowerCase() === "f") fillScreen(document.documentElement);
    else if (!KEYS[event.key]) return;
    else if (this.component.data.replayable) KEYS[event.key](this);
    event.preventDefault();
    event.stopPropagation();
  }

  now() {
    if (!this.on) return this.seconds;
    const passed = this.playing ? (performance.now() - this.since) / 1000 : 0;
    return Math.min(this.seconds, this.position + passed * this.speed);
  }

  play() {
    this.stand(this.on ? this.now() : 0);
    this.playing = true;
    this.request();
    this.go();
  }

  pause() {
    this.stand(this.now());
    this.playing = false;
    this.request();
  }

  // Where to go is looked at, so it stands still there.
  seek(position) {
    if (position >= this.seconds) return this.end();
    this.stand(Math.max(0, position));
    this.playing = false;
    this.request();
  }

  stand(position) {
    this.on = true;
    this.position = position;
    this.since = performance.now();
  }

  setSpeed(speed) {
    if (this.on) this.stand(this.now());
    this.speed = speed;
    if (this.on) this.request();
    else this.draw();
  }

  otherSpeed(event) {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const offered = this.component.data.speeds, at = offered.indexOf(this.speed) + by;
    if (!offered[at]) return;
    this.setSpeed(offered[at]);
    this.speeds.children[at].focus();
  }

  end() {
    if (!this.on) return;
    const leaving = this.root.getRootNode().activeElement?.matches("[data-do=end], [data-do=forth]");
    this.on = this.playing = false;
    this.request();
    if (leaving) this.button("play").focus();
  }

  // At once, but not more often than a page can be drawn; the last wish always counts.
  request() {
    this.draw();
    this.wished = true;
    if (this.timer) return;
    this.send();
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.wished) this.send();
    }, BETWEEN_WISHES);
  }

  send() {
    this.wished = false;
    this.sent = `${Date.now()}-${Math.random()}`;
    const moment = this.on ? { position: this.now(), playing: this.playing, speed: this.speed } : {};
    const { on, playing, position, since, speed } = this;
    standing = { mark: this.sent, state: { on, playing, position, since, speed } };
    this.component.setTriggerValue("replay", { ...moment, mark: this.sent });
  }

  // -- drawing -----------------------------------------------------------------------------------

  go() {
    if (this.frame || !this.playing) return;
    const again = () => {
      this.frame = null;
      if (!this.playing) return;
      if (this.now() >= this.seconds) return this.end();
      this.draw();
      this.next(again);
    };
    this.next(again);
  }

  next(again) {
    this.frame = steady.matches ? setTimeout(again, 250) : requestAnimationFrame(again);
  }

  draw() {
    const { unit } = this.component.data, now = this.now();
    const written = (seconds) => (seconds / unit.seconds).toFixed(unit.digits);
    const words = this.on ? `${written(now)} of ${written(this.seconds)} ${unit.name}` : `${written(this.seconds)} ${unit.name}`;
    this.root.classList.toggle("replaying", this.on);
    this.place();
    this.root.querySelector(".moment").textContent = words;
    this.range.max = this.seconds;
    this.range.step = this.seconds / 400 || "any";
    if (Number(this.range.value) !== now) this.range.value = now;
    this.range.setAttribute("aria-valuetext", words);
    this.drawPlay();
    this.button("forth").disabled = this.button("end").disabled = !this.on;
    for (const button of this.speeds.children) {
      const chosen = Number(button.dataset.speed) === this.speed;
      button.setAttribute("aria-checked", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
    this.moved(this.on ? now : null);
  }

  drawPlay() {
    const name = this.playing ? "pause" : "play", button = this.button("play");
    if (button.dataset.shows === name) return;
    button.dataset.shows = name;
    button.replaceChildren(icon(ICONS[name]));
    button.setAttribute("aria-label", this.playing ? "Pause" : "Replay");
    button.title = this.playing ? "Pause" : "Replay the run";
  }

  offerSpeeds(speeds) {
    if (this.speeds.children.length === speeds.length) return;
    this.speeds.replaceChildren(...speeds.map((speed) =>
      element("button", { type: "button", role: "radio", "data-speed": speed }, `${speed}x`)));
  }

  destroy() {
    clearTimeout(this.timer);
    this.watch.disconnect();
    this.listen(false);
    this.playing = false;
  }
}

// The moments at which something began, ended or was asked again, in order; of what comes in one go the last.
function momentsOf({ rows, moments: others, seconds }) {
  const all = others.concat(rows.flatMap(({ start, first, end, retries, calls }) =>
    [start, first, end, ...retries, ...calls.flatMap((call) => [call.start, call.end])]));
  const moments = [0, ...all.filter((at) => at !== null && at < seconds), seconds].sort((a, b) => a - b);
  return moments.slice(0, -1).filter((at, i) => moments[i + 1] - at >= seconds / 500);
}
