"""The sessions page in a real browser: what a person did is found again, renamed, deleted, brought back."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

HOSTILE = '<img src="/title.png" onerror="alert(1)"> **b** [l](/title) $x$ :red[r]'


def act(page, title, name):
    """Choose in the menu of the session of that title."""
    page.get_by_role("button", name=f"Actions for {title}").click()
    page.get_by_role("menuitem", name=name).click()


def test_a_session_is_renamed_deleted_brought_back_and_reopened(visit, built_in_app):
    session = built_in_app.plant(
        Step(instruction="Solve it.", worker="calculator"), query="Whose question is it?"
    )
    page = visit(built_in_app, "/sessions")
    act(page, "Whose question is it?", "Rename")
    title = page.get_by_label("Title")
    title.fill(HOSTILE)
    title.press("Enter")
    row = page.get_by_role("button", name=HOSTILE, exact=True)
    expect(row).to_be_visible()
    assert page.locator('img[src*="title"], main a[href*="title"], .katex').count() == 0
    act(page, HOSTILE, "Delete")
    expect(row).to_have_count(0)
    expect(page.get_by_text(f"Deleted “{HOSTILE}”")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    row.click()
    desk = WorkbenchPage(page)
    expect(desk.graph.cards).to_have_count(1)
    assert desk.session == session
    desk.rewrite()
    expect(desk.query).to_have_value("Whose question is it?")


def test_on_a_phone_the_actions_of_a_session_are_large_enough_to_press(visit, built_in_app):
    built_in_app.plant(Step(instruction="Solve it.", worker="calculator"), query="A phone's question")
    page = visit(built_in_app, "/sessions")
    page.set_viewport_size({"width": 420, "height": 900})
    box = page.get_by_role("button", name="Actions for A phone's question").bounding_box()
    assert min(box["width"], box["height"]) >= 36
    assert box["x"] + box["width"] <= 420
    act(page, "A phone's question", "Delete")
    expect(page.get_by_text("Deleted “A phone's question”")).to_be_visible()


def test_a_session_is_found_while_its_words_are_typed_then_linked_tagged_forked_and_exported(own_app, visit):
    for number, worker in enumerate(("calculator", "smol", "calculator")):
        own_app.plant(
            Step(instruction=f"Weigh the Küstenlinie {number}.", worker=worker), query=f"Question {number}"
        )
    with own_app.store() as store:
        store.sessions.create("Nothing of the kind")
    page = visit(own_app, "/sessions")
    rows = page.locator('[data-testid="stElementContainer"][class*="st-key-open-"]')
    expect(rows).to_have_count(4)
    box = page.get_by_role("searchbox")
    box.press_sequentially("weigh KUST", delay=40)
    expect(rows).to_have_count(3)
    expect(box).to_have_value("weigh KUST")
    expect(box).to_be_focused()
    expect(page.get_by_text("Instruction: Weigh the Küstenlinie 2.")).to_be_visible()
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Worker").click()
    page.get_by_role("option", name="calculator").click()
    expect(rows).to_have_count(2)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"q=weigh\+KUST&worker=calculator"))
    linked = visit(own_app, page.url.removeprefix(own_app.url))
    expect(linked.get_by_role("searchbox")).to_have_value("weigh KUST")
    expect(linked.locator('[data-testid="stElementContainer"][class*="st-key-open-"]')).to_have_count(2)
    page.get_by_role("checkbox", name="Select this page").check(force=True)
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("combobox", name="Tags").fill("coast")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Add tags").click()
    expect(page.locator(".stMarkdownBadge", has_text="coast")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert json.loads(download.value.path().read_text(encoding="utf-8").splitlines()[0])["sessions"] == 2
    page.get_by_role("button", name="calculator", exact=True).click()
    expect(rows).to_have_count(3)
    act(page, "Question 1", "Fork")
    desk = WorkbenchPage(page)
    expect(desk.graph.cards).to_have_count(1)
    page.get_by_role("link", name="Forked from revision 1 of Question 1").click()
    expect(page.get_by_role("link", name="Forked from")).to_have_count(0)
    expect(desk.title).to_contain_text("Question 1")


def test_the_open_session_survives_a_visit_to_the_sessions_page(visit, built_in_app):
    session = built_in_app.plant(Step(instruction="Solve it.", worker="calculator"), query="What is 3 + 3?")
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    expect(desk.graph.cards).to_have_count(1)
    desk.page.get_by_role("link", name="Sessions").click()
    expect(desk.page.get_by_role("heading", name="Sessions")).to_be_visible()
    desk.page.get_by_role("link", name="Workbench").click()
    expect(desk.graph.cards).to_have_count(1)
    assert desk.session == session


def test_a_query_that_was_typed_and_left_for_a_session_comes_back_with_new(visit, built_in_app):
    session = built_in_app.plant(Step(instruction="Solve it.", worker="calculator"), query="What is 4 + 4?")
    desk = WorkbenchPage(visit(built_in_app))
    desk.query.fill("A long question, half writ")
    desk.keyed(f"recent-{session}").get_by_role("button").click()
    expect(desk.title).to_contain_text("What is 4 + 4?")
    expect(desk.query).to_have_value("")
    desk.button("New").click()
    expect(desk.query).to_have_value("A long question, half writ")
    desk.page.get_by_role("link", name="Sessions").click()
    expect(desk.page.get_by_role("heading", name="Sessions")).to_be_visible()
    desk.page.get_by_role("link", name="Workbench").click()
    expect(desk.query).to_have_value("A long question, half writ")


def test_the_list_stays_on_its_page_through_every_action_and_a_visit_elsewhere(own_app, visit):
    with own_app.store() as store:
        for number in range(43):
            store.sessions.create(f"Question {number:02}")
    page = visit(own_app, "/sessions")
    rows = page.locator('[data-testid="stElementContainer"][class*="st-key-open-"]')
    expect(rows.first).to_have_text(re.compile("Question 42"))
    page.get_by_role("button", name="Page 3", exact=True).click()
    expect(rows).to_have_count(3)
    act(page, "Question 01", "Rename")
    page.get_by_label("Title").fill("Another name")
    page.get_by_label("Title").press("Enter")
    expect(rows.nth(1)).to_have_text(re.compile("Another name"))
    rows.first.get_by_role("button").click()
    expect(WorkbenchPage(page).title).to_contain_text("Question 02")
    page.get_by_role("link", name="Sessions").click()
    expect(rows).to_have_count(3)
    for left in (2, 1, 20):
        page.get_by_role("button", name="Actions for").first.press("Enter")
        page.get_by_role("menuitem", name="Delete").press("Enter")
        expect(rows).to_have_count(left)
        expect(page.get_by_role("button", name="Undo")).to_be_focused()
    expect(rows.first).to_have_text(re.compile("Question 22")), "the page before, as the last one is gone"


def test_filters_that_were_taken_away_stay_away(own_app, visit):
    for number, worker in enumerate(("calculator", "smol")):
        own_app.plant(Step(instruction="Weigh it.", worker=worker), query=f"Question {number}")
    page = visit(own_app, "/sessions")
    rows = page.locator('[data-testid="stElementContainer"][class*="st-key-open-"]')
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Worker").click()
    page.get_by_role("option", name="smol").click()
    expect(rows).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show all sessions").click()
    expect(rows).to_have_count(2)
    page.wait_for_timeout(500), "until an old value is no longer taken for an echo"
    page.get_by_role("checkbox", name="Select this page").check(force=True)
    expect(page.get_by_text("2 selected of 2")).to_be_visible()
    expect(rows).to_have_count(2)
