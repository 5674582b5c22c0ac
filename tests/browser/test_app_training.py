"""A newcomer trains a Conductor in the app, uses it, presses Plan, and sees its plan.

Where torch is: `make test-learn`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from storage import SessionStore
from tests.browser.app_server import AppServer
from tests.browser.workbench_page import WorkbenchPage

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif("CONDUCTOR_TEST_LEARN" not in os.environ, reason="torch is there: make test-learn"),
]

MINUTES = 4 * 60_000
"""Milliseconds for a small training, also where it runs beside others."""


@pytest.fixture
def app(chromium: str, tmp_path: Path) -> Iterator[AppServer]:
    """The app with a pool file that names the built-in experts."""
    pool = tmp_path / "pool.toml"
    pool.write_text('workers = "orchard"\n', encoding="utf-8")
    with AppServer(tmp_path, settings={"CONDUCTOR_POOL": str(pool)}) as server:
        yield server


def test_a_conductor_is_trained_used_and_plans(app, visit):
    page = visit(app, "/learning")
    page.locator(".st-key-training-settings summary").click()
    for label, number in (("Warm start, steps", "160"), ("GRPO, steps", "3")):
        field = page.get_by_label(label)
        field.fill(number)
        field.press("Tab")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_role("heading", name="demo", level=1)).to_be_visible()
    expect(page.get_by_text("Warm start: loss")).to_be_visible(timeout=MINUTES)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped")).to_be_visible(timeout=MINUTES)
    page.reload()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("heading", name="Compared with baselines")).to_be_visible(timeout=MINUTES)
    expect(page.get_by_role("heading", name="Plans before and after GRPO")).to_be_visible()
    page.get_by_role("button", name="Use this Conductor").click()
    expect(page.get_by_text("demo is the Conductor now")).to_be_visible()
    page.get_by_role("link", name="Workbench", exact=True).first.click()
    desk = WorkbenchPage(page)
    desk.plan("What is 12 plus 30?").settle()
    with SessionStore.open(app.database) as store:
        (session,) = store.sessions.listed()
        plan = store.plans.latest(session.id)
    assert plan is not None
    assert (plan.planner, plan.planner_kind) == ("demo", "embedded")
