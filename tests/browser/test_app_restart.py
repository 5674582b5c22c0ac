"""The server ends with pages open, and is started again in the same place."""

from __future__ import annotations

from contextlib import closing

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

RUN_ONCE_BACK = """() => {
    let away = false;
    const observer = new MutationObserver(() => {
        const run = document.querySelector('.st-key-run button');
        if (run?.disabled) away = true;
        else if (run && away) { observer.disconnect(); run.click(); }
    });
    observer.observe(document.body, { subtree: true, childList: true, attributes: true });
}"""
"""Presses Run as soon as the page lets a person do that again."""

STEPS = (
    Step(instruction="Find what is asked.", worker="writer-8b"),
    Step(instruction="Look from another side.", worker="critic-7b", access=(0,)),
    Step(instruction="Give the result.", worker="planner-7b", access=(0, 1)),
)


@pytest.fixture
def desk(own_app, visit, complaints) -> WorkbenchPage:
    """A session of three steps, the second one selected. The browser complains of a lost server."""
    desk = WorkbenchPage(visit(own_app, f"/?session={own_app.plant(*STEPS)}"))
    desk.select(1)
    desk.page.locator("html[data-scripts-loaded]").wait_for(state="attached")
    yield desk.settled()
    complaints.clear()


def away(desk: WorkbenchPage):
    return desk.page.get_by_text("The server does not answer.")


def restart(desk: WorkbenchPage, server) -> None:
    """Kill the server, look at the page, start it again and wait until the page is back."""
    server.kill()
    expect(away(desk)).to_be_visible()
    server.start()
    expect(away(desk)).to_be_hidden()
    expect(desk.inspector.get_by_role("button", name="Add")).to_be_enabled()
    desk.settled()


def test_the_page_states_that_the_server_is_away_and_comes_back_whole(desk, own_app):
    restart(desk, own_app)
    assert desk.graph.ask("selected") == 1
    expect(desk.inspector.get_by_role("heading", name="2. Look from another side")).to_be_visible()
    expect(desk.page.get_by_role("dialog")).to_have_count(0)
    desk.select(2)
    desk.choose("Worker", "critic-7b")
    expect(desk.graph.cards.nth(2)).to_contain_text("critic-7b")
    with own_app.store() as store:
        notes = [revision.note for revision in store.revisions.of_session(desk.session)]
    assert notes == ["Planted", "Step 3: planner-7b to critic-7b"]


def test_a_page_older_than_the_server_commits_nothing_that_no_one_changed(desk, own_app):
    session = desk.session
    own_app.kill()
    with own_app.store() as store:
        head = store.revisions.head(session)
        reworded = head.workflow.with_instruction(0, "Seek it elsewhere.").with_instruction(1, "Look twice.")
        store.revisions.add(session, reworded, origin="human", note="Theirs")
    own_app.start()
    expect(desk.field("Instruction")).to_have_value("Look twice.")
    expect(desk.inspector.get_by_text("1. Seek it elsewhere", exact=True)).to_be_visible()
    desk.select(2)
    desk.select(1)
    desk.choose("Worker", "steady-13b")
    expect(desk.graph.cards.nth(1)).to_contain_text("steady-13b")
    with own_app.store() as store:
        revisions = store.revisions.of_session(session)
    notes = [revision.note for revision in revisions]
    assert notes == ["Planted", "Theirs", "Step 2: critic-7b to steady-13b"]
    assert revisions[-1].workflow == reworded.with_worker(1, "steady-13b")


def test_an_undecided_conflict_and_a_draft_survive_the_restart_and_a_reload(desk, own_app):
    session = desk.session
    desk.part("Output")
    desk.button("Write").click()
    desk.field("Your output").fill("What I know of it.")
    desk.field("Your output").press("Tab")
    expect(desk.keyed("output-pen").get_by_text("not saved")).to_be_visible()
    desk.part("Instruction")
    desk.field("Instruction").fill("Look three times.")
    with own_app.store() as store:
        head = store.revisions.head(session)
        theirs = head.workflow.with_instruction(1, "Look twice.")
        store.revisions.add(session, theirs, origin="human", note="Theirs")
    desk.field("Instruction").press("Control+Enter")
    conflict = desk.keyed("conflict")
    expect(conflict.get_by_text("the same part was changed in the meantime")).to_be_visible()
    desk.settled()
    restart(desk, own_app)
    expect(conflict.get_by_text("the same part was changed in the meantime")).to_be_visible()
    expect(desk.field("Your output")).to_have_value("What I know of it.")
    own_app.kill()
    own_app.start()
    desk.page.reload()
    expect(conflict.get_by_text("the same part was changed in the meantime")).to_be_visible()
    desk.select(1)
    expect(desk.field("Your output")).to_have_value("What I know of it.")
    desk.button("Discard mine").click()
    expect(conflict).to_have_count(0)
    desk.settled()
    desk.page.reload()
    desk.select(1)
    expect(conflict).to_have_count(0)


def test_a_press_before_the_next_process_has_drawn_the_page_is_carried_out(desk, own_app):
    desk.page.evaluate(RUN_ONCE_BACK)
    own_app.kill()
    expect(away(desk)).to_be_visible()
    own_app.start()
    expect(desk.button("Rerun")).to_be_visible()


def test_a_field_whose_script_was_lost_with_the_server_comes_back(browser, own_app, visit, complaints):
    session = own_app.plant(*STEPS)
    with closing(browser.new_context()) as context:
        context.route("**/static/js/Selectbox*", lambda route: route.abort())
        desk = WorkbenchPage(visit(own_app, f"/?session={session}", inside=context))
        desk.select(1)
        lost = desk.inspector.get_by_text("Failed to fetch dynamically imported module")
        expect(lost.first).to_be_visible()
        context.unroute("**/static/js/Selectbox*")
        own_app.kill()
        expect(away(desk)).to_be_visible()
        own_app.start()
        expect(lost).to_have_count(0)
        desk.select(1)
        expect(desk.field("Worker")).to_be_enabled()
    complaints.clear()


def test_what_a_page_draws_later_needs_no_server_any_more(desk, complaints):
    desk.page.route("**/static/js/**", lambda route: route.abort())
    desk.page.get_by_role("button", name="Import", exact=True).click()
    expect(desk.page.get_by_test_id("stFileUploaderDropzoneInput")).to_be_attached()
    desk.page.keyboard.press("Escape")
    desk.share().page.get_by_role("tab", name="Code").click()
    expect(desk.page.get_by_text("from openai import OpenAI").first).to_be_attached()
    desk.page.get_by_role("link", name="Sessions").click()
    expect(desk.page.get_by_role("heading", name="Sessions")).to_be_visible()
    assert [text for text in complaints if "Failed to load" in text or "dynamically" in text] == []
