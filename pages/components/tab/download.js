// Gives the browser a file to keep: at once, and each file once, however often the page is drawn again.

import { giveOut } from "../streamlit_patches/shared.js";

globalThis.conductorDownloads ??= new Set();

export default function (component) {
  const { id, name, mime, text } = component.data;
  if (globalThis.conductorDownloads.has(id)) return;
  globalThis.conductorDownloads.add(id);
  giveOut(name, mime, text);
}
