// A step's state as a shape of its own (never by colour alone) in a box of about 14 x 14 around (x, y).

export const STATUS_WORDS = {
  waiting: "not run yet", running: "running", finished: "finished", empty: "finished with an empty answer",
  refused: "no answer",
  failed: "failed", blocked: "blocked by a failed step", cancelled: "stopped", interrupted: "interrupted",
  paused: "the run waits here for a person",
  stale: "will run again", thinking: "thinking", retrying: "waiting to retry",
};

// The states of a step that is at work.
export const RUNS = new Set(["running", "thinking", "retrying"]);

export const polyline = (ctx, ...points) => {
  ctx.beginPath();
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.stroke();
};

const ring = (ctx, x, y, radius, from = 0, to = 2 * Math.PI) => {
  ctx.beginPath();
  ctx.arc(x, y, radius, from, to);
  ctx.stroke();
};

const STATUS_SHAPES = {
  waiting: (ctx, x, y) => ring(ctx, x, y, 4.5),
  running: (ctx, x, y, turn) => ring(ctx, x, y, 6, turn, turn + 4.5),
  thinking: (ctx, x, y, turn) => [0, 1, 2].forEach((i) => {
    ctx.beginPath();
    ctx.arc(x + (i - 1) * 5.2, y, i === Math.floor(Math.abs(turn)) % 3 ? 2.4 : 1.5, 0, 2 * Math.PI);
    ctx.fill();
  }),
  retrying: (ctx, x, y) => polyline(ctx, [x - 4.5, y - 5.5], [x + 4.5, y - 5.5], [x - 4.5, y + 5.5], [x + 4.5, y + 5.5], [x - 4.5, y - 5.5]),
  finished: (ctx, x, y) => polyline(ctx, [x - 5.5, y + 0.5], [x - 1.5, y + 4.5], [x + 6, y - 4.5]),
  refused: (ctx, x, y) => {
    ctx.beginPath();
    ctx.arc(x, y - 2.8, 3.2, Math.PI, 2.5 * Math.PI);
    ctx.lineTo(x, y + 2.4);
    ctx.stroke();
    polyline(ctx, [x, y + 5.8], [x, y + 6.2]);
  },
  empty: (ctx, x, y) => { ring(ctx, x, y, 5); polyline(ctx, [x - 5, y + 5], [x + 5, y - 5]); },
  failed: (ctx, x, y) => { polyline(ctx, [x - 4.5, y - 4.5], [x + 4.5, y + 4.5]); polyline(ctx, [x + 4.5, y - 4.5], [x - 4.5, y + 4.5]); },
  blocked: (ctx, x, y) => { ring(ctx, x, y, 6); polyline(ctx, [x - 3, y], [x + 3, y]); },
  cancelled: (ctx, x, y) => ctx.strokeRect(x - 4.5, y - 4.5, 9, 9),
  interrupted: (ctx, x, y) => polyline(ctx, [x + 2, y - 6], [x - 3, y + 1], [x + 3, y - 1], [x - 2, y + 6]),
  paused: (ctx, x, y) => { polyline(ctx, [x - 3, y - 5.5], [x - 3, y + 5.5]); polyline(ctx, [x + 3, y - 5.5], [x + 3, y + 5.5]); },
  stale: (ctx, x, y) => {
    ring(ctx, x, y, 5.5, 0.4, 5.4);
    polyline(ctx, [x + 0.6, y - 6.4], [x + 4.4, y - 3.8], [x + 5.2, y - 8]);
  },
};

// How a step differs from another workflow's: a sign in a disc.
export const CHANGE_WORDS = { added: "added", removed: "removed", moved: "moved", edited: "changed" };

const CHANGE_SIGNS = {
  added: (ctx) => { polyline(ctx, [-3.4, 0], [3.4, 0]); polyline(ctx, [0, -3.4], [0, 3.4]); },
  removed: (ctx) => polyline(ctx, [-3.4, 0], [3.4, 0]),
  moved: (ctx) => { polyline(ctx, [-2, 3.8], [-2, -3.6], [-4, -1.4]); polyline(ctx, [2, -3.8], [2, 3.6], [4, 1.4]); },
  edited: (ctx) => { polyline(ctx, [-3.8, 3.8], [-3, 1], [2, -4], [4, -2], [-1, 3], [-3.8, 3.8]); },
};

export function drawChange(ctx, change, x, y, radius, theme) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(radius / 8, radius / 8);
  ctx.beginPath();
  ctx.arc(0, 0, 8, 0, 2 * Math.PI);
  ctx.fillStyle = theme.change[change];
  ctx.fill();
  ctx.lineWidth = 1.7;
  ctx.lineCap = ctx.lineJoin = "round";
  ctx.strokeStyle = theme.face;
  CHANGE_SIGNS[change](ctx);
  ctx.restore();
}

export function drawStatus(ctx, status, x, y, size, theme, turn) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(size / 14, size / 14);
  ctx.lineWidth = 2;
  ctx.lineCap = ctx.lineJoin = "round";
  ctx.strokeStyle = ctx.fillStyle = theme.status[status];
  STATUS_SHAPES[status](ctx, 0, 0, turn);
  ctx.restore();
}
