"""The workbench's panes in a real browser: each scrolls by itself and keeps its width."""

from __future__ import annotations

import re
import threading

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

FIVE = (
    Step(instruction="Find the first plan.", worker="writer-8b"),
    Step(instruction="Find the second plan.", worker="critic-7b"),
    Step(instruction="Compare both plans.", worker="writer-8b", access=(0, 1)),
    Step(instruction="Check the comparison.", worker="critic-7b", access=(2,)),
    Step(instruction="Write the result.", worker="writer-8b", access=(2, 3)),
)


def test_a_step_is_read_before_the_server_answers(visit, paced_app):
    page = visit(paced_app, f"/?session={paced_app.plant(*FIVE)}")
    sockets, messages, held, holds = [], [], [], threading.Event()

    def through(browser):
        server = browser.connect_to_server()
        sockets.append(browser)
        browser.on_message(lambda message: (messages.append(message), server.send(message)))
        server.on_message(lambda message: held.append(message) if holds.is_set() else browser.send(message))

    page.route_web_socket(re.compile("_stcore/stream"), through)
    page.reload()
    desk = WorkbenchPage(page)
    desk.run()
    desk.finished()
    preview, panel = desk.keyed("read-preview"), desk.keyed("read-step")
    whole = desk.answer.inner_text()
    holds.set()
    messages.clear()
    desk.graph.click(4)
    expect(preview.get_by_role("heading", name="5. Write the result")).to_be_visible()
    expect(preview.get_by_role("region", name="Output")).to_have_text(whole, use_inner_text=True)
    # A tick that was still under way may ask as well, and repeats the choice.
    assert len(set(re.findall(rb'"step": ?4, ?"at": ?(\d+)', b"".join(messages)))) == 1
    desk.graph.click(2)
    expect(preview.get_by_role("heading", name="3. Compare both plans")).to_be_visible()
    expect(panel.get_by_role("heading")).to_have_count(0)
    holds.clear()
    for message in held:
        sockets[-1].send(message)
    expect(panel.get_by_role("heading", name="3. Compare both plans")).to_be_visible()
    expect(preview).to_be_hidden()
    expect(panel.get_by_role("region", name="Output")).to_be_visible()


def test_the_title_is_changed_where_it_stands(visit, paced_app):
    session = paced_app.plant(*FIVE)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    title = desk.page.get_by_label("Title", exact=True)
    title.fill("Two plans")
    title.press("Enter")
    expect(desk.page.get_by_role("heading", name="Two plans")).to_be_visible()
    with paced_app.store() as store:
        assert store.sessions.find(session).title == "Two plans"


@pytest.mark.journey
def test_on_a_phone_the_answer_comes_first_and_a_step_comes_up_from_below(visit, paced_app):
    desk = WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(*FIVE)}"))
    desk.run()
    desk.finished()
    split = desk.keyed("run-split").get_by_role("button")
    expect(split).to_have_count(2)
    desk.page.set_viewport_size({"width": 420, "height": 900})
    expect(split).to_have_count(2)
    run, ways = (split.nth(at).bounding_box() for at in (0, 1))
    assert [(box["y"], box["height"]) for box in (run, ways)] == [(run["y"], run["height"])] * 2
    expect(desk.answer).to_be_visible()
    third = desk.page.get_by_role("listbox", name="Workflow graph").get_by_role("option").nth(2)
    expect(third.locator(".head")).to_have_text(re.compile(r"^3\. Compare both plans.* m?s$"))
    expect(third.locator(".head")).to_be_in_viewport()
    expect(third.locator(".said")).to_contain_text("Step 3 of 5: Compare both plans, worker writer-8b")
    for close in (desk.button("Close the step"), desk.page.get_by_role("tab", name="Answer")):
        third.click()
        expect(desk.inspector.get_by_role("heading", name="3. ")).to_be_in_viewport()
        close.click()
        expect(desk.inspector).to_be_hidden()
    expect(desk.keyed("undo")).to_be_hidden()
    third.click()
    desk.part("Instruction")
    desk.field("Instruction").fill("Look again.")
    desk.field("Instruction").press("Control+Enter")
    expect(third.locator(".head")).to_contain_text("3. Look again")
    desk.button("Close the step").click()
    desk.button("Undo").click()
    expect(third.locator(".head")).to_contain_text("3. Compare both plans")
