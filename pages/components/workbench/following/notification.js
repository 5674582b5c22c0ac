// A notification when the session's work ends while the page is hidden. The page itself asks for nothing then, so
// this asks the server, from when the page is hidden while a run moves until that has ended.

import { mounted } from "../../streamlit_patches/shared.js";

const STORED = "conductor-notify";
const EVERY = 5000;

const isOn = () => localStorage.getItem(STORED) === "on" && Notification.permission === "granted";

class Notifier {
  constructor(button) {
    this.button = button;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    // Where a page has no secure address, browsers have no notifications.
    if (!("Notification" in globalThis)) return;
    button.hidden = false;
    button.addEventListener("click", () => this.turn(), { signal });
    document.addEventListener("visibilitychange", () => this.look(), { signal });
    this.draw();
  }

  update(component) { this.data = component.data; }

  destroy() {
    clearTimeout(this.timer);
    this.listeners.abort();
  }

  async turn() {
    if (isOn()) localStorage.removeItem(STORED);
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(STORED, "on");
    this.draw();
  }

  draw() {
    const refused = Notification.permission === "denied";
    this.button.setAttribute("aria-pressed", String(isOn()));
    this.button.disabled = refused;
    this.button.textContent = refused ? "Notifications are blocked in this browser" : "Notify me when a run ends";
  }

  // What began to move before the page was hidden is followed to its end; nothing else is.
  async look() {
    clearTimeout(this.timer);
    this.draw();
    if (!document.hidden || !isOn()) return;
    const { url, session, title } = this.data;
    const moved = this.followed === session;
    const now = await ending(url, session);
    if (!document.hidden) { this.followed = null; return; }
    this.followed = now === null ? this.followed : now.moves ? session : null;
    if (this.followed) this.timer = setTimeout(() => this.look(), EVERY);
    else if (moved) announce(title, now.state, session);
  }
}

// Where the session is; null where the server does not answer.
async function ending(url, session) {
  try {
    const response = await fetch(`${url}?session=${encodeURIComponent(session)}`, { cache: "no-store" });
    const now = response.ok ? await response.json() : {};
    return "moves" in now ? now : null;
  } catch {
    return null;
  }
}

function announce(title, state, session) {
  const notice = new Notification(title, { body: state[0].toUpperCase() + state.slice(1), tag: session });
  notice.addEventListener("click", () => { window.focus(); notice.close(); });
}

export default mounted(".notify", (button) => new Notifier(button));
