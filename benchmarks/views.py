"""How soon each view is there after the click: `python benchmarks/views.py [--json]`, from the root.

Needs Chromium. The clock is the browser's own: from the click until what was asked for is on the page and the
next frame is drawn. What is measured, and the numbers, stand in README.md.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Page, sync_playwright

from benchmarks.measure import Spread
from benchmarks.report import machine
from conductor.engine.experiments import Swap
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import configured_pool
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Workbench

ROOT = Path(__file__).resolve().parent.parent
STEPS = 14

POOL = """
[[worker]]
name = "writer"
kind = "simulated"
tokens = 120

[[worker]]
name = "critic"
kind = "simulated"
tokens = 90
seed = 1
"""

TIMED = """(button, [selector, words]) => new Promise((done, broken) => {
  const all = function* (root) {
    yield* root.querySelectorAll(selector);
    for (const host of root.querySelectorAll('*')) if (host.shadowRoot) yield* all(host.shadowRoot);
  };
  const there = () => [...all(document)].some(found => found.checkVisibility()
    && (found.textContent.includes(words) || (found.value ?? '').includes(words)));
  if (there()) return broken(new Error(`"${words}" was there before the click`));
  const began = performance.now();
  const look = () => {
    if (there()) return requestAnimationFrame(() => done((performance.now() - began) / 1000));
    if (performance.now() - began > 10000) return broken(new Error(`"${words}" did not come`));
    requestAnimationFrame(look);
  };
  button.click();
  look();
})"""
"""Seconds from a click until a visible element says these words, and the frame after it is drawn."""


@dataclass(frozen=True)
class View:
    """A view by its name: the button that asks for it, a selector and words that are there once it is, and
    the button that takes it away again.
    """

    name: str
    button: str
    selector: str
    words: str
    back: str


def _panel(name: str, selector: str, words: str) -> View:
    button = '.st-key-panel button:has-text("{}")'
    return View(name, button.format(name), selector, words, button.format("Answer"))


_COMPARE = '.st-key-toolbar a:has-text("Compare")'
_PLANS = '[class*="st-key-other-plans"] summary'
_SAW = '[class*="st-key-saw-"] summary'

VIEWS = (
    _panel("Timeline", "section.timeline .rows", "14"),
    _panel("Access", '[role="grid"]', "14"),
    _panel("Check", ".st-key-check", "A finding never"),
    _panel("Trials", '[class*="st-key-keep-swap"]', "Keep"),
    _panel("History", '[role="listbox"][aria-label^="History"]', "Changed the last step"),
    View("What this step saw", _SAW, '[role="region"]', "Your assigned subtask", _SAW),
    View("Other plans", _PLANS, '[class*="st-key-choice-"]', "Alternatives 1", _PLANS),
    View("Compare", _COMPARE, "summary", "14. Do the last part", 'a:has-text("Workbench")'),
)


@dataclass(frozen=True)
class Report:
    """All of one run, in seconds."""

    machine: str
    steps: int
    views: Mapping[str, Spread]


def measured(rounds: int, *, steps: int = STEPS) -> Report:
    """Every view in turn, `rounds` times; the first time of each is not counted."""
    with tempfile.TemporaryDirectory() as name, _page(Path(name), steps) as page:
        seconds: dict[str, list[float]] = {view.name: [] for view in VIEWS}
        for _ in range(rounds + 1):
            for view in VIEWS:
                button = page.locator(view.button).first
                button.wait_for()
                seconds[view.name].append(button.evaluate(TIMED, [view.selector, view.words]))
                _put_back(page, view)
        return Report(
            machine=machine(),
            steps=steps,
            views={name: Spread.of(taken[1:]) for name, taken in seconds.items()},
        )


def _put_back(page: Page, view: View) -> None:
    page.locator(view.back).first.click()
    page.locator(view.selector, has_text=view.words).first.wait_for(state="hidden")
    page.wait_for_timeout(300)


@contextmanager
def _page(folder: Path, steps: int) -> Iterator[Page]:
    """The workbench on a finished run, its last step selected."""
    (folder / "pool.toml").write_text(POOL, encoding="utf-8")
    url = f"sqlite:///{folder / 'conductor.db'}"
    session = _finished_run(folder, url, steps)
    with (
        app_process({"CONDUCTOR_DATABASE_URL": url, "CONDUCTOR_POOL": str(folder / "pool.toml")}) as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(f"{app.address}/?session={session}")
        stage = page.get_by_role("listbox").first
        stage.wait_for(timeout=30_000)
        stage.focus()
        page.keyboard.press("End")
        page.locator(_SAW).wait_for()
        yield page
        browser.close()


def _finished_run(folder: Path, url: str, steps: int) -> str:
    """A session with alternatives, two runs with an edit between them, and a swap of its last step."""
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
        bench.editing.edit(session, workflow, note="Written anew")
        bench.running.start(session).done.wait(60)
        edited = workflow.with_instruction(workflow.final, "Do the last part of the work, and sum it all up.")
        bench.editing.edit(session, edited, note="Changed the last step")
        bench.running.start(session).done.wait(60)
        swap = bench.experiments.begin(session, Swap(step=workflow.final, workers=("writer", "critic")))
        if swap.work is not None:
            swap.work.result(60)
    finally:
        bench.close()
    return session


@dataclass(frozen=True)
class AppProcess:
    """The app in a process of its own."""

    address: str
    pid: int


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
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        raise SystemExit("This needs Chromium; install it, and put it on PATH.")
    return found


def as_text(report: Report) -> str:
    """The report as a table in Markdown."""
    lines = [
        f"{report.machine}; a finished run of {report.steps} steps; median (minimum).",
        "",
        "| view | from the click until it is there, ms |",
        "| --- | ---: |",
    ]
    lines += [
        f"| {name} | {spread.median * 1000:.0f} ({spread.minimum * 1000:.0f}) |"
        for name, spread in report.views.items()
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often each view is asked for")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON, in seconds")
    options = parser.parse_args()
    report = measured(options.rounds)
    print(json.dumps(asdict(report)) if options.json else as_text(report))


if __name__ == "__main__":
    main()
