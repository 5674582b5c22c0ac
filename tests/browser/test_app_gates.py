"""A run waits before a step for a person, who sees what it is sent, and goes on, edits, skips or stops."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.workbench_page import THREE, WorkbenchPage

pytestmark = pytest.mark.browser


def test_a_dot_takes_and_gives_a_gate_and_what_waits_is_skipped_or_stopped(visit, paced_app):
    session = paced_app.plant(*THREE)
    page = visit(paced_app, f"/?session={session}")
    desk = WorkbenchPage(page)
    desk.graph.click(2)
    page.mouse.click(*desk.graph.ask("gates()")[2])
    expect(desk.graph.cards.nth(2)).to_contain_text("with a gate before it")
    page.mouse.click(*desk.graph.ask("gates()")[2])
    expect(desk.graph.cards.nth(2)).not_to_contain_text("with a gate before it")
    page.get_by_role("tab", name="Instruction").click()
    page.get_by_role("button", name="Gate", exact=True).click()
    expect(desk.graph.cards.nth(2)).to_contain_text("with a gate before it")
    desk.run()
    expect(page.get_by_text("Waiting before step 3.")).to_be_visible()
    page.get_by_text("Step 3", exact=True).click()
    page.get_by_role("tab", name="Output").click()
    page.get_by_role("button", name="Write", exact=True).click()
    page.get_by_label("Your output").fill("By hand.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(desk.graph.cards.nth(2)).to_contain_text("by hand")
    desk.button("Continue").click()
    expect(desk.button("Rerun")).to_be_visible()
    assert paced_app.calls(session) == [[0, 1], []]


def test_what_waits_can_be_stopped(visit, paced_app):
    session = paced_app.plant(THREE[0], THREE[2].model_copy(update={"gate": True}))
    page = visit(paced_app, f"/?session={session}")
    desk = WorkbenchPage(page)
    desk.run()
    expect(desk.button("Continue")).to_be_visible()
    desk.button("Stop").click()
    expect(page.get_by_text("Stopped. 1 finished output kept")).to_be_visible()
    expect(desk.button("Rerun")).to_be_visible()
