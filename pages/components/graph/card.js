// A step's card on the canvas. Three levels of detail, by its kind and by how large it is on the screen:
// everything; number, title and worker; the number alone. Letters never become smaller than can be read.

import { RUNS, drawChange, drawStatus, polyline } from "./icons.js";

export const READABLE = 11;
export const cuts = new Map();

// The longest beginning of `text` that fits, with an ellipsis; found by halving, remembered while the
// font stays. Cutting runs over code points, so that no letter is torn in two.
export function fitText(ctx, text, width) {
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
    const candidate = letters.slice(0, middle).join("").trimEnd() + "…";
    if (ctx.measureText(candidate).width <= width) fits = middle;
    else fails = middle;
  }
  return fits ? letters.slice(0, fits).join("").trimEnd() + "…" : "";
}

// As many lines as there is room for, the first one behind an indent; the last one is cut.
function wrapText(ctx, text, width, lines, indent = 0) {
  const result = [], room = () => (result.length ? width : width - indent);
  let words = text.split(" ");
  while (words.length && result.length < lines - 1) {
    let count = 1;
    while (count < words.length && ctx.measureText(words.slice(0, count + 1).join(" ")).width <= room()) count++;
    result.push(fitText(ctx, words.slice(0, count).join(" "), room()));
    words = words.slice(count);
  }
  if (words.length) result.push(fitText(ctx, words.join(" "), room()));
  return result;
}

// The end of a text that is being written, on as many lines as there is room for.
function wrapEnd(ctx, text, width, lines) {
  const words = text.split(" "), fits = (from) => {
    const wrapped = wrapText(ctx, words.slice(from).join(" "), width, words.length + 1);
    return wrapped.length <= lines ? wrapped : null;
  };
  let from = 0;
  while (from < words.length - 1 && !fits(from)) from++;
  const tail = fits(from) ?? [];
  return from && tail.length ? [fitText(ctx, "…" + tail[0], width), ...tail.slice(1)] : tail;
}

// Whether a text is written from right to left: its first letter decides, as with dir="auto".
const LETTER = /\p{L}/u;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

export const rightToLeft = (text) => RIGHT_TO_LEFT.test(LETTER.exec(text)?.[0] ?? "");

// What stands before a title: the number that the step has, or the sign of one to come.
export const signOf = ({ step, content: { steps } }) => (steps?.length === 0 ? "+" : String((steps?.at(-1) ?? step) + 1));

export const numberOf = (card) => signOf(card).replace(/\d$/, "$&.");

// Lines of one text between two edges, from the one at which it begins; `struck` ones are struck out.
function writeLines(ctx, lines, left, right, y, leading = 0, whole = lines.join(" "), struck = false) {
  const turned = rightToLeft(whole);
  ctx.direction = turned ? "rtl" : "ltr";
  ctx.textAlign = turned ? "right" : "left";
  lines.forEach((text, i) => {
    const width = ctx.measureText(text).width;
    ctx.fillText(text, turned ? right : left, y + i * leading);
    if (struck) ctx.fillRect(turned ? right - width : left, y + i * leading, width, 1.2);
  });
  ctx.direction = "ltr";
  ctx.textAlign = "left";
}

// A title begins behind its number, its further lines below that.
function writeTitle(ctx, [first = "", ...more], start, left, right, y, leading, { title, change }) {
  writeLines(ctx, [first], start, right, y, 0, title, change === "removed");
  writeLines(ctx, more, left, right, y + leading, leading, title, change === "removed");
}

// What stands below a title: the output as far as there is one, else what is asked.
const wordsOf = ({ excerpt, body }) => excerpt || body;

const wrapWords = (ctx, { excerpt, streams, body }, width, lines) =>
  excerpt && streams ? wrapEnd(ctx, excerpt, width, lines) : wrapText(ctx, excerpt || body, width, lines);

// Whether there is room for a card's number only, and not even for that.
export const isNumber = ({ width }, scale) => width * scale < 56;
export const isSpot = ({ height }, scale) => height * scale < 8;

