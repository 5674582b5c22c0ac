// Asks the server whether the page still shows what is there, and draws it again where it does not; while a run
// moves, has it draw what follows that, with the content of the reading pane that is seen (its name in tabs.js).
//
// Only while the page is looked at and nothing is being drawn. A person who types, drags or chooses is not interrupted:
// what was typed in a field is sent when it is left, and the page is drawn after that. The query is no part of
// what others change, so typing there holds up nothing.

import { connected, drawing, mounted } from "../../streamlit_patches/shared.js";

// Milliseconds until the same change is reported again, or another one of the list of recent sessions: where many work,
// it changes all the time.
const AGAIN = 5000;
// Streamlit sends what is set within one task for one fragment alone, and the press that chose what is read may have
// set something in another.
const AFTER_A_PRESS = 50;
const FAILED = 5000;                                        // and until a server that did not answer is called again
const OWN = ".st-key-query";
const NEWS = "This session has changed. The page updates when you leave the field.";

/** @type {HTMLElement | null} */
let typed = null;                                           // the field in which a person has typed
let held = false;                                           // whether a pointer is down, as in a drag

function listen() {
  document.addEventListener("input", (/** @type {any} */ { target }) => {
    if (target.matches?.("textarea, input:not([type=checkbox], [type=radio], [type=file])") && !target.closest(OWN)) typed = target;
  }, true);
  document.addEventListener("pointerdown", () => { held = true; }, true);
  for (const end of ["pointerup", "pointercancel", "dragend"]) document.addEventListener(end, () => { held = false; }, true);
}

listen();

const typing = () => typed !== null && typed.isConnected && typed === document.activeElement;

const choosing = () => held || Boolean(document.activeElement?.matches('[role="combobox"][aria-expanded="true"]'));

const settled = () => connected() && !drawing();

class Watcher {
  constructor(note) {
    this.note = note;
    this.reported = { mark: "", at: 0 };
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("visibilitychange", () => {
      this.tick();
      // The next one is due a whole while later, not by the clock that went on while the page was hidden.
      this.ticking(this.component.data.tick);
    }, { signal });
    window.addEventListener("conductor-reads", () => setTimeout(() => this.tick(), AFTER_A_PRESS), { signal });
  }

  update(component) {
    this.component = component;
    this.show(false);
    this.wait(component.data.every);
    this.ticking(component.data.tick);
  }

  ticking(every) {
    clearInterval(this.ticks);
    if (every) this.ticks = setInterval(() => this.tick(), every);
  }

  // None while the last one is drawn: a busy server is asked less often.
  tick() {
    if (!this.component.data.tick || document.hidden || !settled()) return;
    this.component.setTriggerValue("tick", document.documentElement.dataset.reads ?? "answer");
  }

  wait(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), milliseconds);
  }

  destroy() {
    clearTimeout(this.timer);
    clearInterval(this.ticks);
    this.listeners.abort();
  }

  async ask() {
    const { component } = this, { data } = component;
    let next = data.every;
    if (!document.hidden && settled()) {
      const now = await answer(data);
      if (now === null) next = FAILED;
      else if (component === this.component) this.compare(data, now);
    }
    // A newer component sends its own requests.
    if (component === this.component) this.wait(next);
  }

  compare(data, now) {
    const what = now.session !== data.session ? "session" : now.recent !== data.recent ? "recent" : null;
    this.show(what === "session" && typing());
    if (what === null || typing() || choosing()) return;
    const mark = `${what} ${now[what]}`;
    if ((what === "recent" || mark === this.reported.mark) && performance.now() - this.reported.at < AGAIN) return;
    this.reported = { mark, at: performance.now() };
    this.component.setTriggerValue("changed", what);
  }

  show(news) {
    if (this.note.hidden === !news) return;
    this.note.hidden = !news;
    this.note.textContent = news ? NEWS : "";
  }
}

// The current marks; null where the server does not send them.
async function answer({ url, of }) {
  try {
    const response = await fetch(of ? `${url}?session=${encodeURIComponent(of)}` : url, { cache: "no-store" });
    // The view-only link by which the page was opened was revoked: its document shows that.
    if (response.status === 401 && new URLSearchParams(location.search).has("view")) location.reload();
    const now = response.ok ? await response.json() : {};
    return "session" in now ? now : null;
  } catch {
    return null;
  }
}

export default mounted(".changed-elsewhere", (note) => new Watcher(note));
