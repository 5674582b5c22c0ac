"""Keyboard focus in a real browser: it never falls off the page when what has it goes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from conductor.workflow.model import Step
from pages.components.keyboard.shortcuts import SHORTCUTS
from tests.browser.scripted_endpoint import held
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser


def press(button: Locator, key: str = "Enter") -> None:
    """Press a button by keyboard."""
    expect(button).to_be_enabled()
    button.focus()
    button.press(key)


def in_box(desk: WorkbenchPage, key: str) -> Locator:
    return desk.keyed(key).get_by_role("button")


def test_undo_and_redo_hand_the_focus_to_each_other(desk):
    desk.select(1)
    desk.choose("Worker", "writer-8b")
    undo, redo = in_box(desk, "undo"), in_box(desk, "redo")
    press(undo)
    # One that can do nothing is out of sight.
    expect(undo).to_be_hidden()
    expect(redo).to_be_focused()
    desk.page.wait_for_timeout(600)
    redo.press("Enter")
    expect(redo).to_be_hidden()
    expect(undo).to_be_focused()


def test_the_focus_follows_from_run_to_stop_and_back(visit, paced_app, endpoint):
    endpoint.say(answer := held("It is written at length."))
    session = paced_app.plant(Step(instruction="Write at length.", worker="scripted-13b"))
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    press(in_box(desk, "run"))
    expect(in_box(desk, "stop")).to_be_focused()
    answer.released.set()
    desk.finished()
    # Nothing changed since, so there is nothing to rerun but all of it.
    expect(in_box(desk, "run")).to_be_disabled()
    expect(in_box(desk, "run-split").last).to_be_focused()
    assert paced_app.calls(session) == [[0]]


def test_a_key_held_down_does_not_press_who_gets_the_focus(visit, paced_app, endpoint):
    endpoint.say(answer := held("It is written at length."))
    session = paced_app.plant(Step(instruction="Write at length.", worker="scripted-13b"))
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    run = in_box(desk, "run")
    run.focus()
    desk.page.keyboard.down("Enter")
    expect(in_box(desk, "stop")).to_be_focused()
    for _ in range(8):
        desk.page.keyboard.down("Enter")
        desk.page.wait_for_timeout(100)
    desk.page.keyboard.up("Enter")
    answer.released.set()
    desk.finished()
    with paced_app.store() as store:
        assert store.runs.of_session(session)[0].status == "finished"


def test_removing_steps_one_after_the_other_keeps_the_focus_in_the_inspector(desk):
    desk.select(2)
    remove = in_box(desk, "step-delete")
    for left in (2, 1):
        press(remove)
        expect(desk.graph.cards).to_have_count(left)
        desk.settled()
        expect(remove if left > 1 else in_box(desk, "step-add")).to_be_focused()
        desk.page.wait_for_timeout(600)


def test_moving_a_step_to_its_end_hands_the_focus_to_the_other_arrow(desk):
    desk.select(1)
    up, down = in_box(desk, "step-arrow_upward"), in_box(desk, "step-arrow_downward")
    press(up)
    expect(desk.inspector.get_by_role("heading", name="1. ")).to_be_visible()
    expect(up).to_be_disabled()
    expect(down).to_be_focused()


def test_deleting_in_the_graph_leaves_the_focus_in_the_graph(desk):
    graph = desk.graph
    graph.stage.focus()
    desk.page.keyboard.press("End")
    desk.page.keyboard.press("Delete")
    expect(graph.cards).to_have_count(2)
    desk.settled()
    expect(graph.stage).to_be_focused()
    remove = graph.root.get_by_role("button", name="Remove step")
    press(remove)
    expect(graph.cards).to_have_count(1)
    desk.settled()
    expect(remove).to_be_hidden()
    expect(graph.stage).to_be_focused()


def test_an_example_chosen_by_keyboard_leads_to_run_and_new_to_the_query(visit, built_in_app):
    desk = WorkbenchPage(visit(built_in_app))
    press(desk.keyed("example-0").get_by_role("button"))
    expect(in_box(desk, "run")).to_be_focused()
    press(desk.button("New"))
    expect(desk.query).to_be_focused()


def test_who_takes_the_focus_away_keeps_it_away(desk):
    desk.select(1)
    desk.choose("Worker", "writer-8b")
    expect(in_box(desk, "undo")).to_be_enabled()
    in_box(desk, "undo").focus()
    desk.leave_fields()
    desk.page.keyboard.press("Control+z")
    expect(in_box(desk, "undo")).to_be_hidden()
    desk.settled()
    assert desk.page.evaluate("document.activeElement === document.body")


def test_a_worker_that_is_moved_takes_the_focus_along_and_at_the_end_hands_it_to_the_other_arrow(desk):
    desk.settings.click()
    up, down = desk.button("Up: critic-7b"), desk.button("Down: critic-7b")
    for row in (1, 0):
        press(up)
        expect(desk.keyed(f"settings-row-{row}")).to_contain_text("critic-7b")
        desk.settled()  # until then its row of before is there, too
        expect(up if row else down).to_be_focused()
        desk.page.wait_for_timeout(600)


def test_the_sheet_of_the_keys_opens_by_key_and_in_the_sidebar_and_hands_the_focus_back(desk):
    sheet = desk.page.get_by_role("dialog", name="Keyboard")
    desk.query.press("?")
    expect(desk.query).to_have_value("?")
    expect(sheet).to_have_count(0)
    run = in_box(desk, "run")
    run.press("?")
    expect(sheet).to_be_visible()
    close = sheet.get_by_role("button", name="Close")
    expect(close).to_be_focused()
    for shortcut in (shortcut for group in SHORTCUTS.values() for shortcut in group):
        expect(sheet.get_by_role("definition").filter(has_text=shortcut.does).first).to_be_visible()
    for _ in range(3):
        desk.page.keyboard.press("Tab")
        assert desk.page.evaluate(
            "document.activeElement.closest('dialog') ?? document.activeElement === document.body"
        )
    desk.page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    expect(run).to_be_focused()
    for place in ("Workbench", "Compare", "Sessions", "Evaluation", "Pool"):
        desk.page.get_by_role("link", name=place, exact=True).first.click()
        title = desk.page.get_by_role("heading", name=place, level=1, exact=True)
        # The link's own page, and not the one before it.
        expect(desk.query if place == "Workbench" else title).to_be_visible()
        desk.settled()
        desk.button("Keyboard ?").click()
        expect(sheet).to_be_visible()
        close.click()
        expect(desk.button("Keyboard ?")).to_be_focused()
