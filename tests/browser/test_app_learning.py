"""The learning page in a real browser without torch: a finished training is read, used, and plans."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from storage import SessionStore
from studio.learning.training_run import TRAINED
from tests.browser.app_server import AppServer
from tests.browser.axe import assert_accessible_if_installed
from tests.browser.workbench_page import WorkbenchPage
from tests.support.stores.training_folders import done_training

pytestmark = pytest.mark.browser


@pytest.fixture
def app(chromium: str, tmp_path: Path) -> Iterator[AppServer]:
    """The app beside a finished training, whose Conductor is the shipped one, with a pool of experts."""
    _ = done_training(tmp_path / "learn" / "mine")
    pool = tmp_path / "pool.toml"
    pool.write_text('workers = "orchard"\n', encoding="utf-8")
    with AppServer(tmp_path, settings={"CONDUCTOR_POOL": str(pool)}) as server:
        yield server


def test_a_finished_training_is_read_used_and_plans(app, visit, subtests):
    page = visit(app, "/learning")
    page.get_by_role("button", name="mine", exact=True).click()
    expect(page.get_by_role("heading", name="mine", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Compared with baselines")).to_be_visible()
    expect(page.get_by_text("Right answers").first).to_be_attached()
    assert_accessible_if_installed(page, subtests)
    page.get_by_role("button", name="Use this Conductor").click()
    expect(page.get_by_text("mine is the Conductor now")).to_be_visible()
    written = tomllib.loads((app.folder / "pool.toml").read_text(encoding="utf-8"))
    assert (written["workers"], written["conductor"]["model"]) == ("orchard", f"learn/mine/{TRAINED}")
    page.get_by_role("link", name="Workbench", exact=True).first.click()
    WorkbenchPage(page).plan("What is 12 plus 30?").settle()
    with SessionStore.open(app.database) as store:
        (session,) = store.sessions.listed()
        plan = store.plans.latest(session.id)
    assert plan is not None
    assert (plan.planner, plan.planner_kind) == ("mine", "embedded")
