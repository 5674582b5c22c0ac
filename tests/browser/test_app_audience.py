"""A session before an audience: presented in large letters, and through a link that can change nothing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from conductor.workflow.model import Step
from studio.gallery import RECORDED, open_recorded
from tests.browser.app_server import AppServer
from tests.browser.scripted_endpoint import held
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

PASSWORD = "correct horse battery"

STEPS = (
    Step(instruction="Find what is asked.", worker="planner-7b"),
    Step(instruction="Write at length.", worker="scripted-13b", access=(0,)),
)

FORGED = """(root) => {
  const { component } = root.__fg, { revision } = component.data;
  component.setTriggerValue("edit", { op: "remove_step", step: 0, revision });
  component.setTriggerValue("inside", { step: 0, open: true });
}"""
"""What a graph that may be edited sends when a step is removed."""


def moment(page: Page) -> str:
    return page.locator(".timeline .moment").inner_text()


def letters(page: Page) -> float:
    """The size of the answer's letters in pixels."""
    size = page.locator(".rendered .markdown").first.evaluate("text => getComputedStyle(text).fontSize")
    return float(size.removesuffix("px"))


def test_a_session_is_presented_by_keyboard_in_letters_that_can_be_read_from_afar(visit, built_in_app):
    with built_in_app.store() as store:
        session = open_recorded(store, RECORDED[0]).id
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    page, keys = desk.page, desk.page.keyboard
    usual = desk.graph.smallest_letters(), letters(page)
    desk.keyed("present").get_by_role("button").focus()
    keys.press("Enter")
    question = page.get_by_role("heading", name="Should a town of 20,000 people make its buses free?")
    expect(question).to_be_visible()
    assert "present=1" in page.url
    for key in ("bar", "composer", "drawer", "panel", "undo", "run-split", "thumbs", "new"):
        expect(desk.keyed(key)).to_have_count(0)
    expect(page.get_by_role("tab").and_(page.locator(":visible"))).to_have_count(0)
    expect(page.locator('[data-testid="stSidebar"]')).not_to_be_visible()
    for width, height in ((1920, 1080), (1280, 720), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator('[data-testid="stApp"]')).to_have_css("width", f"{width}px")
        assert letters(page) > 1.15 * usual[1]
        assert desk.graph.settle().smallest_letters() > usual[0]
        assert page.evaluate("document.scrollingElement.scrollWidth") == width

    # From moment to moment, and by itself; whatever has the focus.
    expect(desk.answer).to_be_visible()
    keys.press("ArrowLeft")
    expect(desk.graph.cards.nth(4)).to_contain_text("running")
    expect(desk.answer).not_to_be_visible()
    expect(page.get_by_text("5. Which way should the town").first).to_be_visible()
    late = moment(page)
    keys.press("Home")
    expect(desk.graph.cards.nth(4)).to_contain_text("not run yet")
    assert re.match(r"0\.0 of \d+\.\d s", moment(page))
    # The first moments are the beginnings of three steps, all within a tenth of a second.
    for _ in range(4):
        keys.press("ArrowRight")
    expect(page.locator(".timeline .moment")).not_to_have_text(re.compile(r"^0\.0 of"))
    keys.press("End")
    expect(desk.answer).to_be_visible()
    assert moment(page) != late
    keys.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    keys.press(" ")
    expect(page.get_by_role("button", name="Replay", exact=True)).to_be_visible()
    keys.press("End")
    expect(desk.answer).to_be_visible()

    # A card shows its step; the way out is the same key, and hands the focus back.
    desk.settled()
    desk.graph.click(1)
    expect(desk.inspector.get_by_role("heading", name=re.compile("^2. List the positions"))).to_be_visible()
    keys.press("Escape")
    expect(desk.answer).to_be_visible()
    expect(question).to_be_visible()
    keys.press("Escape")
    expect(desk.keyed("bar")).to_be_visible()
    assert "present=1" not in page.url
    expect(question).to_have_count(0)
    page.wait_for_function("document.activeElement !== document.body")
    keys.press("p")
    expect(question).to_be_visible()
    keys.press("p")
    expect(desk.keyed("bar")).to_be_visible()
    desk.query.fill("stop")
    desk.query.press("p")
    expect(desk.query).to_have_value("stopp")
    expect(question).to_have_count(0)