export function drawCard(ctx, card, look) {
  const { theme, selected, dimmed, target, reader, scale } = look;
  ctx.save();
  ctx.globalAlpha = dimmed ? 0.38 : 1;
  drawPlate(ctx, card, theme, { accented: selected || target, reader, dimmed, scale });
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.direction = "ltr";
  // Letters keep their distances at any zoom.
  ctx.textRendering = "geometricPrecision";
  ctx.lineJoin = "round";
  card.opener = card.sign = null;
  if (isNumber(card, scale)) drawNumber(ctx, card, look);
  else if (card.kind === "full" && scale >= 0.68) drawFull(ctx, card, look);
  else drawBrief(ctx, card, look);
  if (card.content.change) drawChange(ctx, card.content.change, ...changePlace(card, scale), theme);
  ctx.restore();
}

// On the left the worker's colour, on the right that of the state, below its sign.
function drawPlate(ctx, card, theme, { accented, reader, dimmed, scale }) {
  const { left, top, width, height } = card;
  const radius = Math.min(10, height / 3.4);
  if (isPile(card.content)) drawPile(ctx, card, theme, radius, scale);
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
  if (card.content.heat) drawHeat(ctx, card, theme, scale);
  const stripe = Math.max(4, 2.5 / scale), state = isSpot(card, scale) && !card.content.heat ? width : stripe;
  ctx.fillStyle = theme.status[card.content.status];
  ctx.fillRect(left + width - state, top, state, height);
  ctx.fillStyle = card.content.mark?.hue ?? theme.border;
  ctx.fillRect(left, top, stripe * 1.25, height);
  ctx.restore();
  const change = theme.change[card.content.change];
  ctx.lineWidth = accented || reader || change ? Math.max(2, 1.8 / scale) : Math.max(1, 0.8 / scale);
  ctx.strokeStyle = accented ? theme.primary : change ?? (reader ? theme.outgoing : theme.border);
  if (card.content.change === "added") ctx.setLineDash([6 / scale, 4 / scale]);
  ctx.stroke();
  ctx.setLineDash([]);
}

// Below a card that stands for several: two more.
function drawPile(ctx, { left, top, width, height }, theme, radius, scale) {
  const apart = Math.max(4, 2.5 / scale);
  ctx.fillStyle = theme.face;
  ctx.strokeStyle = theme.edge;
  ctx.lineWidth = Math.max(1, 0.8 / scale);
  for (const at of [2, 1]) {
    ctx.beginPath();
    ctx.roundRect(left + apart * at, top + apart * at, width, height, radius);
    ctx.fill();
    ctx.stroke();
  }
}

// A tint, and on the lower edge a bar as long as the share; a dashed line where that is unknown.
function drawHeat(ctx, { left, top, width, height, content: { heat } }, theme, scale) {
  const { globalAlpha } = ctx, thick = Math.max(5, 3.5 / scale), y = top + height - thick / 2;
  ctx.fillStyle = theme.heat;
  if (heat.share !== null) {
    ctx.globalAlpha = globalAlpha * (0.04 + 0.16 * heat.share);
    ctx.fillRect(left, top, width, height);
    ctx.globalAlpha = globalAlpha;
    ctx.fillRect(left, y - thick / 2, width * heat.share, thick);
    return;
  }
  ctx.strokeStyle = theme.muted;
  ctx.lineWidth = thick / 2;
  ctx.setLineDash([6 / scale, 5 / scale]);
  polyline(ctx, [left, y], [left + width, y]);
  ctx.setLineDash([]);
}

// The sign of the step's state; one that turns is drawn by flow.js, above.
function drawSign(ctx, card, theme, ...place) {
  card.sign = place;
  if (!RUNS.has(card.content.status)) drawStatus(ctx, card.content.status, ...place, theme);
}

// Mostly outside of the card, so that it covers no number: before a flat one, else on the upper left corner.
function changePlace({ left, top, height }, scale) {
  const radius = Math.min(Math.max(9, 7.5 / scale), Math.max(5 / scale, height * 0.42));
  return [left - radius * 0.4, top + Math.min(height / 2, radius * 0.9), radius];
}

