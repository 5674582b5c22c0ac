// The player of a run in one file: brings the page's cards, timeline and texts to a moment of the run.
//
// What a model wrote reaches the page in text nodes only. Without this script the page shows the run as it ended.

const { seconds, frames, words } = JSON.parse(document.getElementById("replay").textContent);
const LATEST = 20_000;                                      // characters of what a step writes that are on the page at once
const player = document.querySelector(".player");
const stage = document.querySelector(".stage");
const range = player.querySelector("input");
const speed = player.querySelector("select");
const playButton = player.querySelector("[data-do=play]");
const boxes = [...stage.children];
const cards = [...document.querySelectorAll(".graph a")];
const ends = cards.map((card) => [card.dataset.status, card.querySelector(".card-mark")?.textContent]);
const [unit, size, digits] = seconds < 1 ? ["ms", 1000, 0] : seconds < 600 ? ["s", 1, 1] : ["min", 1 / 60, 1];

let playing = false, standing = seconds, since = 0;

const now = () => Math.min(seconds, standing + (playing ? ((performance.now() - since) / 1000) * Number(speed.value) : 0));

// Each step with its frames so far.
function stepsAt(moment) {
  const steps = boxes.map(() => ({ status: "waiting", retries: 0, text: "", doing: "" }));
  let last = 0;
  for (const [at, step, status, retries, grows, text, doing] of frames) {
    if (at > moment) break;
    steps[step] = { status, retries, text: grows ? steps[step].text + text : text, doing };
    if (status !== "blocked") last = step;
  }
  return { steps, last };
}

function draw() {
  const moment = now(), { steps, last } = stepsAt(moment);
  const isRunning = steps.some((step) => step.status === "running");
  steps.forEach(({ status, retries, text, doing }, at) => {
    const box = boxes[at], body = box.querySelector(".writing"), pill = box.querySelector(".status");
    box.hidden = isRunning ? status !== "running" : at !== last;
    if (box.hidden) return;
    pill.className = `pill status ${status}`;
    pill.textContent = words[status] + (retries ? `, asked again${retries > 1 ? ` ${retries} times` : ""}` : "");
    const newest = (text || (doing && `Calls ${doing}…`)).slice(-LATEST);
    if (body.textContent === newest) return;
    body.textContent = newest;
    body.scrollTop = body.scrollHeight;
  });
  cards.forEach((card, i) => {
    const { status } = steps[card.dataset.step], [end, mark] = ends[i], foot = card.querySelector(".card-mark");
    card.querySelector(".stripe").setAttribute("class", `stripe ${status}`);
    card.querySelector(".mark").setAttribute("class", `mark ${status}`);
    card.querySelector("use").setAttribute("href", `#is-${status}`);
    if (foot) foot.textContent = status === end ? mark : status === "waiting" ? "" : words[status];
  });
  for (const edge of document.querySelectorAll(".edge")) edge.classList.toggle("flows", steps[edge.dataset.to].status === "running");
  const head = document.querySelector(".head"), place = `${(100 * moment) / seconds}%`;
  head.removeAttribute("hidden");
  head.setAttribute("x1", place);
  head.setAttribute("x2", place);
  drawPlayer(moment);
}

function drawPlayer(moment) {
  const written = `${(moment * size).toFixed(digits)} of ${(seconds * size).toFixed(digits)} ${unit}`;
  range.value = moment;
  range.setAttribute("aria-valuetext", written);
  player.querySelector("output").textContent = written;
  playButton.querySelector("use").setAttribute("href", playing ? "#to-pause" : "#to-play");
  playButton.querySelector("span").textContent = playing ? "Pause" : "Replay";
}

function go() {
  if (!playing) return;
  if (now() >= seconds) return stand(seconds);
  draw();
  requestAnimationFrame(go);
}

function play() {
  if (stage.hidden) document.getElementById("graph").scrollIntoView();
  stand(now() >= seconds ? 0 : now());
  playing = true;
  go();
}

function stand(moment) {
  stage.hidden = false;
  playing = false;
  standing = Math.max(0, Math.min(seconds, moment));
  since = performance.now();
  draw();
}

// The moments at which something began, ended, was asked again or called its tools.
const moments = [0, seconds], before = [];
for (const [at, step, status, retries, , , doing] of frames) {
  if (before[step] !== status + retries + doing) moments.splice(-1, 0, at);
  before[step] = status + retries + doing;
}

const ACTIONS = {
  play: () => (playing ? stand(now()) : play()),
  back: () => stand(moments.findLast((at) => at < now() - seconds / 500) ?? 0),
  forth: () => stand(moments.find((at) => at > now() + seconds / 500) ?? seconds),
};
const KEYS = { " ": "play", ArrowLeft: "back", ArrowRight: "forth" };

player.addEventListener("click", ({ target }) => ACTIONS[target.closest("button")?.dataset.do]?.());
range.addEventListener("input", () => stand(Number(range.value)));
// At another speed from here on.
speed.addEventListener("change", () => {
  standing = now();
  since = performance.now();
});
document.addEventListener("keydown", (event) => {
  // Where the key has another meaning, it keeps it.
  const elsewhere = event.target.matches(event.key === " " ? ":not(body)" : "input, select, [tabindex]");
  if (elsewhere || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  ACTIONS[KEYS[event.key]]();
});
addEventListener("beforeprint", () => !stage.hidden && stand(seconds));

range.max = seconds;
range.step = seconds / 400;
drawPlayer(seconds);
player.hidden = false;
