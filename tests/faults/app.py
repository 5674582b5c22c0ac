"""Kills of the app itself: the server with its pages, driven in a browser and killed in the middle of a run.

What the page showed as kept, and what another process could read before the kill, counts as acknowledged.
"""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from conductor.runs.events import EVENT
from storage import RunRecord, SessionStore
from studio.workbench import Workbench
from tests.browser.app_server import AppServer
from tests.browser.workbench_page import WorkbenchPage
from tests.faults.ledger import Ledger
from tests.faults.runs import ACCESS, Endpoint, bench_over, check_events, check_resume, workflow_of
from tests.faults.soundness import check_soundness
from tests.support.runs.waiting import until

SPAN = 1.5
"""Seconds after the press on Run within which the server is killed."""

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")

PATIENCE = 30.0
"""Seconds that a run may take after the press on Rerun."""

_LOOK = 0.02
"""Seconds between two looks at the store from beside the server."""


def chromium() -> str | None:
    """The path of an installed browser, or None."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


@dataclass
class App:
    """One store, one endpoint and one browser; the server between them is started for every kill."""

    folder: Path
    ledger: Ledger = field(default_factory=lambda: Ledger("the app in a browser"))
    _open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.endpoint = self._open.enter_context(Endpoint())
        pool = self.folder / "pool.toml"
        pool.write_text(self.endpoint.pool, encoding="utf-8")
        self.server = AppServer(
            self.folder, settings={"CONDUCTOR_POOL": str(pool), "CONDUCTOR_RESUME": "off"}
        )
        playwright = self._open.enter_context(sync_playwright())
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        self._open.callback(browser.close)
        self._context = browser.new_context()

    def kill(self, rng: Random) -> None:
        """Plant a workflow, edit and run it in the browser, kill the server, start it again and look."""
        self.endpoint.forget()
        name = f"{rng.getrandbits(48):012x}"
        with SessionStore.open(self.server.database) as store:
            session = store.sessions.create(f"What is {name}?").id
            store.revisions.add(
                session, workflow_of(name, rng.choice(ACCESS)), origin="import", note="Planted"
            )
        self.server.start()
        page = self._context.new_page()
        printed = self._edit_and_run(page, session, after=rng.uniform(0, SPAN))
        self.server.kill()
        self.ledger.kills += 1
        check_soundness(self.folder / "conductor.db", self.ledger)
        self._look(session, printed)
        self.server.start()
        self.ledger.restarts += 1
        self._resume(page)
        page.close()
        self.server.kill()

    def _edit_and_run(self, page: Page, session: str, *, after: float) -> list[dict[str, Any]]:
        """What was acknowledged until the server is to be killed."""
        page.goto(f"{self.server.url}/?session={session}")
        desk = WorkbenchPage(page)
        desk.select(1)
        desk.choose("Worker", "model-0")
        expect(desk.button("Undo")).to_be_enabled()
        printed: list[dict[str, Any]] = []
        with SessionStore.open(self.server.database) as store:
            edited = store.revisions.head(session)
            assert edited is not None
            self.ledger.check(edited.number == 2, "the page said that it could be undone, and it is not kept")
            printed.append({"head": edited.id})
            desk.run()
            until = time.monotonic() + after
            seen: dict[str, int] = {}
            while time.monotonic() < until:
                for run in store.runs.of_session(session):
                    for event in store.runs.events(run.id, after=seen.get(run.id, -1)):
                        seen[run.id] = event.seq
                        printed.append({"event": EVENT.dump_python(event, mode="json")})
                time.sleep(_LOOK)
        return printed

    def _look(self, session: str, printed: list[dict[str, Any]]) -> None:
        """What another process finds after the kill."""
        with SessionStore.open(self.server.database) as store:
            head = store.revisions.head(session)
            self.ledger.check(
                head is not None and head.id == printed[0]["head"], f"an edit of {session} is lost"
            )
            check_events(store, printed, self.ledger)

    def _resume(self, page: Page) -> None:
        bench = bench_over(SessionStore.open(self.server.database), self.endpoint.pool)
        try:
            check_resume(bench, self.endpoint, self.ledger, press=lambda own: self._press(page, bench, own))
        finally:
            bench.close()

    def _press(self, page: Page, bench: Workbench, session: str) -> None:
        """Open a session's page, which shows what became of its run, and run on to the end."""
        page.goto(f"{self.server.url}/?session={session}")
        desk = WorkbenchPage(page)
        interrupted = bench.store.runs.latest(session)
        desk.run()

        def over() -> bool:
            newest = bench.store.runs.latest(session)
            return newest != interrupted and not _goes_on(newest)

        try:
            until(over, PATIENCE, every=_LOOK)
        except AssertionError:
            return  # and is found out to have run nowhere
        desk.finished()

    def finish(self) -> None:
        """End the browser and the endpoint."""
        self._open.close()


def _goes_on(run: RunRecord | None) -> bool:
    return run is None or run.status == "running"
