"""How the pages look in light and dark, at any width: nothing sticks out, every text can be read."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from conductor.workflow.model import Step
from tests.browser.contrast import assert_readable
from tests.browser.workbench_page import THREE, WorkbenchPage

pytestmark = pytest.mark.browser

UNBROKEN = "We" * 200

OVERFLOW = """() => [...document.querySelectorAll("*")]
    .filter((box) => box === document.scrollingElement || /auto|scroll/.test(getComputedStyle(box).overflowX))
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => `${box.tagName} ${box.className} ${box.dataset.testid}`)"""
"""Boxes that show, or could show, a horizontal scroll bar."""


def assert_fits(page: Page) -> None:
    for width in (1280, 1600, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        expect(page.locator('[data-testid="stApp"]')).to_have_css("width", f"{width}px")
        assert page.evaluate(OVERFLOW) == [], f"at {width} pixels"


def test_no_page_needs_a_horizontal_scroll_bar_at_any_width(visit, paced_app):
    session = paced_app.plant(
        Step(instruction=UNBROKEN, worker="broken-1b"),
        Step(instruction=UNBROKEN, worker="writer-8b", access=(0,)),
        query=UNBROKEN,
    )
    desk = WorkbenchPage(visit(paced_app))
    expect(desk.page.locator('[class*="st-key-gallery-"]').get_by_role("button")).to_have_count(9)
    assert_fits(desk.page)
    desk.keyed(f"recent-{session}").get_by_role("button").click()
    desk.run()
    expect(desk.page.get_by_role("alert").first).to_contain_text("was set to fail")
    expect(desk.button("Rerun")).to_be_enabled()
    desk.select(0)
    desk.part("Saw")
    expect(desk.region("Request")).to_be_visible()
    assert_fits(desk.page)
    desk.page.get_by_role("link", name="Sessions").click()
    expect(desk.page.get_by_role("button", name="Actions for").first).to_be_visible()
    assert_fits(desk.page)


STICKING_OUT = """box => {
  const { left, right } = box.getBoundingClientRect();
  const shown = [...box.querySelectorAll("button, label")].filter((child) => child.checkVisibility());
  return shown.filter((child) => {
    const place = child.getBoundingClientRect();
    return place.left < left - 1 || place.right > right + 1;
  }).map((child) => child.textContent);
}"""
"""What can be pressed and does not lie wholly within a bar."""


def test_a_narrow_window_cuts_off_no_button_and_breaks_no_word(visit, built_in_app):
    session = built_in_app.plant(Step(instruction="What is 17 * 23?", worker="calculator"))
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    expect(desk.button("New")).to_be_in_viewport()
    desk.page.set_viewport_size({"width": 1024, "height": 900})
    expect(desk.button("New")).not_to_be_in_viewport()
    desk.run()
    desk.finished()
    desk.drawer("Timeline")
    for bar in (desk.keyed("toolbar"), desk.page.get_by_role("group", name="Replay")):
        expect(bar).to_be_visible()
        assert bar.evaluate(STICKING_OUT) == []
    desk.select(0)
    desk.part("Saw")
    source = desk.inspector.locator(".text-block-name").first
    expect(source).to_have_text("Query")
    assert source.bounding_box()["height"] < 25, "a word stands in one line"


LEFTS = """box => {
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT), lefts = [];
  while (texts.nextNode()) {
    const { currentNode } = texts, letters = document.createRange();
    for (let at = 0; at < currentNode.length; at++) {
      letters.setStart(currentNode, at);
      letters.setEnd(currentNode, at + 1);
      lefts.push(letters.getBoundingClientRect().left);
    }
  }
  return lefts;
}"""
"""Where each letter of a text begins, in the order in which they are read."""


def test_a_number_stands_left_of_a_title_that_is_written_from_right_to_left(visit, built_in_app):
    session = built_in_app.plant(
        Step(instruction="מצא את כל הנתונים", worker="smol"),
        Step(instruction="Check it.", worker="smol", access=(0,)),
        query="מה נובע מזה?",
    )
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    desk.run()
    desk.finished()
    desk.settled()
    for view, title in (("Timeline", ".timeline .row .name"), ("Check", ".access .row .title")):
        desk.drawer(view)
        number, dot, _, *letters = desk.page.locator(title).first.evaluate(LEFTS)
        assert number < dot < min(letters), view
        assert letters == sorted(letters, reverse=True), view
    title = desk.title.get_by_label("Title", exact=True)
    expect(title).to_have_value("מה נובע מזה?")
    for written in (desk.query, title, desk.keyed(f"recent-{session}").locator("p").first):
        expect(written).to_have_css("unicode-bidi", "plaintext")


def test_titles_stay_where_they_are_from_page_to_page_and_from_planning_to_plan(visit, paced_app):
    session = paced_app.plant(Step(instruction="Find it.", worker="writer-8b"), query="Where is it?")
    with paced_app.store() as store:
        unplanned = store.sessions.create("Where else?").id
    page = visit(paced_app, "/sessions")
    places = set()
    for name in ("Sessions", "Compare", "Usage", "Evaluation", "Pool"):
        page.get_by_role("link", name=name, exact=True).first.click()
        title = page.get_by_role("heading", name=name, exact=True)
        expect(title).to_be_visible()
        WorkbenchPage(page).settled()
        places.add(title.bounding_box()["y"])
    assert len(places) == 1
    heads = set()
    for opened, query in ((session, "Where is it?"), (unplanned, "Where else?")):
        desk = WorkbenchPage(visit(paced_app, f"/?session={opened}"))
        title = desk.title.get_by_label("Title", exact=True)
        expect(title).to_have_value(query)
        desk.settled()
        heads.add(title.bounding_box()["y"])
    assert len(heads) == 1


PLACES = """() => {
  window.__places = new Set();
  let since;
  const look = (now) => {
    const [live, views] = [".st-key-streams", ".st-key-panel"].map((name) => document.querySelector(name));
    if (live && views && now > (since ??= now) + 350)
      window.__places.add(Math.round(views.getBoundingClientRect().top));
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
"""Notes, frame by frame, where the views below the graph are while a text is written, once it has room."""


def test_what_stands_below_a_text_stays_where_it_is_as_the_text_grows_and_the_next_step_begins(
    visit, paced_app
):
    session = paced_app.plant(
        Step(instruction="Find it.", worker="planner-7b"),
        Step(instruction="Look again.", worker="steady-13b", access=(0,)),
    )
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.graph.settle()
    desk.page.evaluate(PLACES)
    desk.run()
    desk.finished()
    assert len(desk.page.evaluate("[...window.__places]")) == 1


@pytest.mark.parametrize(
    ("theme", "ground"),
    [
        ("light", "rgb(255, 255, 255)"),
        ("dark", "rgb(18, 20, 28)"),
    ],
)
def test_every_text_can_be_read_in_the_theme_the_browser_prefers(visit, paced_app, browser, theme, ground):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    session = paced_app.plant(
        Step(instruction="Find it.", worker="writer-8b"),
        Step(instruction="Look again.", worker="critic-7b"),
        Step(instruction="Give the result.", worker="writer-8b", access=(0,)),
    )
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}", inside=context))
    expect(desk.page.locator('[data-testid="stApp"]')).to_have_css("background-color", ground)
    desk.run()
    desk.finished()
    desk.button("Rerun").hover()
    assert_readable(desk.page)
    desk.select(2)
    desk.part("Saw")
    expect(desk.inspector.get_by_role("button", name="Let it see 2. Look again")).to_be_visible()
    expect(desk.field("Worker")).to_be_visible()
    assert_readable(desk.page)
    desk.drawer("History")
    expect(desk.page.locator(".mark.current")).to_be_visible()
    assert_readable(desk.page)
    desk.button("New").click()
    expect(desk.page.locator('[class*="st-key-gallery-"]').get_by_role("button")).to_have_count(9)
    assert_readable(desk.page)
    desk.page.get_by_role("link", name="Sessions").click()
    expect(desk.page.get_by_role("button", name="Actions for").first).to_be_visible()
    assert_readable(desk.page)


def test_an_export_leaves_the_bar_as_it_is_and_back_leads_to_the_start_page(visit, paced_app):
    session = paced_app.plant(*THREE, query="Which one?")
    desk = WorkbenchPage(visit(paced_app))
    expect(desk.keyed("welcome")).to_be_visible()
    desk.keyed(f"recent-{session}").get_by_role("button").click()
    desk.graph.settle()
    desk.settled()
    expect(desk.keyed("evaluate").locator("button").first).to_be_hidden()
    before = desk.keyed("run-split").bounding_box()
    with desk.page.expect_download() as download:
        desk.share().button("Workflow").click()
    assert download.value.suggested_filename == "which-one.json"
    desk.settled()
    assert desk.keyed("run-split").bounding_box() == before
    desk.page.go_back()
    expect(desk.keyed("welcome")).to_be_visible()
    assert "session=" not in desk.page.url
    desk.page.go_forward()
    desk.graph.settle()
    assert desk.session == session