// From above: number and title; the warning and the words; the worker, and what it took, on one line or two.
function drawFull(ctx, card, look) {
  const { theme, scale } = look, { left, top, width, height, content } = card;
  const x = left + 18, right = left + width - 14;
  drawSign(ctx, card, theme, right - 6, top + 20, 14);
  const heading = Math.max(13.5, READABLE / scale), size = Math.max(12.5, READABLE / scale);
  const foot = drawFoot(ctx, content, theme, Math.max(11.5, READABLE / scale), x - 2, right, top + height - 17);
  ctx.fillStyle = theme.text;
  ctx.font = `600 ${heading}px ${theme.font}`;
  const number = numberOf(card), start = x + ctx.measureText(`${number} `).width;
  const leading = size * 1.34, room = (used) => Math.floor((foot - top - 29 - (used - 1) * heading * 1.2) / leading);
  const words = content.remark || content.inside || wordsOf(content);
  const title = wrapText(ctx, content.title, right - 22 - x, words && room(2) < 1 ? 1 : 2, start - x);
  ctx.fillText(number, x, top + 20);
  writeTitle(ctx, title, start, x, right - 22, top + 20, heading * 1.2, content);
  const first = top + 20 + (title.length - 1) * heading * 1.2 + size * 1.65;
  drawWords(ctx, card, look, size, x, right, first, leading, room(title.length));
}

// On so many lines: the button that opens what is inside, the warning, then the words.
function drawWords(ctx, card, look, size, left, right, y, leading, lines) {
  const { content } = card, { theme } = look;
  let start = left, line = y, spare = lines;
  if (spare > 0 && content.inside) start = drawOpener(ctx, card, look, size * 0.88, left - 2, y) + 8;
  ctx.font = `400 ${size}px ${theme.font}`;
  if (spare > 0 && content.remark) {
    drawRemark(ctx, content.remark, theme, size, start, right, line);
    [start, line, spare] = [left, line + leading, spare - 1];
  }
  ctx.fillStyle = content.excerpt ? theme.body : theme.muted;
  if (start > left && spare > 0 && right - start > size * 6) {
    writeLines(ctx, wrapWords(ctx, content, right - start, 1), start, right, line, 0, wordsOf(content));
  } else if (spare > 0) {
    const below = start > left ? 1 : 0;
    writeLines(ctx, wrapWords(ctx, content, right - left, spare - below), left, right, line + below * leading, leading, wordsOf(content));
  }
}

// A worker's mark before its name, in `markRoom`; gives where the name begins.
const markRoom = (mark, size) => (mark ? size * 1.2 : 0);

function drawMark(ctx, mark, size, x, y) {
  if (!mark) return x;
  const { fillStyle } = ctx, unit = (size * 0.86) / 24;
  ctx.beginPath();
  for (const corner of mark.points.split(" ")) {
    const [across, below] = corner.split(",").map(Number);
    ctx.lineTo(x + across * unit, y + (below - 12) * unit);
  }
  ctx.closePath();
  ctx.fillStyle = mark.hue;
  ctx.fill();
  ctx.fillStyle = fillStyle;
  return x + markRoom(mark, size);
}

const PILL = 14, APART = 5;

// What was cut too short means nothing.
const wholeEnough = (label, whole) => (label === whole || (label.length > 5 && label.length > whole.length * 0.6) ? label : "");

// The worker's name gives way to the badges, which must be seen with an answer. A badge that would be cut too
// short is left out: "si…" has no meaning. What it took is beside them where there is room, else below. Gives
// where the foot begins.
function drawFoot(ctx, content, theme, size, left, right, y) {
  ctx.font = `500 ${size}px ${theme.font}`;
  const wide = (text) => ctx.measureText(text).width + PILL, own = markRoom(content.mark, size);
  const whole = [content.worker, ...content.badges].reduce((sum, text) => sum + wide(text) + APART, own);
  const beside = left + whole + 6 + ctx.measureText(figuresOf(content).join(" · ")).width <= right;
  const figures = fittingFigures(ctx, content, right - left - 2);
  ctx.fillStyle = content.heat ? theme.text : theme.muted;
  if (beside) ctx.fillText(figures, right - ctx.measureText(figures).width, y + 0.5);
  else ctx.fillText(figures, left + 2, y + 1);
  const row = beside || !figures ? y : y - size * 1.75, room = right - left - 2 - (beside && figures ? ctx.measureText(figures).width + 6 : 0);
  let spare = room - Math.min(own + wide(content.worker), room * 0.4);
  const badges = content.badges.flatMap((badge) => {
    const label = wholeEnough(fitText(ctx, badge, spare - APART - PILL), badge);
    if (!label) return [];
    spare -= APART + wide(label);
    return [label];
  });
  const badgesWidth = badges.reduce((sum, badge) => sum + APART + wide(badge), 0);
  let x = left;
  for (const [at, text] of [fitText(ctx, content.worker, room - badgesWidth - PILL - own), ...badges].entries())
    x += drawPill(ctx, text, x, row, theme, size, at === 0 ? content.mark : null, at === 0) + APART;
  return row - size;
}

