// Gives the browser a file to keep: at once, and each file once, however often the page is drawn again.

globalThis.conductorDownloads ??= new Set();

export default function (component) {
  const { id, name, mime, text } = component.data;
  if (globalThis.conductorDownloads.has(id)) return;
  globalThis.conductorDownloads.add(id);
  const address = URL.createObjectURL(new Blob([text], { type: mime }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
