// A step's card on the canvas. Three levels of detail, by how large the card is on the screen: everything;
// number and title in letters that stay readable; the number alone.

const READABLE = 10;
const cuts = new Map();

// The longest beginning of `text` that fits, with an ellipsis; found by halving, remembered while the
// font stays. Cutting runs over code points, so that no letter is torn in two.
function fitText(ctx, text, width) {
  const key = `${ctx.font}|${Math.round(width)}|${text}`;
  if (!cuts.has(key)) {
    if (cuts.size > 2000) cuts.clear();
    cuts.set(key, cut(ctx, text, width));
  }
  return cuts.get(key);
}

function cut(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  const letters = [...text];
  let [fits, fails] = [0, letters.length];
  while (fails - fits > 1) {
    const middle = (fits + fails) >> 1;
    const shown = letters.slice(0, middle).join("").trimEnd() + "…";
    if (ctx.measureText(shown).width <= width) fits = middle;
    else fails = middle;
  }
  return fits ? letters.slice(0, fits).join("").trimEnd() + "…" : "";
}

// As many lines as there is room for; the last one is cut.
function wrapText(ctx, text, width, lines) {
  const result = [];
  let words = text.split(" ");
  while (words.length && result.length < lines - 1) {
    let count = 1;
    while (count < words.length && ctx.measureText(words.slice(0, count + 1).join(" ")).width <= width) count++;
    result.push(fitText(ctx, words.slice(0, count).join(" "), width));
    words = words.slice(count);
  }
  if (words.length) result.push(fitText(ctx, words.join(" "), width));
  return result;
}

function drawCard(ctx, card, look) {
  const { theme, selected, dimmed, target, scale } = look;
  ctx.save();
  ctx.globalAlpha = dimmed ? 0.38 : 1;
  drawPlate(ctx, card, theme, { accented: selected || target, dimmed, scale });
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.direction = "ltr";
  ctx.lineJoin = "round";
  if (card.width * scale < 56) drawNumber(ctx, card, look);
  else if (card.compact || scale < 0.7) drawTitle(ctx, card, look);
  else drawFull(ctx, card, look);
  ctx.restore();
}

function drawPlate(ctx, card, theme, { accented, dimmed, scale }) {
  const { left, top, width, height } = card;
  const radius = Math.min(10, height / 3.4);
  ctx.beginPath();
  ctx.roundRect(left, top, width, height, radius);
  // The shadow of a translucent plate would show through it.
  if (!dimmed) ctx.shadowColor = theme.dark ? "rgba(0,0,0,.45)" : "rgba(24,28,50,.13)";
  ctx.shadowBlur = (accented ? 16 : 7) * scale;
  ctx.shadowOffsetY = 2 * scale;
  ctx.fillStyle = theme.face;
  ctx.fill();
  ctx.shadowColor = "transparent";
  ctx.save();
  ctx.clip();
  ctx.fillStyle = theme.status[card.face.status];
  ctx.fillRect(left, top, Math.max(4, 2.5 / scale), height);
  ctx.restore();
  ctx.lineWidth = accented ? Math.max(2, 1.8 / scale) : Math.max(1, 0.8 / scale);
  ctx.strokeStyle = accented ? theme.primary : theme.border;
  ctx.stroke();
}

function drawFull(ctx, card, { theme, turn }) {
  const { left, top, width, face } = card;
  const x = left + 18, right = left + width - 14;
  drawStatus(ctx, face.status, right - 6, top + 21, 14, theme, turn);
  ctx.fillStyle = theme.text;
  ctx.font = `600 13.5px ${theme.font}`;
  const leftOver = drawNumbered(ctx, card, x, top + 21, right - 20);
  ctx.font = `400 12.5px ${theme.font}`;
  ctx.fillStyle = theme.muted;
  ctx.fillText(fitText(ctx, `${leftOver} ${face.body}`.trim(), right - x), x, top + 42);
  drawFoot(ctx, face, theme, x - 2, right, top + 64);
}

