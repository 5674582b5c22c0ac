"""The sessions page in a real browser: what a person did is found again, renamed, deleted, brought back."""

from __future__ import annotations

import re

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


def test_a_query_that_was_typed_and_left_for_a_session_comes_back_with_new(visit, offline_app):
    session = offline_app.plant(Step(instruction="Solve it.", worker="mathematics"), query="What is 4 + 4?")
    desk = WorkbenchPage(visit(offline_app))
    desk.query.fill("A long question, half writ")
    desk.keyed(f"recent-{session}").get_by_role("button").click()
    expect(desk.query).to_have_value("What is 4 + 4?")
    desk.button("New").click()
    expect(desk.query).to_have_value("A long question, half writ")
    desk.page.get_by_role("link", name="Sessions").click()
    expect(desk.page.get_by_role("heading", name="Sessions")).to_be_visible()
    desk.page.get_by_role("link", name="Workbench").click()
    expect(desk.query).to_have_value("A long question, half writ")


def test_the_list_stays_on_its_page_through_every_action_and_a_visit_elsewhere(own_app, visit):
    with own_app.store() as store:
        for number in range(43):
            store.create_session(f"Question {number:02}")
    page = visit(own_app, "/sessions")
    rows = page.locator('[data-testid="stElementContainer"][class*="st-key-open-"]')
    expect(rows.first).to_have_text(re.compile("Question 42"))
    page.get_by_role("button", name="Page 3", exact=True).click()
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Rename").nth(1).click()
    page.get_by_label("Title").fill("Another name")
    page.get_by_label("Title").press("Enter")
    expect(rows.nth(1)).to_have_text(re.compile("Another name"))
    expect(page.get_by_role("button", name="Rename").nth(1)).to_be_focused()
    rows.first.get_by_role("button").click()
    expect(WorkbenchPage(page).query).to_have_value("Question 02")
    page.get_by_role("link", name="Sessions").click()
    expect(rows).to_have_count(3)
    for left in (2, 1, 20):
        page.get_by_role("button", name="Delete").first.press("Enter")
        expect(rows).to_have_count(left)
        expect(page.get_by_role("button", name="Undo")).to_be_focused()
    expect(rows.first).to_have_text(re.compile("Question 22")), "the page before, as the last one is gone"
