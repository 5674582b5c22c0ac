"""A step gets a rule for failures in the inspector, and its run, card and output show what the rule gave."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.workbench_page import THREE, WorkbenchPage

pytestmark = pytest.mark.browser


def test_a_step_that_fails_takes_the_text_of_its_rule(visit, paced_app):
    first = THREE[0].model_copy(update={"worker": "broken-1b"})
    session = paced_app.plant(first, THREE[2])
    page = visit(paced_app, f"/?session={session}")
    desk = WorkbenchPage(page)
    desk.graph.click(0)
    page.get_by_role("tab", name="Instruction").click()
    page.get_by_text("If it fails", exact=True).click()
    page.get_by_role("spinbutton", name="Retries").fill("1")
    page.get_by_role("spinbutton", name="Pause, seconds").fill("0")
    desk.choose("If no answer comes", "A text replaces it")
    page.get_by_label("Replacement text").fill("No sources were found.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("If it fails: 1 more call, then a text takes its place")).to_be_visible()
    desk.run()
    desk.finished()
    expect(desk.graph.cards.nth(0)).to_contain_text("by rule")
    desk.graph.click(0)
    page.get_by_role("tab", name="Output").click()
    expect(
        page.get_by_text("The step failed and was replaced with the text of its failure rule")
    ).to_be_visible()
    expect(desk.region("Output")).to_contain_text("No sources were found.")
    page.get_by_role("tab", name="Instruction").click()
    page.get_by_text("If it fails: 1 more call, then a text takes its place").click()
    page.get_by_role("spinbutton", name="Retries").fill("0")
    desk.choose("Then ask", "writer-8b")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("If it fails: writer-8b answers in its place, then a text")).to_be_visible()
    desk.run()
    expect(desk.graph.cards.nth(0)).to_contain_text("in place of broken-1b")
