"""The access grid in a real browser: reached, read and changed by keyboard, and linked with the graph."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser


def cell(desk: WorkbenchPage, reader: int, read: int) -> Locator:
    return desk.page.get_by_role("checkbox", name=f"Step {reader} may read step {read}", exact=True)


def rows_selected(desk: WorkbenchPage) -> Locator:
    return desk.page.locator(".access .row[data-selected] .title")


def test_access_is_given_and_taken_by_keyboard_and_stays_linked_with_the_graph(desk, paced_app):
    page = desk.page
    desk.drawer("Check")
    desk.graph.stage.focus()
    page.keyboard.press("Home")
    expect(rows_selected(desk)).to_have_text("1. Find what is asked")

    # Arrows, Home and End move the one focus; resting selects the row's step.
    cell(desk, 1, 1).focus()
    for key, reader, read in (
        ("ArrowDown", 2, 1),
        ("End", 2, 3),
        ("Control+End", 3, 3),
        ("Control+Home", 1, 1),
        ("ArrowUp", 1, 1),
        ("PageDown", 3, 1),
        ("ArrowRight", 3, 2),
    ):
        page.keyboard.press(key)
        expect(cell(desk, reader, read), key).to_be_focused()
    expect(desk.inspector.get_by_role("heading", name="3. Give the result")).to_be_visible()
    expect(rows_selected(desk)).to_have_text("3. Give the result")
    expect(desk.graph.cards.nth(2)).to_have_attribute("aria-selected", "true")

    # Space gives access: the graph shows it, the focus stays, and one undo takes it back.
    box = cell(desk, 3, 2)
    expect(box).not_to_be_checked()
    for key in ("Space", "ArrowUp", "ArrowDown"):  # what else is sent meanwhile may not take it back
        page.keyboard.press(key)
    expect(desk.graph.cards.nth(2)).to_contain_text(re.compile("reads steps 1, 2"))
    expect(box).to_be_checked()
    expect(box).to_be_focused()
    expect(desk.inspector.get_by_role("heading", name="3. Give the result")).to_be_visible()
    desk.settled()
    with paced_app.store() as store:
        assert [revision.note for revision in store.revisions.of_session(desk.session)] == [
            "Planted",
            "Step 3: access",
        ]
    page.keyboard.press("Control+z")
    expect(box).not_to_be_checked()
    expect(desk.graph.cards.nth(2)).to_contain_text(re.compile("reads step 1(,|$)"))
    desk.settled()
    box.click()
    expect(box).to_be_checked()

    # What comes later cannot be read, and shows why.
    never = cell(desk, 2, 3)
    expect(never).to_be_disabled()
    never.focus()
    page.keyboard.press("Space")
    expect(page.locator(".access").get_by_role("status")).to_have_text(
        "Step 2 comes before step 3 and cannot read it"
    )
    expect(never).not_to_be_checked()
    desk.settled()
    expect(desk.graph.cards.nth(1)).to_contain_text("reads no step")
