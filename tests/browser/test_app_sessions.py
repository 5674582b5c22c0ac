"""The sessions page in a real browser: what a person did is found again, renamed, deleted, brought back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from workbench_page import WorkbenchPage

from conductor.workflow import Step

pytestmark = pytest.mark.browser

HOSTILE = '<img src="/title.png" onerror="alert(1)"> **b** [l](/title) $x$ :red[r]'


def test_a_session_is_renamed_deleted_brought_back_and_reopened(visit, offline_app):
    session = offline_app.plant(Step(instruction="Solve it.", worker="mathematics"), query="What is 2 + 2?")
    page = visit(offline_app, "/sessions")
    page.get_by_role("button", name="Rename").first.click()
    title = page.get_by_label("Title")
    title.fill(HOSTILE)
    title.press("Enter")
    row = page.get_by_role("button", name=HOSTILE)
    expect(row).to_be_visible()
    assert page.locator('img[src*="title"], main a[href*="title"], .katex').count() == 0
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Delete").first.click()
    expect(row).to_have_count(0)
    expect(page.get_by_text(f"Deleted {HOSTILE}")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    row.click()
    desk = WorkbenchPage(page)
    expect(desk.graph.cards).to_have_count(1)
    assert desk.session == session
    expect(desk.query).to_have_value("What is 2 + 2?")


def test_the_open_session_survives_a_visit_to_the_sessions_page(visit, offline_app):
    session = offline_app.plant(Step(instruction="Solve it.", worker="mathematics"), query="What is 3 + 3?")
    desk = WorkbenchPage(visit(offline_app, f"/?session={session}"))
    expect(desk.graph.cards).to_have_count(1)
    desk.page.get_by_role("link", name="Sessions").click()
    expect(desk.page.get_by_role("heading", name="Sessions")).to_be_visible()
    desk.page.get_by_role("link", name="Workbench").click()
    expect(desk.graph.cards).to_have_count(1)
    assert desk.session == session
