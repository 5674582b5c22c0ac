"""Keeping a question as a test in a real browser: the form by the thumbs, by keyboard; what it refuses."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.contrast import assert_readable
from tests.browser.test_app_looks import assert_fits
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

HOSTILE = '<img src="/kept.png" onerror="alert(1)"> **x**'


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_question_is_kept_by_keyboard_and_refused_twice(visit, paced_app, browser, theme):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    session = paced_app.plant(Step(instruction="Say it.", worker="writer-8b"))
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}", inside=context)).settled()
    desk.run()
    opens = desk.page.get_by_role("button", name="Keep as a test")
    opens.focus()
    desk.page.keyboard.press("Enter")
    form = desk.keyed("keep-test")
    accepted = form.get_by_label("Accepted answer")
    expect(accepted).not_to_have_value("")
    accepted.fill(" ")
    form.get_by_role("button", name="Keep", exact=True).click()
    expect(form.get_by_text("The accepted answer is empty")).to_be_visible()
    assert_readable(desk.page)
    assert_fits(desk.page)
    # A set by a new name.
    form.get_by_role("combobox", name="Set").fill("../x.jsonl")
    desk.page.keyboard.press("Enter")
    accepted.fill(HOSTILE)
    accepted.press("Control+Enter")
    expect(form.get_by_text("cannot be a set's name")).to_be_visible()
    form.get_by_role("combobox", name="Set").fill("Rivers")
    desk.page.keyboard.press("Enter")
    accepted.press("Control+Enter")
    expect(desk.page.get_by_text("Kept in the set Rivers")).to_be_visible()
    expect(form).to_have_count(0)
    desk.page.get_by_role("button", name="Kept as a test").click()
    expect(form.get_by_text("In Rivers: right where the answer contains it")).to_contain_text(HOSTILE)
    assert desk.page.locator('img[src*="kept.png"]').count() == 0
    assert_fits(desk.page)
    form.get_by_role("button", name="Delete").click()
    expect(form.get_by_text("In Rivers")).to_have_count(0)
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_role("button", name="Keep as a test")).to_be_visible()
    with paced_app.store() as store:
        assert "Rivers" not in store.tests.sets()


def test_history_counts_the_tests_that_a_revision_passes(visit, paced_app):
    session = paced_app.plant(Step(instruction="Say it.", worker="writer-8b"))
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}")).settled()
    desk.run()
    desk.page.get_by_role("button", name="Keep as a test").click()
    accepted = desk.keyed("keep-test").get_by_label("Accepted answer")
    expect(accepted).not_to_have_value("")
    accepted.press("Control+Enter")
    expect(desk.page.get_by_text("Kept in the set team")).to_be_visible()
    desk.drawer("History")
    row = desk.page.get_by_role("listbox", name="History").get_by_role("option").first
    expect(row.locator(".mark.tests")).to_have_text("1/1 test")
    expect(row).to_contain_text("1 of 1 test passed")
    assert_readable(desk.page)
    assert_fits(desk.page)
    with paced_app.store() as store:
        (test,) = store.tests.of_set("team")
        store.tests.delete(test.id)
