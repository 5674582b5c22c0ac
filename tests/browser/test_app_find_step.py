"""The step that spoiled an answer is sought and found in a real browser, by the keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import Graph, WorkbenchPage

pytestmark = pytest.mark.browser


def test_after_a_thumbs_down_the_step_is_found_with_the_keyboard(visit, built_in_app):
    session = built_in_app.plant(
        Step(instruction="Find a number.", worker="smol"),
        Step(instruction="Add 9 to the previous result", worker="calculator", access=(0,)),
        query="What is 17 * 23 + 9?",
    )
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    desk.run()
    expect(desk.answer).to_be_visible()
    keys = desk.page.keyboard
    desk.page.get_by_role("radio", name="Thumbs down").focus()
    keys.press("Enter")
    desk.button("Find the step").focus()
    keys.press("Enter")
    form = desk.keyed("new-experiment")
    form.get_by_label("Accepted answer").focus()
    keys.type("42")
    keys.press("Tab")
    expect(form.get_by_text("choose a worker or write an output")).to_be_visible()
    form.get_by_label("By hand").focus()
    keys.type("Find")
    expect(desk.page.get_by_role("option", name="1. Find a number")).to_be_visible()
    keys.press("Enter")
    keys.press("Escape")
    written = form.get_by_label("Output of step 1")
    written.focus()
    keys.press("ControlOrMeta+a")
    keys.type("Answer: 33")
    keys.press("ControlOrMeta+Enter")
    expect(form.get_by_text("1 run")).to_be_visible()
    form.get_by_role("button", name="Try").focus()
    keys.press("Enter")
    expect(desk.page.get_by_text("A different output of step 1 makes the answer right.")).to_be_visible()
    graph = Graph(desk.page)
    graph.wait("graph.cards[0].content.note === 'right in 1 of 1' && graph.cards[0].content.heat.share === 1")
    assert graph.ask("cards[1].content.heat") is None
    head = desk.page.locator('[class*="st-key-experiment-"]').filter(has_text="1 output replaced").first
    drawer, results = desk.keyed("drawer-body").bounding_box(), head.bounding_box()
    assert drawer["y"] <= results["y"] < drawer["y"] + drawer["height"] / 2
    summary = desk.page.locator("summary").filter(has_text="by hand: the answer is right")
    summary.focus()
    keys.press("Enter")
    expect(desk.page.get_by_role("region", name="Answer 1")).to_contain_text("42")
