"""axe-core finds nothing serious on any page; in the dark only contrasts are other ones."""

from __future__ import annotations

from functools import partial

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.axe import MISSING, SCRIPT, assert_accessible
from tests.browser.workbench_page import WorkbenchPage

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not SCRIPT.is_file(), reason=MISSING),
]


@pytest.mark.parametrize(("theme", "rules"), [("light", ()), ("dark", ("color-contrast",))])
def test_axe_finds_nothing_serious_on_any_page(visit, paced_app, browser, theme, rules):
    audit = partial(assert_accessible, rules=rules)
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    session = paced_app.plant(
        Step(instruction="Find it.", worker="writer-8b"),
        Step(instruction="Look again.", worker="critic-7b"),
        Step(instruction="Give the result.", worker="writer-8b", access=(0,)),
    )
    desk = WorkbenchPage(visit(paced_app, inside=context))
    expect(desk.keyed("welcome")).to_be_visible()
    audit(desk.page)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}", inside=context))
    desk.graph.settle()
    audit(desk.page)
    desk.button("Keyboard ?").click()
    audit(desk.page)
    desk.page.keyboard.press("Escape")
    desk.run()
    desk.finished()
    audit(desk.page)
    desk.select(2)
    audit(desk.page)
    desk.page.keyboard.press("Control+k")
    desk.page.keyboard.type("look again")
    expect(desk.page.get_by_role("listbox", name="Found").locator("mark").first).to_be_visible()
    audit(desk.page)
    desk.page.keyboard.press("Escape")
    desk.region("Output").press("n")
    desk.page.keyboard.type("Is it?")
    audit(desk.page)
    desk.page.keyboard.press("Control+Enter")
    expect(desk.graph.cards.nth(2)).to_contain_text("1 note")
    audit(desk.page)
    for panel in ("Timeline", "Check", "Trials", "Plans", "History"):
        desk.drawer(panel)
        audit(desk.page)
        if panel == "Trials":
            desk.page.get_by_role("radio", name="Find the step").click()
            expect(desk.page.get_by_label("Accepted answer")).to_be_visible()
            audit(desk.page)
    for way in ("present=1", "view=1"):
        watched = WorkbenchPage(visit(paced_app, f"/?session={session}&{way}", inside=context))
        watched.finished()
        watched.graph.settle()
        audit(watched.page)
        watched.page.close()
    for name in ("Compare", "Sessions", "Usage", "Evaluation", "Learning", "Pool"):
        desk.page.get_by_role("link", name=name, exact=True).first.click()
        expect(desk.page.get_by_role("heading", name=name, level=1)).to_be_visible()
        audit(desk.page)
