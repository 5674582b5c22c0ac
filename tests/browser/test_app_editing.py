"""Editing in a real browser: undo covers every kind of edit, and text fields keep their own keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser


def give_worker(desk: WorkbenchPage) -> None:
    desk.select(2)
    desk.choose("Worker", "critic-7b")


def write_instruction(desk: WorkbenchPage) -> None:
    desk.select(2)
    desk.field("Instruction").fill("Say it in one word.")
    desk.field("Instruction").press("Control+Enter")


def draw_access(desk: WorkbenchPage) -> None:
    desk.graph.drag(1, 2)


def delete_access(desk: WorkbenchPage) -> None:
    desk.graph.click_edge("0-2")
    desk.page.keyboard.press("Delete")


def choose_access(desk: WorkbenchPage) -> None:
    desk.select(2)
    desk.choose("Can see", "2. Look from another side")
    desk.page.keyboard.press("Escape")


def add_step(desk: WorkbenchPage) -> None:
    desk.select(0)
    desk.inspector.get_by_role("button", name="Add").click()


def remove_step(desk: WorkbenchPage) -> None:
    desk.graph.click(1)
    desk.page.keyboard.press("Delete")


def move_step(desk: WorkbenchPage) -> None:
    desk.select(1)
    desk.inspector.get_by_role("button", name="Up").click()


EDITS = (
    (give_worker, 2, "worker planner-7b", "worker critic-7b"),
    (write_instruction, 2, "Give the result", "Say it in one word"),
    (draw_access, 2, "reads step 1", "reads steps 1, 2"),
    (choose_access, 2, "reads step 1", "reads steps 1, 2"),
    (delete_access, 2, "reads step 1", "reads no step"),
    (add_step, 1, "Look from another side", "Check the answer that you can"),
    (remove_step, 1, "Look from another side", "Give the result"),
    (move_step, 0, "Find what is asked", "Look from another side"),
)
"""An edit, the card (from 0) on which it is seen, and what that card shows before and after."""


def test_every_edit_is_undone_and_redone_by_key(desk):
    for edit, card, before, after in EDITS:
        element = desk.graph.cards.nth(card)
        expect(element).to_contain_text(re.compile(rf"{before}(,|$)"))
        edit(desk)
        for key, seen in (
            ("", after),
            ("Control+z", before),
            ("Control+Shift+Z", after),
            ("Control+z", before),
        ):
            desk.leave_fields()
            if key:
                desk.page.keyboard.press(key)
            expect(element, f"{edit.__name__} {key}").to_contain_text(re.compile(rf"{seen}(,|$)"))
            desk.settled()
        expect(desk.keyed("undo").get_by_role("button")).to_be_hidden()


def test_text_fields_keep_undo_and_control_enter_for_themselves(desk, paced_app):
    desk.select(2)
    session = desk.session
    instruction = desk.field("Instruction")
    instruction.fill("Say it in one word.")
    instruction.press("Control+Enter")
    expect(desk.graph.cards.nth(2)).to_contain_text("Say it in one word")
    assert desk.session == session, "Ctrl+Enter in the instruction planned a new workflow"
    instruction.press_sequentially("!")
    instruction.press("Control+z")
    expect(instruction).to_have_value("Say it in one word.")
    desk.settled()
    with paced_app.store() as store:
        assert [revision.note for revision in store.revisions.of_session(session)] == [
            "Planted",
            "Step 3: instruction",
        ]
        assert store.revisions.head(session).number == 2


def test_an_edit_that_breaks_a_rule_is_refused_with_its_reason(desk):
    desk.select(0)
    desk.field("Instruction").fill("  ")
    desk.field("Instruction").press("Control+Enter")
    expect(desk.inspector.get_by_role("alert")).to_contain_text("Step 1 has an empty instruction")
    expect(desk.graph.cards.first).to_contain_text("Find what is asked")
    expect(desk.field("Instruction")).to_have_value("  ")  # left to be fixed, not thrown away


def test_arrows_walk_the_cards_and_enter_leads_to_the_inspector(desk):
    desk.graph.stage.focus()
    desk.page.keyboard.press("ArrowDown")
    expect(desk.inspector.get_by_role("heading")).to_have_text("1. Find what is asked")
    desk.page.keyboard.press("ArrowRight")
    expect(desk.inspector.get_by_role("heading")).to_have_text("2. Look from another side")
    expect(desk.field("Worker")).to_be_visible()
    desk.page.keyboard.press("Enter")
    expect(desk.field("Worker")).to_be_focused()


def test_an_output_that_was_typed_survives_another_card_and_is_saved_by_keyboard(desk, paced_app, complaints):
    desk.select(0)
    desk.part("Output")
    desk.button("Write").click()
    desk.field("Your output").fill("What I know of it.")
    desk.select(1)
    desk.button("Not saved: the output of 1. Find what is asked").click()
    field = desk.field("Your output")
    expect(field).to_have_value("What I know of it.")
    expect(desk.keyed("output-pen").get_by_text("not saved")).to_be_visible()
    field.press("End")
    field.press_sequentially(" And more.")
    field.press("Control+Enter")
    expect(desk.region("Output")).to_contain_text("What I know of it. And more.")
    with paced_app.store() as store:
        pin = store.revisions.head(desk.session).workflow.steps[0].pin
    assert pin.text == "What I know of it. And more."
    # The click on the card ended the edit of the text, too: one message for two fragments.
    complaints[:] = [text for text in complaints if "Multiple different fragmentIds" not in text]