// Time, retries, tokens, dollars: as many as there is room for, the first ones first.
const figuresOf = ({ note, figures }) => [note, ...figures].filter(Boolean);

function fittingFigures(ctx, content, room) {
  const all = figuresOf(content);
  for (let count = all.length; count > 1; count--) {
    const text = all.slice(0, count).join(" · ");
    if (ctx.measureText(text).width <= room) return text;
  }
  return all.length ? fitText(ctx, all[0], room) : "";
}

function drawPill(ctx, text, x, y, theme, size, mark, filled) {
  const width = ctx.measureText(text).width + markRoom(mark, size) + PILL, half = size * 0.8;
  ctx.beginPath();
  ctx.roundRect(x, y - half, width, 2 * half, half);
  ctx.fillStyle = theme.pill;
  ctx.strokeStyle = theme.border;
  ctx.lineWidth = 1;
  if (filled) ctx.fill();
  else ctx.stroke();
  ctx.fillStyle = filled ? theme.text : theme.muted;
  ctx.fillText(text, drawMark(ctx, mark, size, x + 7, y), y + 0.5);
  return width;
}

// The remark on an answer, after its sign.
function drawRemark(ctx, remark, theme, size, left, right, y) {
  const start = drawCaution(ctx, theme, size, left, y);
  ctx.fillStyle = theme.text;
  writeLines(ctx, [fitText(ctx, remark, right - start)], start, right, y);
}

// A triangle with a point of exclamation; gives where the text after it begins.
function drawCaution(ctx, theme, size, x, y) {
  const half = size * 0.46;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = theme.caution;
  ctx.lineWidth = size * 0.12;
  ctx.lineCap = "round";
  polyline(ctx, [x + half, y - half], [x + 2 * half, y + half * 0.86], [x, y + half * 0.86], [x + half, y - half], [x + half * 1.1, y - half * 0.82]);
  polyline(ctx, [x + half, y - half * 0.3], [x + half, y + half * 0.18]);
  ctx.beginPath();
  ctx.arc(x + half, y + half * 0.54, size * 0.075, 0, 2 * Math.PI);
  ctx.fill();
  ctx.restore();
  return x + size * 1.3;
}

// The button that opens the workflow inside; gives where it ends. Where it lies is kept for the pointer.
function drawOpener(ctx, card, { theme, opened, scale }, size, x, y, text = card.content.inside) {
  ctx.font = `500 ${size}px ${theme.font}`;
  const half = size * 0.8;
  const right = x + openerWidth(ctx, text, size), arm = size * 0.27, at = right - size * 0.95;
  ctx.beginPath();
  ctx.roundRect(x, y - half, right - x, 2 * half, half);
  ctx.fillStyle = theme.pill;
  ctx.fill();
  ctx.strokeStyle = opened ? theme.primary : theme.edge;
  ctx.lineWidth = Math.max(1, 0.8 / scale);
  ctx.stroke();
  ctx.fillStyle = ctx.strokeStyle = theme.text;
  ctx.fillText(text, x + size * 0.7, y + 0.5);
  const turned = opened ? -1 : 1;
  ctx.lineWidth = size * 0.12;
  polyline(ctx, [at - arm, y - arm * 0.5 * turned], [at, y + arm * 0.5 * turned], [at + arm, y - arm * 0.5 * turned]);
  card.opener = { left: x, top: y - half, right, bottom: y + half };
  return right;
}

const openerWidth = (ctx, text, size) => (text ? ctx.measureText(text).width + size * 2.3 : size * 1.9);

export const isPile = ({ steps }) => steps?.length > 1;

// As many words as there is room for; how many steps a card stands for is never left out.
const openerWords = (ctx, content, size, room) =>
  (isPile(content) ? [content.inside, String(content.steps.length)] : [content.inside, "inside", ""]).find((words, at, all) => at + 1 === all.length || openerWidth(ctx, words, size) <= room);