def test_a_view_only_tab_follows_a_run_and_changes_nothing_whatever_it_sends(visit, paced_app, endpoint):
    endpoint.say(answer := held("It is written at length."))
    session = paced_app.plant(*STEPS, query="Which one?")
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.share()
    link = desk.region("View-only link").inner_text()
    assert link.endswith(f"?session={session}&view=1")
    guest = WorkbenchPage(visit(paced_app, f"/{link.partition('?')[1]}{link.partition('?')[2]}"))
    page, keys = guest.page, guest.page.keyboard
    expect(guest.keyed("view-only")).to_be_visible()
    expect(page.get_by_role("heading", name="Which one?")).to_be_visible()
    desk.page.keyboard.press("Escape")
    desk.run()

    # As it is written, then as it was answered.
    expect(guest.graph.cards.nth(1)).to_contain_text("running")
    expect(guest.streams.first).to_be_visible()
    for offered in ("undo", "run", "stop", "share", "ask", "composer", "thumbs", "new", "storage"):
        expect(guest.keyed(offered)).to_have_count(0)
    expect(page.get_by_role("textbox")).to_have_count(0)
    answer.released.set()
    expect(guest.answer).to_be_visible()
    expect(page.locator('[data-testid="stSidebar"]')).not_to_be_visible()
    guest.select(1)
    guest.part("Instruction")
    expect(guest.region("Instruction")).to_contain_text("Write at length.")
    guest.part("Saw")
    expect(guest.region("Request")).to_be_visible()
    expect(guest.inspector.get_by_role("button", name=re.compile("Let it see"))).to_have_count(0)

    # Keys, and messages that no button of the page sends.
    with paced_app.store() as store:
        before = store.revisions.head(session), store.runs.of_session(session), store.sessions.find(session)
    guest.graph.stage.focus()
    for key in ("Delete", "Control+z", "Control+Shift+z", "Control+Enter", "r"):
        keys.press(key)
    guest.graph.root.evaluate(FORGED)
    page.evaluate("history.pushState(null, '', '/?session=0123456789abcdef')")
    guest.graph.click(0)
    expect(guest.inspector.get_by_role("heading", name="1. ")).to_be_visible()
    expect(guest.keyed("view-only")).to_be_visible()
    page.evaluate("history.pushState(null, '', '/sessions')")
    page.evaluate("history.back()")
    guest.settled()
    with paced_app.store() as store:
        after = store.revisions.head(session), store.runs.of_session(session), store.sessions.find(session)
    assert after == before

    # To be presented is nothing that changes it.
    page.goto(f"{paced_app.url}/?session={session}&view=1")
    guest.keyed("present").get_by_role("button").click()
    expect(page.get_by_role("heading", name="Which one?")).to_be_visible()
    expect(guest.keyed("bar")).to_have_count(0)
    expect(page.get_by_role("button", name="Replay", exact=True)).to_be_visible()
    expect(guest.answer).to_be_visible()
    guest.settled()
    keys.press("ArrowLeft")
    expect(guest.graph.cards.nth(1)).to_contain_text("running")
    keys.press("p")
    expect(guest.keyed("view-only")).to_be_visible()
    page.goto(f"{paced_app.url}/?session=0123456789abcdef&view=1")
    expect(page.get_by_text("This link does not lead to a session")).to_be_visible()


def test_a_view_only_link_needs_no_password_and_shows_one_session_until_it_is_revoked(
    visit, browser, complaints, chromium, tmp_path
):
    with AppServer(tmp_path, settings={"CONDUCTOR_PASSWORD": PASSWORD}) as server:
        step = Step(instruction="What is 17 * 23?", worker="calculator")
        session, other = server.plant(step), server.plant(step, query="What else?")
        own, others = browser.new_context(), browser.new_context()
        page = visit(server, f"/?session={session}", inside=own)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        desk = WorkbenchPage(page)
        desk.share()
        link = desk.region("View-only link").inner_text()
        view = re.findall(r"view=(\w{40})$", link)[0]

        guest = WorkbenchPage(visit(server, f"/?session={session}&view={view}", inside=others))
        expect(guest.keyed("view-only")).to_be_visible()
        page.keyboard.press("Escape")
        desk.run()
        desk.finished()
        expect(guest.answer).to_contain_text("391")
        guest.page.evaluate(f"history.pushState(null, '', '/?session={other}')")
        guest.drawer("Timeline")
        expect(guest.keyed("view-only")).to_be_visible()
        expect(guest.page.get_by_role("heading", name="What is 17 * 23?")).to_be_visible()
        for path in (f"/?session={other}&view={view}", f"/?session={session}", "/sessions"):
            guest.page.goto(f"{server.url}{path}")
            expect(guest.page.get_by_label("Password")).to_be_visible()
        guest.page.goto(f"{server.url}/?session={session}&view={view}")
        expect(guest.answer).to_be_visible()

        # Of a login, all but the page with the link can do anything.
        page.goto(f"{server.url}/?session={session}&view={view}")
        expect(desk.keyed("view-only")).to_be_visible()
        page.goto(f"{server.url}/?session={session}")
        desk.share()
        desk.keyed("revoke-view-links").get_by_role("button").click()
        expect(guest.page.get_by_text("This view-only link is not valid any more.")).to_be_visible()
        desk.share()
        expect(desk.region("View-only link")).not_to_contain_text(view)
        own.close()
        others.close()
        # The browser notes each answer of 401, and that no websocket is opened again.
        complaints[:] = [text for text in complaints if "401" not in text and "WebSocket" not in text]
