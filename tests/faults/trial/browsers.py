"""People with real browsers: Chromium, in a thread of its own, as Playwright requires."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from playwright.sync_api import Error, Page, expect, sync_playwright

from storage import SessionStore
from tests.browser.browser_settings import PASSWORD, QUIET
from tests.browser.workbench_page import WorkbenchPage
from tests.faults.app import chromium
from tests.faults.trial.outcomes import Outcomes, plant

_PATIENCE = 20_000
"""Milliseconds after which a person reloads a page."""


def browse(url: str, store: SessionStore, ends: float, outcomes: Outcomes, *, pages: int = 2) -> None:
    """Run, edit and rerun sessions in so many browsers, by turns, until the clock shows `ends`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=QUIET)
        expect.set_options(timeout=_PATIENCE)
        desks = [_logged_in(browser.new_context().new_page(), url) for _ in range(pages)]
        turn = 0
        while time.time() < ends:
            turn += 1
            visits = []
            for number, desk in enumerate(desks):
                tag = f"c{number}-{turn}"
                visits.append(_Visit(desk, url, plant(store, tag), tag, outcomes))
                visits[-1].run(f"{tag}-1")
            for visit in visits:
                visit.edit_and_rerun()
        browser.close()


def _logged_in(page: Page, url: str) -> WorkbenchPage:
    page.set_default_timeout(_PATIENCE)
    page.goto(f"{url}/sessions")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    return WorkbenchPage(page)


class _Visit:
    """A session in one browser."""

    def __init__(self, desk: WorkbenchPage, url: str, session: str, tag: str, outcomes: Outcomes) -> None:
        self._desk, self._address = desk, f"{url}/?session={session}"
        self._session, self._tag, self._outcomes = session, tag, outcomes

    def run(self, task: str) -> None:
        """Press Run."""
        self._try(self._press)
        self._outcomes.runs[self._session] = task

    def edit_and_rerun(self) -> None:
        """Wait for the answer, edit the second step, run again and wait."""
        task = f"{self._tag}-1b"
        self._try(self._finish)
        self._try(partial(self._edit, f"Do {task}."))
        self._outcomes.edits[self._session] = task
        self.run(task)
        self._try(self._finish)
        self._outcomes.counts["sessions in Chromium"] += 1

    def _try(self, act: Callable[[], None]) -> None:
        """Act on the page of the session; load it once more if that does not succeed."""
        # A browser draws no frames of a page that is not in front.
        self._desk.page.bring_to_front()
        for attempt in range(4):
            try:
                if self._desk.page.url != self._address or attempt:
                    self._load()
                act()
                return
            except (Error, AssertionError) as error:
                self._outcomes.waits.append(f"{time.time():.1f} {self._address}: {error}"[:300])
        self._outcomes.faults.append(f"{self._address}: {act} did not succeed")

    def _load(self) -> None:
        began = time.time()
        self._desk.page.goto(self._address)
        self._desk.settled()
        exceptions = self._desk.page.get_by_test_id("stException").all_inner_texts()
        self._outcomes.loaded(began, self._session, exceptions)

    def _press(self) -> None:
        """Press Run, unless the page shows that it was pressed."""
        desk = self._desk.settled()
        if desk.keyed("stop").count() == 0 and desk.keyed("run").get_by_role("button").is_enabled():
            desk.run()
            expect(desk.keyed("run").get_by_role("button", disabled=False)).to_have_count(0)

    def _edit(self, instruction: str) -> None:
        desk = self._desk
        if desk.keyed("run").get_by_role("button").is_enabled():
            return  # stored before its page was lost
        desk.select(1)
        desk.part("Instruction")
        desk.field("Instruction").fill(instruction)
        desk.field("Instruction").press("Control+Enter")
        expect(desk.keyed("run").get_by_role("button", name="Rerun")).to_be_enabled()

    def _finish(self) -> None:
        """Wait until a page that was loaded again shows the end; press again if the press was lost."""
        done = self._desk.keyed("run").get_by_role("button", name="Rerun", disabled=True)
        expect(done).to_be_visible()
        self._desk.page.reload()
        self._press()
        expect(done).to_be_visible()
