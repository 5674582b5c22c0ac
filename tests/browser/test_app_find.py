"""Ctrl+K in a real browser: words of a step and of a note, a command by name, and nothing found."""

from __future__ import annotations

from contextlib import suppress

import pytest
from playwright.sync_api import Locator, Page, expect
from workbench_page import WorkbenchPage

from conductor.workflow.model import Step

pytestmark = pytest.mark.browser

MARKED = "name => [...(CSS.highlights.get(name) ?? [])].map(String)"


def opened(page: Page, box: Locator) -> Locator:
    """The box, opened by its key."""
    for _ in range(6):
        page.keyboard.press("Control+k")
        with suppress(AssertionError):
            expect(box).to_be_focused(timeout=5_000)
            break
    return box


@pytest.mark.thorough
def test_words_are_found_reached_and_marked_and_commands_done_by_keyboard(visit, paced_app):
    given = (("Find the zebra in it.", "writer-8b"), ("Say it.", '<b id="worker">*worker*</b>'))
    steps = [Step(instruction=text, worker=worker) for text, worker in given]
    desk = WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(*steps)}")).settled()
    page = desk.page
    box = page.get_by_role("combobox", name="Words in this session, or a command")
    options = page.get_by_role("listbox", name="Found").get_by_role("option")

    # A key that comes before its listener is there is lost.
    expect(opened(page, box)).to_be_focused()
    page.keyboard.type("run the")
    expect(options.first).to_contain_text("Run the workflow")
    page.keyboard.press("Enter")
    expect(box).to_be_hidden()
    expect(desk.graph.cards.nth(1)).to_contain_text("finished")
    expect(desk.keyed("stop")).to_have_count(0)

    page.keyboard.press("Control+k")
    box.fill("<SCRIPT>")
    expect(options.filter(has_text="2. Say it · Output")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(desk.keyed("step-parts").get_by_role("tab", name="Output")).to_have_attribute(
        "aria-selected", "true"
    )
    page.wait_for_function(f"({MARKED})('conductor-found').length > 0")
    assert page.evaluate(MARKED, "conductor-found") == ["script"]

    page.keyboard.press("Control+k")
    box.fill("zebra")
    expect(options.filter(has_text="Instruction")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(desk.keyed("step-parts").get_by_role("tab", name="Instruction")).to_have_attribute(
        "aria-selected", "true"
    )
    page.keyboard.press("Control+k")
    box.fill("nobody wrote this")
    expect(page.get_by_text("No text or note of this session has these words.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()

    # What only an earlier run has opens beside the run of now.
    desk.field("Instruction").fill("Find the lion in it.")
    desk.field("Instruction").press("Control+Enter")
    expect(desk.graph.cards.nth(0)).to_contain_text("will run")
    desk.run()
    expect(desk.graph.cards.nth(0)).to_contain_text("finished")
    expect(desk.keyed("stop")).to_have_count(0)
    page.keyboard.press("Control+k")
    box.fill("zebra")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
