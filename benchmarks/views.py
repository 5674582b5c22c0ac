"""How soon each view is there after the click, and what a watched run costs: `python benchmarks/views.py`.

Needs Chromium and Linux. The clock is the browser's own: from the click until what was asked for is on the
page and the next frame is drawn. What is measured, and the numbers, stand in README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks.measure import Spread
from benchmarks.report import machine
from conductor.engine.experiments import Swap
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import configured_pool
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Workbench

ROOT = Path(__file__).resolve().parent.parent
STEPS = 5
_TICKS = os.sysconf("SC_CLK_TCK")

POOL = """
[[worker]]
name = "writer"
kind = "simulated"
tokens = 600

[[worker]]
name = "critic"
kind = "simulated"
tokens = 450
seed = 1
"""

WATCH = """([selector, words]) => {
  const all = function* (root) {
    yield* root.querySelectorAll(selector);
    for (const host of root.querySelectorAll('*')) if (host.shadowRoot) yield* all(host.shadowRoot);
  };
  const there = () => [...all(document)].some(found => found.checkVisibility()
    && (found.textContent.includes(words) || (found.value ?? '').includes(words)));
  if (there()) throw new Error(`"${words}" was there before it was asked for`);
  let began;
  const begin = event => began ??= event.timeStamp;
  for (const kind of ['pointerdown', 'keydown']) addEventListener(kind, begin, {capture: true, once: true});
  const last = performance.now() + 10000;
  window.watched = new Promise((done, broken) => {
    const look = () => {
      if (there()) return requestAnimationFrame(() => done((performance.now() - began) / 1000));
      if (performance.now() > last) return broken(new Error(`"${words}" did not come`));
      requestAnimationFrame(look);
    };
    look();
  });
}"""
"""Watches for a visible element with these words; `watched` resolves to the seconds from the next press of a
key or the pointer until it is there, and the frame after it is drawn."""

SKELETONS = """() => {
  window.skeletons = 0;
  const skeleton = '[data-testid="stSkeleton"]';
  new MutationObserver(changes => {
    for (const {addedNodes} of changes) for (const added of addedNodes)
      if (added.matches?.(skeleton) || added.querySelector?.(skeleton)) window.skeletons += 1;
  }).observe(document.body, {childList: true, subtree: true});
}"""
"""Counts, from now on, the additions to the page that show a grey placeholder."""


@dataclass(frozen=True)
class View:
    """A view by its name: the element that is clicked for it, a selector and words that are there once it is,
    and the element that is clicked to leave it, or None if the next view leaves it.

    The words may be "". Where there is a `key`, the element gets the focus, and the key is pressed.
    """

    name: str
    click: str
    selector: str
    words: str
    back: str | None = None
    key: str | None = None


def _panel(name: str, selector: str, words: str) -> View:
    button = f'.st-key-panel button:has-text("{name}")'
    return View(name, button, selector, words, button)


def _page_of(name: str, words: str) -> View:
    link = '[data-testid="stSidebarNavLink"]:has-text("{}")'
    return View(f"Page {name}", link.format(name), "h1", words, link.format("Workbench"))


def _panes(steps: int) -> tuple[View, ...]:
    """The last step's pane with what is known in the browser, then the first one's with its fields, which the
    server draws. Their cards are drawings, reached by key.
    """
    heading = ".st-key-read-step :is(h1, h2, h3, h4)"
    return (
        View("A card's pane", _GRAPH, ".step-preview h3", f"{steps}. ", key="End"),
        View("Another card's pane, whole", _GRAPH, heading, "1. ", key="Home"),
    )


_TURN = '[data-tool="turn"]'
_GRAPH = '.graph [role="listbox"]'

PANELS = (
    _panel("Timeline", "section.timeline .rows", "2"),
    _panel("Check", '[role="grid"]', "2"),
    _panel("Trials", '[class*="st-key-keep-swap"]', "Keep"),
    _panel("Plans", '[class*="st-key-choice-"]', ""),
    _panel("History", '[role="listbox"][aria-label^="History"]', "Changed the last step"),
)
PAGES = (
    _page_of("Sessions", "Sessions"),
    _page_of("Pool", "Pool"),
    _page_of("Compare", "Compare"),
)

CLICKS = 20
"""Clicks whose processor time is measured together."""

WATCHERS = 3
"""Tabs that watch a run while its cost is measured."""


@dataclass(frozen=True)
class Report:
    """All of one run. Seconds, but for `skeletons`, a number, and the shares `running` and `watching`.

    `first_paint` is from the request for the page until anything is drawn, `first_graph` until the graph is.
    `skeletons` is how many placeholders came after the first page. `click` is the processor time that the
    server takes for a click after which it draws the whole page. `watching` is the share of a core that
    the server takes for each tab that watches a run, `running` what it takes for the run without any tab.
    """

    machine: str
    steps: int
    views: Mapping[str, Spread]
    first_paint: Spread
    first_graph: Spread
    skeletons: int
    click: float
    running: float
    watching: float


def measured(rounds: int, *, steps: int = STEPS, watched: float = 15) -> Report:
    """Every view in turn, `rounds` times, the first one uncounted; then tabs, `watched` seconds."""
    with (
        tempfile.TemporaryDirectory() as name,
        _app(Path(name), steps) as (
            app,
            browser,
            session,
            waiting,
        ),
    ):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        first = [_first(context, app, session) for _ in range(3)]
        page = _open(context, app, session)
        page.evaluate(SKELETONS)
        seconds: dict[str, list[float]] = defaultdict(list)
        skeletons = 0
        for at in range(rounds + 1):
            for view in (*_panes(steps), *PANELS, *PAGES):
                duration = _timed(page, view)
                if at:
                    seconds[view.name].append(duration)
            skeletons = page.evaluate("window.skeletons") if at == 0 else skeletons
        skeletons = page.evaluate("window.skeletons") - skeletons
        click = _click(page, app)
        running, watching = _watching(browser, app, waiting, watched)
        return Report(
            machine=machine(),
            steps=steps,
            views={view: Spread.of(duration) for view, duration in seconds.items()},
            first_paint=Spread.of([paint for paint, _ in first]),
            first_graph=Spread.of([graph for _, graph in first]),
            skeletons=skeletons,
            click=click,
            running=running,
            watching=watching,
        )


def _timed(page: Page, view: View) -> float:
    """Seconds from the click until the view is there."""
    target = page.locator(view.click).first
    target.wait_for()
    page.evaluate(WATCH, [view.selector, view.words])
    if view.key is None:
        target.click()
    else:
        target.press(view.key)
    seconds: float = page.evaluate("window.watched")
    page.wait_for_timeout(400)
    if view.back is not None:
        page.locator(view.back).first.click()
        page.locator(view.selector, has_text=view.words).first.wait_for(state="hidden")
        page.wait_for_timeout(400)
    return seconds


def _open(context: BrowserContext, app: AppProcess, session: str) -> Page:
    page = context.new_page()
    page.goto(f"{app.address}/?session={session}")
    page.locator(f"{_GRAPH} [role=option]").first.wait_for(timeout=30_000)
    page.wait_for_timeout(2000)
    return page


def _first(context: BrowserContext, app: AppProcess, session: str) -> tuple[float, float]:
    """Seconds until anything, and until the graph, is drawn in a new tab, which has files in its cache."""
    page = context.new_page()
    page.goto(f"{app.address}/?session={session}", wait_until="commit")
    page.locator(f"{_GRAPH} [role=option]").first.wait_for(timeout=30_000)
    graph = page.evaluate("performance.now()") / 1000
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0") / 1000
    page.close()
    return paint, graph


def _click(page: Page, app: AppProcess) -> float:
    """Processor seconds of the server for a click that turns the graph, less what the page takes at rest."""
    turn, rest = page.locator(_TURN), app.share_of_a_core(5)
    began, before = time.monotonic(), app.seconds()
    for _ in range(CLICKS):
        label = turn.text_content()
        turn.dispatch_event("click")
        turn.filter(has_not_text=label).wait_for(state="attached")
        page.wait_for_timeout(400)
    return (app.seconds() - before - rest * (time.monotonic() - began)) / CLICKS


def _watching(browser: Browser, app: AppProcess, session: str, seconds: float) -> tuple[float, float]:
    """The shares of a core for a run of this session, and for each tab that watches it."""
    starter = _open(browser.new_context(), app, session)
    starter.locator(".st-key-run button").first.click()
    starter.locator(".st-key-stop button").wait_for()
    starter.close()
    alone = app.share_of_a_core(seconds)
    for _ in range(WATCHERS):
        _open(browser.new_context(), app, session)
    return alone, (app.share_of_a_core(seconds) - alone) / WATCHERS


@contextmanager
def _app(folder: Path, steps: int) -> Iterator[tuple[AppProcess, Browser, str, str]]:
    """The app and a browser; a session with a finished run, and one whose workflow has not run."""
    pool = folder / "pool.toml"
    pool.write_text(POOL, encoding="utf-8")
    url = f"sqlite:///{folder / 'conductor.db'}"
    session, waiting = sessions(folder, url, steps)
    # From here on the workers, which stay the same, take their time: half a minute a step.
    pool.write_text(POOL.replace("tokens = ", "tokens_per_second = 20\ntokens = "), encoding="utf-8")
    with (
        app_process({"CONDUCTOR_DATABASE_URL": url, "CONDUCTOR_POOL": str(pool)}) as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield app, browser, session, waiting
        browser.close()


def sessions(folder: Path, url: str, steps: int) -> tuple[str, str]:
    """A session with alternatives, two runs with an edit between them, and a swap of its last step; one with
    the same workflow that has not run.
    """
    workflow = Workflow.of(
        Step(
            instruction=f"Do part {at + 1} of the work, and say what the next one needs to know.",
            worker=("writer", "critic")[at % 2],
            access=[read for read in (at - 1, at - 3) if read >= 0],
        )
        for at in range(steps)
    )
    pool = configured_pool(folder / "pool.toml")
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    try:
        session = bench.ask("How long does it take until a view is there?").id
        bench.planning.plan(session)
        bench.planning.plan_alternatives(session, 3)
        bench.editing.edit(session, workflow, note="Written by hand")
        bench.running.start(session).done.wait(60)
        edited = workflow.with_instruction(workflow.final, "Do the last part of the work, and sum it all up.")
        bench.editing.edit(session, edited, note="Changed the last step")
        bench.running.start(session).done.wait(60)
        swap = bench.experiments.begin(session, Swap(step=workflow.final, workers=("writer", "critic")))
        if swap.work is not None:
            swap.work.result(60)
        waiting = bench.ask("What does it cost to watch?").id
        bench.editing.edit(waiting, workflow, note="Written by hand")
    finally:
        bench.close()
    return session, waiting


@dataclass(frozen=True)
class AppProcess:
    """The app in a process of its own."""

    address: str
    pid: int

    def seconds(self) -> float:
        """Processor time that it has taken so far, user's and system's."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def share_of_a_core(self, seconds: float) -> float:
        """Processor time over that much wall time, from now on."""
        before = self.seconds()
        time.sleep(seconds)
        return (self.seconds() - before) / seconds


