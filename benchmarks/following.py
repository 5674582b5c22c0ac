"""What tabs cost that nobody touches, and how soon they follow: `python benchmarks/following.py [--json]`.

Needs Chromium and Linux. Processor time is the server's, as the kernel counts it. What is measured, and the
numbers, stand in README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.report import machine
from benchmarks.views import AppProcess, app_process, chromium
from conductor.workflow.model import Step, Workflow
from storage import SessionStore

STEPS = 14
TABS = (0, 1, 5)
EDITS = 20


@dataclass(frozen=True)
class Report:
    """Seconds of processor time a minute by the number of tabs, and seconds until an edit is seen."""

    machine: str
    a_minute: Mapping[int, float]
    follows: Sequence[float]


def measured(seconds: float) -> Report:
    """Each number of tabs for so many seconds, then edits by another process."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/conductor.db"
        session = _session(url)
        with app_process({"CONDUCTOR_DATABASE_URL": url}) as app, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            pages: list[Page] = []
            spent: dict[int, float] = {}
            for tabs in TABS:
                pages += [_tab(browser, app, session) for _ in range(tabs - len(pages))]
                time.sleep(3)
                spent[tabs] = app.share_of_a_core(seconds) * 60
            follows = _follows(pages[0], url, session)
            browser.close()
    return Report(machine=machine(), a_minute=spent, follows=follows)


def _session(url: str) -> str:
    """A session with a workflow; its id."""
    steps = (
        Step(
            instruction=f"Do part {at + 1} of the work.",
            worker="fast-thinker",
            access=range(max(0, at - 1), at),
        )
        for at in range(STEPS)
    )
    with SessionStore.open(url) as store:
        session = store.sessions.create("How soon does a tab follow?").id
        store.revisions.add(session, Workflow.of(steps), origin="import", note="Imported")
        return session


def _tab(browser: Browser, app: AppProcess, session: str) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    page.goto(f"{app.address}/?session={session}")
    page.get_by_role("listbox").first.wait_for(timeout=30_000)
    return page


def _follows(page: Page, url: str, session: str) -> list[float]:
    """How long each edit by another process takes to be on the page."""
    waits = []
    with SessionStore.open(url) as store:
        for number in range(EDITS):
            # At another moment of the tab's second each time.
            page.wait_for_timeout(1500 + 1000 * number / EDITS)
            head = store.revisions.head(session)
            assert head is not None, "the session was made with a workflow"
            words = f"Part written again {number}"
            store.revisions.add(session, head.workflow.with_instruction(0, words), origin="human", note=words)
            began = time.perf_counter()
            page.get_by_role("option").filter(has_text=words).first.wait_for(state="attached")
            waits.append(time.perf_counter() - began)
    return waits


def as_text(report: Report) -> str:
    """The report as a table in Markdown, and a sentence."""
    waits = sorted(report.follows)
    return "\n".join(
        [
            f"{report.machine}; a session of {STEPS} steps.",
            "",
            "| tabs | processor time of the server, seconds a minute |",
            "| ---: | ---: |",
            *(f"| {tabs} | {seconds:.2f} |" for tabs, seconds in report.a_minute.items()),
            "",
            f"An edit is seen after {waits[len(waits) // 2] * 1000:.0f} ms (median), "
            f"{waits[-1] * 1000:.0f} at most.",
        ]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="how long each number of tabs is watched")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON, in seconds")
    options = parser.parse_args()
    report = measured(options.seconds)
    print(json.dumps(asdict(report)) if options.json else as_text(report))


if __name__ == "__main__":
    main()
