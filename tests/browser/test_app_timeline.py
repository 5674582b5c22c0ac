"""A run by time: its rows follow the selection, and its replay moves the page and leaves nothing to press."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

STEPS = (
    Step(instruction="Find what is asked.", worker="planner-7b"),
    Step(instruction="Write at length.", worker="steady-13b", access=(0,)),
    Step(instruction="Check it.", worker="critic-7b", access=(1,)),
)


def test_a_run_is_looked_at_by_time_and_replayed(visit, paced_app):
    session = paced_app.plant(*STEPS)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.run()
    desk.finished()
    desk.drawer("Timeline")
    timeline = desk.page.locator(".timeline")
    rows = timeline.get_by_role("option")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_have_accessible_name(re.compile(r"2\. Write at length.*On the critical path"))
    expect(timeline.get_by_role("table")).to_contain_text("Began when step 1 was done")
    expect(
        desk.page.get_by_text(re.compile("Without the edge 1 → 2 this run would have taken"))
    ).to_be_visible()

    # Selected in one place, selected everywhere.
    timeline.get_by_role("listbox").focus()
    for _ in range(2):
        desk.page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    expect(desk.inspector.get_by_role("heading", name="2. ")).to_be_visible()
    expect(desk.graph.cards.nth(1)).to_have_attribute("aria-selected", "true")
    desk.select(0)
    expect(rows.nth(0)).to_have_attribute("aria-selected", "true")
    desk.select(1)

    # A moment in the middle: the second step runs, and nothing can be changed or started.
    seconds = float(timeline.get_by_label("Moment of the run").get_attribute("max"))
    timeline.get_by_label("Moment of the run").fill(str(seconds / 2))
    expect(desk.page.get_by_text(re.compile(r"Replay, \d+\.\d of \d+\.\d s"))).to_be_visible()
    expect(desk.graph.cards.nth(1)).to_contain_text("running")
    expect(desk.graph.cards.nth(2)).to_contain_text("not run yet")
    expect(desk.field("Instruction")).to_be_disabled()
    expect(desk.keyed("run")).to_have_count(0)
    # Twice back, because from the last of the early moments the next one is the end.
    for name in ("To the moment before", "To the moment before", "To the next moment"):
        timeline.get_by_role("button", name=name).click()

    # One click back; then all of it, the rest at twice its pace, to the end by itself.
    desk.keyed("replay-end").get_by_role("button").click()
    expect(desk.keyed("run-split").get_by_role("button").last).to_be_enabled()
    expect(desk.graph.cards.nth(2)).to_contain_text("finished")
    expect(timeline.locator(".moment")).not_to_contain_text("of")
    timeline.get_by_role("button", name="Replay", exact=True).click()
    expect(timeline.get_by_role("button", name="Pause")).to_be_visible()
    timeline.get_by_role("radio", name="2x").click()
    expect(timeline.get_by_role("button", name="Replay", exact=True)).to_be_visible()
    expect(desk.keyed("replay-end")).to_have_count(0)
    expect(desk.keyed("run-split").get_by_role("button").last).to_be_enabled()
    expect(desk.field("Instruction")).to_be_enabled()
    assert paced_app.calls(session) == [[0, 1, 2]]