// Number, title and state; the worker where a line is left, the words where more are. On a card that is
// higher than it is broad, the title has the lines below the number for itself.
function drawBrief(ctx, card, look) {
  const { theme, scale } = look, { left, top, width, height, content } = card;
  const size = Math.min(Math.max(card.kind === "flat" ? 15 : 13.5, READABLE / scale), height * 0.68);
  const leading = size * 1.22, icon = Math.min(size, height * 0.55);
  const x = left + Math.max(13, size * 0.7), right = left + width - Math.max(10, size * 0.5);
  const lines = Math.max(1, Math.floor((height - 6) / leading)), head = height > width * 0.6 ? 1 : 0;
  const words = wordsOf(content) || content.remark;
  ctx.font = `600 ${size}px ${theme.font}`;
  const number = numberOf(card);
  const start = head ? x : x + ctx.measureText(`${number} `).width, whole = head ? right : right - icon - 8;
  // A title of one line leaves room for the mark of who does the step, one that has to be cut also for the name, or
  // for the figure that is looked at.
  const beside = lines > 1 ? 0 : markRoom(content.mark, size) + (content.heat ? ctx.measureText(content.note).width + size * 1.6 : size * 0.6);
  const fits = lines > 1 || ctx.measureText(content.title).width <= whole - start - beside;
  const named = content.heat ? 0 : ctx.measureText(content.worker).width + size * 0.1;
  const end = fits ? whole : whole - Math.min(beside + named, (whole - start) * (content.heat ? 0.6 : 0.4));
  const most = lines - head - (lines > 2 ? 1 : 0);
  const title = wrapText(ctx, content.title, end - x, most, start - x);
  const count = head ? lines : Math.min(lines, title.length + 1 + (words ? 2 : 0));
  const first = top + (height - (count - 1) * leading) / 2, line = (i) => first + i * leading;
  drawSign(ctx, card, theme, right - icon / 2, first, icon);
  ctx.fillStyle = theme.text;
  ctx.fillText(number, x, first);
  const titled = Math.max(0, ...title.map((text) => ctx.measureText(text).width));
  const edge = lines === 1 ? start + titled : end;
  writeTitle(ctx, title, start, x, edge, line(head), leading, content);
  if (lines === 1) return drawRest(ctx, card, look, size, edge + size * 0.45, whole);
  ctx.font = `400 ${quieter(size, scale)}px ${theme.font}`;
  const spare = count - head - title.length, below = line(head + title.length);
  const remarked = spare > 1 && content.remark;
  if (remarked) drawRemark(ctx, content.remark, theme, size, x, right, below);
  ctx.fillStyle = content.excerpt ? theme.body : theme.muted;
  const from = remarked ? 1 : 0;
  if (spare - 1 > from) {
    writeLines(ctx, wrapWords(ctx, content, right - x, spare - 1 - from), x, right, below + from * leading, leading, wordsOf(content));
  }
  ctx.fillStyle = theme.muted;
  if (spare > 0) drawWorker(ctx, card, look, size, x, right, line(count - 1), { sign: content.remark && !remarked });
}

// The size of what stands beside a title.
const quieter = (size, scale) => Math.max(size * 0.9, Math.min(size, READABLE / scale));

// The worker, the button that opens what is inside, and what it took, as far as there is room for them.
function drawWorker(ctx, card, look, size, left, right, y, { sign }) {
  const { worker, mark, badges, inside } = card.content, { font } = ctx;
  const start = drawMark(ctx, mark, size, sign ? drawCaution(ctx, look.theme, size, left, y) : left, y);
  const figures = fittingFigures(ctx, card.content, (right - start) * (card.content.heat ? 1 : isPile(card.content) ? 0.45 : inside ? 0.35 : 0.6));
  const noted = figures ? ctx.measureText(figures).width + size * 0.6 : 0, room = right - start - noted;
  // Half of a line is the worker's; the words of the button are shorter where that leaves too little.
  const words = inside && openerWords(ctx, card.content, size, isPile(card.content) ? room : room / 2);
  const wide = inside ? openerWidth(ctx, words, size) + size * 0.6 : 0, own = wide <= room ? wide : 0;
  const width = room - own, fits = (count) => ctx.measureText([worker, ...badges.slice(0, count)].join(" · ")).width <= width;
  const count = badges.findIndex((_, at) => !fits(at + 1)), fitting = count < 0 ? badges : badges.slice(0, count);
  const text = fitting.length ? [worker, ...fitting].join(" · ") : fitText(ctx, worker, width);
  ctx.fillText(text, start, y);
  if (card.content.heat) ctx.fillStyle = look.theme.text;
  if (text || card.content.heat || isPile(card.content)) ctx.fillText(figures, right - noted + size * 0.6, y);
  if (own) drawOpener(ctx, card, look, size * 0.92, start + ctx.measureText(text).width + size * 0.6, y, words);
  ctx.font = font;
}

