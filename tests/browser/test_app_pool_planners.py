"""A planner for one's own pool in a real browser, by a person who has read nothing: learnt, used, undone."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from storage import SessionStore
from tests.browser.app_server import AppServer
from tests.browser.axe import assert_accessible_if_installed
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

POOL = 'workers = "orchard"\n'

LEARNING = 180_000
"""The milliseconds that a learning may take on a busy machine; alone it takes ten seconds."""


@pytest.fixture
def app(chromium: str, tmp_path: Path) -> Iterator[AppServer]:
    (tmp_path / "pool.toml").write_text(POOL, encoding="utf-8")
    with AppServer(tmp_path, settings={"CONDUCTOR_POOL": str(tmp_path / "pool.toml")}) as server:
        yield server


def test_a_planner_is_learnt_for_the_pool_used_on_the_workbench_and_taken_back(app, visit, subtests):
    page = visit(app, "/learning")
    desk = WorkbenchPage(page)
    expect(page.get_by_role("heading", name="Your pool")).to_be_visible()
    page.get_by_text("Demo", exact=True).click()
    expect(page.get_by_text("demo: 300 questions")).to_be_visible()
    desk.keyed("planner-settings").get_by_text("Settings", exact=True).click()
    for field, number in (("Questions", 40), ("Random plans", 2), ("Best plans", 4)):
        page.get_by_role("spinbutton", name=field, exact=True).fill(str(number))
        page.keyboard.press("Enter")
    expect(desk.keyed("planner-forecast")).to_contain_text("500")
    assert_accessible_if_installed(page, subtests)
    desk.button("Learn").click()
    expect(page.get_by_role("heading", name="mine", level=1)).to_be_visible()
    expect(desk.keyed("planner-progress")).to_contain_text("Trying plans")
    expect(desk.button("Use this planner")).to_be_visible(timeout=LEARNING)
    expect(page.get_by_role("heading", name="On held-out questions")).to_be_visible()
    # The chart of the examination that went on leaves a moment later.
    expect(page.get_by_role("heading", name="What accuracy costs")).to_have_count(1)
    expect(page.get_by_role("heading", name="Plans before and after")).to_be_visible()
    assert_accessible_if_installed(page, subtests)
    desk.button("Use this planner").click()
    expect(page.get_by_text("mine plans now.")).to_be_visible()
    assert tomllib.loads((app.folder / "pool.toml").read_text(encoding="utf-8"))["planner"] == "mine"
    page.get_by_role("link", name="Workbench", exact=True).first.click()
    desk.plan("What is 12 plus 30?").settle()
    expect(page.get_by_text("planner:mine", exact=True)).to_be_visible()
    with SessionStore.open(app.database) as store:
        plans = [store.plans.latest(session.id) for session in store.sessions.listed()]
    assert "planner:mine" in [plan.planner for plan in plans if plan is not None]
    page.get_by_role("link", name="Learning", exact=True).first.click()
    expect(page.get_by_text("mine plans for this pool.")).to_be_visible()
    desk.button("Undo").click()
    expect(page.get_by_text("mine plans for this pool.")).to_have_count(0)
    assert (app.folder / "pool.toml").read_text(encoding="utf-8") == POOL
