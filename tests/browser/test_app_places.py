"""The buttons of the bar stay where they are, whatever is edited, run, exported, undone, selected, opened."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import THREE, WorkbenchPage

pytestmark = pytest.mark.browser

PLACES = """bar => Object.fromEntries([...bar.querySelectorAll("button")]
  .filter((button) => button.checkVisibility({ visibilityProperty: true }))
  .map((button) => {
    const { left, top, width } = button.getBoundingClientRect();
    const key = button.closest("[class*='st-key-']").className.match(/st-key-([a-z-]+[a-z])/)[1];
    return [key, [Math.round(left), Math.round(top), Math.round(width)]];
  }))"""
"""Left, top and width of each button of a bar that can be seen, by its key without numbers."""

WORD_IN_FRAME = """button => {
  const words = document.createRange(), frame = button.getBoundingClientRect();
  words.selectNodeContents(button.querySelector("p"));
  const { left, right, width } = words.getBoundingClientRect();
  return width > 0 && left >= frame.left && right <= frame.right;
}"""
"""Whether the word on a button lies whole in its frame."""


CONTROLS = """root => {
  const controls = "button, summary, a[href], input, textarea, select, [role=tab], [role=radio]";
  const inside = (root) => [...root.querySelectorAll("*")].flatMap((node) => [
    ...(node.matches(controls) ? [node] : []), ...(node.shadowRoot ? inside(node.shadowRoot) : [])]);
  return inside(root).filter((node) => {
    const { left, right, top, bottom, width, height } = node.getBoundingClientRect();
    return width > 1 && height > 1 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight
      && node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  }).map((node) => node.ariaLabel || node.innerText || node.tagName);
}"""
"""The names of the controls that are in sight."""

MOST_CONTROLS = 30
"""Two thirds of the 45 that there once were."""


def exported(desk: WorkbenchPage) -> None:
    with desk.page.expect_download():
        desk.share().button("Workflow").click()


def away(desk: WorkbenchPage) -> None:
    desk.page.keyboard.press("Escape")
    desk.page.mouse.move(1, 1)


def edited(desk: WorkbenchPage) -> None:
    desk.select(1)
    desk.choose("Worker", "writer-8b")
    expect(desk.button("Undo")).to_be_enabled()


def undone(desk: WorkbenchPage) -> None:
    desk.button("Undo").click()
    expect(desk.button("Redo")).to_be_enabled()


def ran(desk: WorkbenchPage) -> None:
    desk.run()
    desk.finished()


def menu(desk: WorkbenchPage) -> None:
    desk.keyed("run-split").get_by_role("button").last.click()
    expect(desk.page.get_by_role("menuitem").first).to_be_visible()


WAYS: dict[str, Callable[[WorkbenchPage], None]] = {
    "run": ran,
    "export": exported,
    "popover": lambda desk: desk.share(),
    "code": lambda desk: desk.share().page.get_by_role("tab", name="Code").click(),
    "close": away,
    "selection": lambda desk: desk.select(0),
    "edit": edited,
    "menu": menu,
    "close again": away,
    "undo": undone,
    "redo": lambda desk: desk.button("Redo").click(),
    "rerun": ran,
    "drawer": lambda desk: desk.drawer("Check"),
}
"""In the order in which they are done."""


@pytest.mark.parametrize("width", [1280, 1440])
def test_no_button_of_the_bar_moves_whatever_is_done(visit, paced_app, width):
    session = paced_app.plant(
        *THREE, query="Which one of the two answers is the better one, and why is it so?"
    )
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.page.set_viewport_size({"width": width, "height": 900})
    desk.graph.settle()
    desk.settled()
    bar, seen, moved = desk.keyed("toolbar"), {}, []
    for way, do in {"": lambda _: None, **WAYS}.items():
        do(desk)
        desk.settled()
        assert desk.keyed("run").get_by_role("button").evaluate(WORD_IN_FRAME), way
        for key, place in bar.evaluate(PLACES).items():
            if seen.setdefault(key, place) != place:
                moved.append((way, key, seen[key], place))
    assert moved == []
    assert {"evaluate", "undo", "redo", "run", "share", "present"} <= set(seen)


def test_a_session_that_has_run_has_few_controls_in_sight_beside_the_sidebar(visit, paced_app):
    steps = [Step(instruction=f"Look from side {at}.", worker=THREE[at % 2].worker) for at in range(4)]
    session = paced_app.plant(*steps, Step(instruction="Decide.", worker="planner-7b", access=(0, 1, 2, 3)))
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.page.set_viewport_size({"width": 1440, "height": 900})
    desk.run()
    desk.finished()
    desk.settled()
    controls = desk.page.get_by_test_id("stMain").evaluate(CONTROLS)
    assert len(controls) <= MOST_CONTROLS, controls
    words = " ".join(controls)
    assert all(name in words for name in ("Rerun", "Other ways to run", "Share", "Present", "Check", "Heat"))


def test_stop_stands_where_run_stood(visit, paced_app):
    session = paced_app.plant(Step(instruction="Write at length.", worker="steady-13b"))
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.graph.settle()
    desk.settled()
    before = desk.keyed("run-split").bounding_box()
    desk.run()
    stop = desk.keyed("stop").locator("button")
    expect(stop).to_be_visible()
    box = stop.bounding_box()
    assert (box["x"], box["width"]) == (before["x"], before["width"])
    desk.finished()