// What a flat card has room for after its title: worker and note, then the words as far as they go.
function drawRest(ctx, card, look, size, left, right) {
  const { content, y } = card, { theme, scale } = look;
  ctx.font = `400 ${quieter(size, scale)}px ${theme.font}`;
  let end = right;
  if (content.inside && end - left > size * 1.9) {
    const { font } = ctx, own = quieter(size, scale) * 0.9;
    ctx.font = `500 ${own}px ${theme.font}`;
    const words = openerWords(ctx, content, own, (end - left) / 2), button = openerWidth(ctx, words, own);
    drawOpener(ctx, card, look, own, end - button, y, words);
    end -= button + size * 0.5;
    ctx.font = font;
  }
  if (content.remark && end - size * 1.3 > left) {
    drawCaution(ctx, theme, size, end - size, y);
    end -= size * 1.5;
  }
  ctx.fillStyle = content.heat ? theme.text : theme.muted;
  const note = ctx.measureText(content.note).width, room = end - left, mark = markRoom(content.mark, size);
  const named = Math.min(ctx.measureText(content.worker).width, room * 0.6) + mark + size;
  // A figure goes before the name, a name before a note.
  if (content.note && note + (content.heat ? 0 : named) <= room) {
    ctx.fillText(content.note, end - note, y);
    end -= note + size;
  }
  ctx.fillStyle = theme.muted;
  const name = wholeEnough(fitText(ctx, content.worker, end - left - mark), content.worker);
  const width = ctx.measureText(name).width + mark;
  if (width && width <= end - left) {
    ctx.fillText(name, drawMark(ctx, content.mark, size, end - width, y), y);
    end -= width + size * (name ? 1 : 0.4);
  }
  ctx.fillStyle = content.excerpt ? theme.body : theme.muted;
  if (end - left > size * 5) writeLines(ctx, wrapWords(ctx, content, end - left, 1), left, end, y, 0, wordsOf(content));
}

function drawNumber(ctx, card, { theme, scale }) {
  if (isSpot(card, scale)) return;
  ctx.font = `600 ${Math.min((READABLE + 1) / scale, card.height * 0.85)}px ${theme.font}`;
  ctx.fillStyle = theme.text;
  ctx.textAlign = "center";
  ctx.fillText(signOf(card), card.x, card.y);
}

// A run waits before the step; where it does not, a ring at which it may be made to.
export function drawGate(ctx, place, radius, { status, face }, closed) {
  if (closed) drawDot(ctx, place, radius, status.paused, face, 0.22);
  else drawDot(ctx, place, radius, face, status.paused, 0.3);
}

function drawDot(ctx, [x, y], radius, inner, outer, ring) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fillStyle = inner;
  ctx.strokeStyle = outer;
  ctx.lineWidth = radius * ring;
  ctx.fill();
  ctx.stroke();
}

// The "-" that makes one card of a branch; how many steps are on the card, which expands it.
export function drawCollapse(ctx, [x, y], radius, theme, steps, scale) {
  if (steps > 1) return drawCount(ctx, String(steps), x, y, theme, (READABLE + 0.5) / scale);
  drawDot(ctx, [x, y], radius, theme.face, theme.text, 0.18);
  polyline(ctx, [x - radius * 0.48, y], [x + radius * 0.48, y]);
}

function drawCount(ctx, text, x, y, theme, size) {
  ctx.font = `600 ${size}px ${theme.font}`;
  const half = size * 0.78, width = Math.max(2 * half, ctx.measureText(text).width + size * 0.9);
  ctx.beginPath();
  ctx.roundRect(x - width / 2, y - half, width, 2 * half, half);
  ctx.fillStyle = theme.face;
  ctx.strokeStyle = theme.text;
  ctx.lineWidth = size * 0.11;
  ctx.fill();
  ctx.stroke();
  ctx.fillStyle = theme.text;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(text, x, y + size * 0.06);
}

// The "+" from which an access is drawn to a later step.
export function drawPort(ctx, [x, y], radius, theme) {
  drawDot(ctx, [x, y], radius, theme.primary, theme.face, 0.22);
  const arm = radius * 0.5;
  polyline(ctx, [x - arm, y], [x + arm, y]);
  polyline(ctx, [x, y - arm], [x, y + arm]);
}
