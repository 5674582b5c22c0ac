"""axe-core finds nothing serious on any page, in either theme."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from workbench_page import WorkbenchPage

from conductor.workflow.model import Step

AXE = Path(__file__).parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.thorough,
]

FOUND = """async () => {
  const { violations } = await axe.run({ resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]);
}"""


def assert_accessible(page: Page, *, settles: float = 10.0) -> None:
    """Fails if axe-core still finds something serious or critical after `settles` seconds.

    Streamlit dims what it is about to replace: what is faint only until then is no fault. Skips the test if
    axe-core is not installed.
    """
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm ci --prefix tests/node")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    deadline = time.monotonic() + settles
    while (found := page.evaluate(FOUND)) and time.monotonic() < deadline:
        page.wait_for_timeout(200)
    assert found == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(visit, paced_app, browser, theme):
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    session = paced_app.plant(
        Step(instruction="Find it.", worker="writer-8b"),
        Step(instruction="Look again.", worker="critic-7b"),
        Step(instruction="Give the result.", worker="writer-8b", access=(0,)),
    )
    desk = WorkbenchPage(visit(paced_app, inside=context))
    expect(desk.keyed("welcome")).to_be_visible()
    assert_accessible(desk.page)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}", inside=context))
    desk.graph.drawn()
    assert_accessible(desk.page)
    desk.button("Keyboard ?").click()
    assert_accessible(desk.page)
    desk.page.keyboard.press("Escape")
    desk.run()
    desk.finished()
    assert_accessible(desk.page)
    desk.select(2)
    assert_accessible(desk.page)
    desk.page.keyboard.press("Control+k")
    desk.page.keyboard.type("look again")
    expect(desk.page.get_by_role("listbox", name="Found").locator("mark").first).to_be_visible()
    assert_accessible(desk.page)
    desk.page.keyboard.press("Escape")
    desk.region("Output").press("n")
    desk.page.keyboard.type("Is it?")
    assert_accessible(desk.page)
    desk.page.keyboard.press("Control+Enter")
    expect(desk.graph.cards.nth(2)).to_contain_text("1 note")
    assert_accessible(desk.page)
    for panel in ("Timeline", "Access", "Check", "Trials", "Plans", "History", "Code"):
        desk.drawer(panel)
        assert_accessible(desk.page)
        if panel == "Trials":
            desk.page.get_by_role("radio", name="Find the step").click()
            expect(desk.page.get_by_label("Accepted answer")).to_be_visible()
            assert_accessible(desk.page)
    for way in ("present=1", "view=1"):
        watched = WorkbenchPage(visit(paced_app, f"/?session={session}&{way}", inside=context))
        watched.finished()
        watched.graph.drawn()
        assert_accessible(watched.page)
        watched.page.close()
    for name in ("Compare", "Sessions", "Evaluation", "Learning", "Pool"):
        desk.page.get_by_role("link", name=name, exact=True).first.click()
        expect(desk.page.get_by_role("heading", name=name, level=1)).to_be_visible()
        assert_accessible(desk.page)
