// Colours and font of the page, read from Streamlit's CSS variables. Canvas colours are made opaque here:
// edges share lanes, and two transparent strokes over one another would look like a darker one.

export const stillness = window.matchMedia("(prefers-reduced-motion: reduce)");

const canvas = document.createElement("canvas");
const swatch = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));

function channels(color) {
  swatch.fillStyle = "#888";
  swatch.fillStyle = color;
  swatch.fillRect(0, 0, 1, 1);
  return [...swatch.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

export function mix(front, back, share) {
  const [a, b] = [channels(front), channels(back)];
  return `rgb(${a.map((value, i) => Math.round(value * share + b[i] * (1 - share))).join(",")})`;
}

function luminance(color) {
  const [red, green, blue] = channels(color);
  return 0.299 * red + 0.587 * green + 0.114 * blue;
}

export function readTheme(element) {
  const styles = getComputedStyle(element);
  const read = (name, otherwise) => styles.getPropertyValue(`--st-${name}`).trim() || otherwise;
  const text = read("text-color", "#222");
  const backgrounds = [read("background-color", "#fff"), read("secondary-background-color", "#f5f5f7")];
  const [ground, face] = backgrounds.sort((a, b) => luminance(a) - luminance(b));
  const state = (name) => read(`${name}-color`, text);
  const quiet = mix(text, face, 0.45);
  return {
    text, ground, face,
    dark: luminance(ground) < 128,
    primary: read("primary-color", "#4f46e5"),
    border: mix(text, face, 0.16),
    muted: mix(text, face, 0.68),
    body: mix(text, face, 0.86),
    caution: state("orange"),
    heat: mix(state("red"), state("orange"), 0.5),
    pill: mix(text, face, 0.07),
    edge: mix(text, ground, 0.5),
    dimmed: mix(text, ground, 0.35),
    faint: mix(text, ground, 0.14),
    spark: mix(state("blue"), text, 0.35),
    outgoing: mix(text, ground, 0.78),
    font: read("font", "sans-serif"),
    change: { added: state("green"), removed: state("red"), moved: text, edited: text },
    status: {
      waiting: quiet, running: state("blue"), finished: state("green"), empty: state("orange"),
      refused: state("orange"),
      failed: state("red"), blocked: state("red"), cancelled: quiet, interrupted: state("orange"), paused: state("orange"),
      stale: state("orange"), thinking: state("blue"), retrying: state("orange"),
    },
  };
}
