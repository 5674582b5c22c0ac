// Watches the connection to the server. Elements' scripts are loaded while there is one and nothing else to do.

import { connected, drawing, mounted } from "./shared.js";

const REDRAWN_WITHIN = 5000;                                // milliseconds for which a press waits at most
const AWAY_AFTER = 1500;                                    // milliseconds until the page shows it
const AWAY = "The server does not answer. Finished steps are stored; this page reconnects automatically.";
const ENDED = "Your login has ended. Finished steps are stored; reload this page to log in.";

const idle = () => new Promise((free) => (window.requestIdleCallback ?? setTimeout)(free));

let loading = false;

// A script that cannot be loaded now is left to the element that needs it.
async function load(scripts) {
  const main = document.querySelector('script[type="module"][src*="/static/js/index."]');
  if (loading || !main) return;
  loading = true;
  for (const script of scripts) {
    await idle();
    await import(new URL(script, main.src).href).catch(() => {});
  }
  document.documentElement.dataset.scriptsLoaded = "";
}

// Streamlit's own dialog would cover the page; closed once, it stays closed until the next time.
function closeDialog() {
  const dialogs = [...document.querySelectorAll('[role="dialog"]')];
  const own = dialogs.find(({ textContent }) => textContent.startsWith("Connection error"));
  own?.querySelector('button[aria-label="Close"]')?.click();
}

// React asks once for an element's script. Where the server went away meanwhile, an error stays in its place.
const incomplete = () => [...document.querySelectorAll('[role="alert"]')]
  .some(({ textContent }) => textContent.includes("Failed to fetch dynamically imported module"));

class Connection {
  constructor(line) {
    this.line = line;
    this.lost = false;
    this.redraw = "";
    this.observer = new MutationObserver(() => this.look());
    this.observer.observe(document.body, {
      subtree: true, childList: true, attributeFilter: ["data-test-connection-state", "data-test-script-state"],
    });
    this.hold = (click) => this.holdPress(click);
    document.addEventListener("click", this.hold, true);
  }

  update(component) {
    this.component = component;
    load(component.data.scripts);
  }

  look() {
    if (!connected()) {
      this.lost = true;
      clearTimeout(this.waiting);
      this.redraw = "";
      this.press = null;
      this.timer ??= setTimeout(() => this.explain(), AWAY_AFTER);
      closeDialog();
    } else if (this.lost) {
      this.lost = false;
      clearTimeout(this.timer);
      this.timer = null;
      this.show("");
      // It may be another process by now, which knows this page only from what the page sends.
      if (incomplete()) location.reload();
      else {
        this.redraw = "requested";
        this.waiting = setTimeout(() => this.release(), REDRAWN_WITHIN);
        this.component.setTriggerValue("back", true);
      }
    } else if (this.redraw === "requested" && drawing()) {
      this.redraw = "under way";
    } else if (this.redraw === "under way" && !drawing()) {
      this.release();
    }
  }

  // The press goes on, to the same button.
  release() {
    clearTimeout(this.waiting);
    this.redraw = "";
    const { button, name } = this.press ?? {};
    this.press = null;
    if (button?.isConnected && button.textContent === name) button.click();
  }

  // Another process calls nothing for a button that it has not drawn yet: it gets the press after that.
  holdPress(click) {
    const button = this.redraw && click.target.closest?.('[data-testid="stApp"] button');
    if (!button) return;
    click.stopImmediatePropagation();
    click.preventDefault();
    this.press = { button, name: button.textContent };
  }

  async explain() {
    this.show(AWAY);
    const answer = await fetch("./changes", { cache: "no-store" }).catch(() => null);
    if (this.lost && answer?.status === 401) this.show(ENDED);
  }

  show(text) {
    this.line.hidden = !text;
    this.line.textContent = text;
  }

  destroy() {
    clearTimeout(this.timer);
    clearTimeout(this.waiting);
    this.observer.disconnect();
    document.removeEventListener("click", this.hold, true);
  }
}

export default mounted(".server-away", (line) => new Connection(line));