@contextmanager
def app_process(settings: Mapping[str, str]) -> Iterator[AppProcess]:
    """The app, started with these settings and ended afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), *flags],
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address)
        yield AppProcess(address, server.pid)
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait(address: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit("The app did not start within a minute.")


def chromium() -> str:
    """Where Chromium is."""
    program = next(
        filter(
            None,
            map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")),
        ),
        None,
    )
    if program is None:
        raise SystemExit("This needs Chromium; install it, and put it on PATH.")
    return program


def as_text(report: Report) -> str:
    """The report as a table in Markdown."""
    rows = {"First paint": report.first_paint, "Graph on the first page": report.first_graph, **report.views}
    return "\n".join(
        [
            f"{report.machine}; a finished run of {report.steps} steps; median (minimum).",
            "",
            "| view | until it is there, ms |",
            "| --- | ---: |",
            *(
                f"| {name} | {own.median * 1000:.0f} ({own.minimum * 1000:.0f}) |"
                for name, own in rows.items()
            ),
            "",
            f"Placeholders after the first page: {report.skeletons}. A click that draws the whole page takes "
            f"{report.click * 1000:.0f} ms of the server's processor. A run takes {report.running:.1%} of "
            f"a core of the server, and each tab that watches it {report.watching:.1%}.",
        ]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often each view is asked for")
    parser.add_argument("--steps", type=int, default=STEPS, help="of the workflow")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON, in seconds")
    options = parser.parse_args()
    report = measured(options.rounds, steps=options.steps)
    print(json.dumps(asdict(report)) if options.json else as_text(report))


if __name__ == "__main__":
    main()
