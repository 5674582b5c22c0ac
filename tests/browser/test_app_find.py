"""Ctrl+K in a real browser: words of a step, places by name, commands, and nothing that matches."""

from __future__ import annotations

from contextlib import suppress

import pytest
from playwright.sync_api import Locator, Page, expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

ONE = Step(instruction="Read the letter.", worker="writer-8b")

MARKED = "name => [...(CSS.highlights.get(name) ?? [])].map(String)"


def opened(page: Page, box: Locator) -> Locator:
    """The box, opened by its key."""
    for _ in range(6):
        page.keyboard.press("Control+k")
        with suppress(AssertionError):
            expect(box).to_be_focused(timeout=5_000)
            break
    return box


def test_words_are_found_reached_and_marked_and_commands_done_by_keyboard(visit, paced_app):
    plan = (("Find the zebra in it.", "writer-8b"), ("Say it.", '<b id="worker">*worker*</b>'))
    steps = [Step(instruction=text, worker=worker) for text, worker in plan]
    desk = WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(*steps)}")).settled()
    page = desk.page
    box = page.get_by_role("combobox", name="Search, or run a command")
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
    expect(options.filter(has_text="2. Say it").filter(has_text="Output")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(desk.keyed("step-parts").get_by_role("tab", name="Output")).to_have_attribute(
        "aria-selected", "true"
    )
    page.wait_for_function(f"({MARKED})('conductor-found').length > 0")
    assert page.evaluate(MARKED, "conductor-found") == ["script"]

    page.keyboard.press("Control+k")
    box.fill("zebra")
    options.filter(has_text="Instruction").click()
    expect(desk.keyed("step-parts").get_by_role("tab", name="Instruction")).to_have_attribute(
        "aria-selected", "true"
    )
    page.keyboard.press("Control+k")
    box.fill("nobody wrote this")
    expect(page.get_by_text("No results.")).to_be_visible()
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


def test_a_section_of_the_documentation_is_read_over_any_page_and_a_search_button_opens_the_box(
    visit, paced_app
):
    for path, heading in (("/usage", "Rerun what changed"), (f"/?session={paced_app.plant(ONE)}", "Tokens")):
        desk = WorkbenchPage(visit(paced_app, path)).settled()
        page = desk.page
        box = page.get_by_role("combobox", name="Search, or run a command")
        options = page.get_by_role("listbox", name="Found").get_by_role("option")
        page.get_by_role("button", name="Go anywhere").click()
        expect(box).to_be_focused()
        box.fill(heading)
        options.filter(has_text="Documentation").filter(has_text=heading).first.click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading", name=heading)).to_be_visible()
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_have_count(0)
        head = page.locator(".st-key-bar, .st-key-page-head").first
        assert head.bounding_box()["height"] < 60, "the page has its styles"


def test_files_are_exported_and_code_is_opened_by_name(visit, paced_app):
    desk = WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(ONE)}")).settled()
    page = desk.page
    box = page.get_by_role("combobox", name="Search, or run a command")
    expect(opened(page, box)).to_be_focused()
    box.fill("export the workflow")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".json")
    expect(opened(page, box)).to_be_focused()
    box.fill("from code")
    page.keyboard.press("Enter")
    expect(desk.button("Try it")).to_be_visible()


def test_every_page_goes_to_sessions_workers_and_pages_and_a_session_to_steps_and_panels(visit, paced_app):
    steps = [Step(instruction=text, worker="writer-8b") for text in ("Read the letter.", "Say it.")]
    session = paced_app.plant(*steps)
    page = visit(paced_app, "/pool")
    box = page.get_by_role("combobox", name="Search, or run a command")
    options = page.get_by_role("listbox", name="Found").get_by_role("option")
    with paced_app.store() as store:
        title = store.sessions.find(session).title

    expect(opened(page, box)).to_be_focused()
    expect(options.filter(has_text="Open Learning")).to_have_count(1)
    page.keyboard.type("osess")
    expect(options.first).to_contain_text("Open Sessions")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sessions", level=1)).to_be_visible()
    # What was chosen last comes first.
    expect(opened(page, box)).to_be_focused()
    box.fill("")
    expect(options.first).to_contain_text("Open Sessions")
    box.fill(title)
    page.keyboard.press("Enter")
    desk = WorkbenchPage(page).settled()
    expect(desk.graph.cards).to_have_count(2)
    assert f"session={session}" in page.url

    expect(opened(page, box)).to_be_focused()
    box.fill("say it")
    expect(options.first).to_contain_text("2. Say it")
    page.keyboard.press("Enter")
    expect(desk.graph.cards.nth(1)).to_have_attribute("aria-selected", "true")
    expect(opened(page, box)).to_be_focused()
    box.fill("history")
    options.filter(has_text="Panel").first.click()
    expect(desk.keyed("panel").get_by_role("radio", name="History")).to_be_checked()
    expect(opened(page, box)).to_be_focused()
    box.fill("writer-8b")
    options.filter(has_text="Worker").first.click()
    expect(page.get_by_role("heading", name="Pool", level=1)).to_be_visible()
