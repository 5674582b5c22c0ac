"""Two processes of the app on one PostgreSQL database: whose run it is makes no difference to who looks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.browser_settings import paced
from tests.browser.workbench_page import WorkbenchPage
from tests.support.stores.postgres_server import serving

pytestmark = pytest.mark.browser

QUICK = Step(instruction="Find what is asked.", worker="writer-8b")
ENDLESS = Step(instruction="Write without an end.", worker="endless-70b", access=(0,))


def _app(folder: Path, database: str) -> AppServer:
    folder.mkdir()
    server = AppServer(folder, settings=paced(folder) | {"CONDUCTOR_DATABASE_URL": database})
    server.database = database
    return server


def test_a_run_is_seen_stopped_and_survived_by_another_process(visit, tmp_path):
    with serving() as postgres:
        url = postgres.url(postgres.database())
        with _app(tmp_path / "one", url) as one, _app(tmp_path / "two", url) as two:
            session = one.plant(QUICK, ENDLESS)
            runner = WorkbenchPage(visit(one, f"/?session={session}"))
            runner.run()
            watcher = WorkbenchPage(visit(two, f"/?session={session}"))
            for desk in (runner, watcher):
                expect(desk.graph.cards.nth(1)).to_contain_text("running")
                expect(desk.streams).to_be_visible()
            longer = len(watcher.streams.inner_text()) + 20
            expect(watcher.streams).to_have_text(re.compile(rf"[^$]{{{longer},}}"))
            watcher.button("Stop").click()
            for desk in (watcher, runner):
                expect(desk.page.get_by_text("Stopped. 1 finished output kept")).to_be_visible()
            runner.settled().run()
            expect(runner.streams).to_be_visible()
            expect(watcher.streams).to_be_visible()
            runner.page.close()
            one.kill()
            died = watcher.page.get_by_text("Interrupted: the process that ran this ended")
            expect(died).to_be_visible()
            expect(watcher.graph.cards.nth(1)).to_contain_text("interrupted")
            assert two.calls(session) == [[0, 1], [1]]
            watcher.page.close()
