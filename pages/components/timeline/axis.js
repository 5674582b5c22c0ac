// The scale of a run's time: which round numbers stand on it, and where.

const STEPS = [1, 2, 5];

// The largest number of the series 1, 2, 5, 10, 20 ... that is not above `value`.
function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * /** @type {number} */ (STEPS.findLast((step) => step * power <= value * (1 + 1e-9)));
}

// A live run's axis has room to grow into, so that its bars grow and do not all shrink at every look.
export function roomFor(seconds) {
  const least = Math.max(seconds * 1.1, 1);
  const step = roundBelow(least / 4);
  return Math.ceil(least / step) * step;
}

// Ticks at least `gap` pixels apart on `width` pixels: [seconds, label].
export function ticksOf(span, unit, width, gap = 84) {
  const whole = span / unit.seconds, few = Math.max(1, Math.floor(width / gap));
  let step = roundBelow(whole / few);
  while (whole / step > few) step = roundBelow(step * 2.6);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let at = 0; at * step <= whole * (1 + 1e-9); at++) {
    ticks.push([at * step * unit.seconds, `${(at * step).toFixed(digits)}${at ? "" : ` ${unit.name}`}`]);
  }
  // The last one would hang over the end.
  if (ticks.length > 1 && (1 - ticks.at(-1)[0] / span) * width < 30) ticks.at(-1)[1] = "";
  return ticks;
}