// The number is drawn apart from the title: in one string a right-to-left title would move it to its end.
// Gives the words of the title for which there was no room: the next line goes on with them.
function drawNumbered(ctx, card, x, y, right) {
  const number = `${card.step + 1}.`;
  const start = x + ctx.measureText(`${number} `).width;
  const words = card.face.title.split(" ");
  let count = words.length;
  while (count > 1 && ctx.measureText(words.slice(0, count).join(" ")).width > right - start) count--;
  ctx.fillText(number, x, y);
  ctx.fillText(fitText(ctx, words.slice(0, count).join(" "), right - start), start, y);
  return words.slice(count).join(" ");
}

function drawFoot(ctx, face, theme, left, right, y) {
  ctx.font = `500 11px ${theme.font}`;
  const note = fitText(ctx, face.note, (right - left) * 0.42);
  const noteWidth = note ? ctx.measureText(note).width + 10 : 0;
  ctx.fillStyle = theme.muted;
  ctx.fillText(note, right - noteWidth + 10, y + 0.5);
  let x = left;
  for (const text of [face.worker, ...face.badges]) {
    const shown = fitText(ctx, text, right - noteWidth - x - 16);
    if (shown.length < 2) break;
    x += drawPill(ctx, shown, x, y, theme, text === face.worker) + 5;
  }
}

function drawPill(ctx, text, x, y, theme, filled) {
  const width = ctx.measureText(text).width + 14;
  ctx.beginPath();
  ctx.roundRect(x, y - 9, width, 18, 9);
  ctx.fillStyle = theme.pill;
  ctx.strokeStyle = theme.border;
  ctx.lineWidth = 1;
  if (filled) ctx.fill();
  else ctx.stroke();
  ctx.fillStyle = filled ? theme.text : theme.muted;
  ctx.fillText(text, x + 7, y + 0.5);
  return width;
}

function drawTitle(ctx, card, { theme, turn, scale }) {
  const { left, top, width, height, face } = card;
  const size = Math.min(Math.max(card.compact ? 15 : 14, (READABLE + 0.5) / scale), height * 0.68);
  const lines = Math.max(1, Math.floor((height - 6) / (size * 1.22)));
  const icon = Math.min(size, height * 0.55);
  const x = left + Math.max(14, size * 0.7), right = left + width - Math.max(10, size * 0.5);
  drawStatus(ctx, face.status, right - icon / 2, lines > 1 ? top + size * 0.95 : card.y, icon, theme, turn);
  ctx.font = `600 ${size}px ${theme.font}`;
  ctx.fillStyle = theme.text;
  const number = `${card.step + 1}.`;
  const start = x + ctx.measureText(`${number} `).width;
  const end = right - icon - 8;
  const wrapped = wrapText(ctx, face.title, end - start, lines);
  const first = card.y - ((wrapped.length - 1) * size * 1.22) / 2;
  ctx.fillText(number, x, first);
  wrapped.forEach((text, i) => ctx.fillText(text, start, first + i * size * 1.22));
  const used = start + ctx.measureText(face.title).width + size * 0.45;
  if (lines === 1 && used < end) drawRest(ctx, card, theme, size, used, end);
}

// What a flat card has room for after its title: the note, then the instruction as far as it goes.
function drawRest(ctx, { face, y }, theme, size, left, right) {
  ctx.font = `400 ${size * 0.88}px ${theme.font}`;
  ctx.fillStyle = theme.muted;
  const note = ctx.measureText(face.note).width;
  const noted = face.note && left + note <= right;
  if (noted) ctx.fillText(face.note, right - note, y);
  const room = right - left - (noted ? note + size : 0);
  if (room > size * 4) ctx.fillText(fitText(ctx, face.body, room), left, y);
}

function drawNumber(ctx, card, { theme, scale }) {
  ctx.font = `600 ${Math.min((READABLE + 1) / scale, card.height * 0.85)}px ${theme.font}`;
  ctx.fillStyle = theme.text;
  ctx.textAlign = "center";
  ctx.fillText(String(card.step + 1), card.x, card.y);
}

// The "+" from which an access is drawn to a later step.
function drawPort(ctx, [x, y], radius, theme) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fillStyle = theme.primary;
  ctx.strokeStyle = theme.face;
  ctx.lineWidth = radius * 0.22;
  ctx.fill();
  ctx.stroke();
  const arm = radius * 0.5;
  line(ctx, [x - arm, y], [x + arm, y]);
  line(ctx, [x, y - arm], [x, y + arm]);
}
