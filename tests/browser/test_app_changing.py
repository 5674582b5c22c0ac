"""A change is asked for in words, shown as a difference, and taken in part or left, by keyboard too."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.contrast import assert_readable
from tests.browser.scripted_endpoint import at_once
from tests.browser.test_app_looks import assert_fits
from tests.browser.workbench_page import WorkbenchPage
from tests.support.runs.conductor_cases import BROKEN, plan_text

pytestmark = pytest.mark.browser

FIRST = plan_text((0, "Find what is asked.", "[]"), (1, "Write the answer.", "[0]"))
CHANGED = plan_text(
    (0, "Find what is asked.", "[]"), (1, "Find it <b>again</b>.", "[]"), (0, "Say it.", '["all"]')
)
WISH = "use two readers"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_change_is_asked_for_and_some_of_its_steps_are_taken(visit, served_app, endpoint, browser, theme):
    endpoint.say(at_once(FIRST), at_once(CHANGED), at_once(BROKEN))
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    desk = WorkbenchPage(visit(served_app, inside=context))
    desk.ask("Which one?")
    expect(desk.graph.cards).to_have_count(2)
    desk.drawer("Plans")
    line = desk.page.get_by_role("textbox", name="Ask for changes")
    line.fill(WISH)
    line.press("Enter")
    panel = desk.keyed("asked-change")
    expect(panel.get_by_text(f"Asked: “{WISH}”")).to_be_visible()
    expect(desk.graph.cards.first).to_contain_text("Find what is asked")
    assert WISH in str(endpoint.bodies[1]["messages"])
    expect(panel.get_by_role("button", name="Take", exact=True)).to_be_enabled()
    assert_readable(desk.page)
    assert_fits(desk.page)
    desk.page.reload()
    desk = WorkbenchPage(desk.page)
    desk.drawer("Plans")
    panel = desk.keyed("asked-change")
    panel.get_by_role("checkbox").last.press(" ")
    panel.get_by_role("button", name="Take these steps").click()
    expect(panel).to_have_count(0)
    with served_app.store() as store:
        (change,) = store.changes.of_session(desk.session)
        assert (change.wish, change.decision) == (WISH, "part")

    line = desk.page.get_by_role("textbox", name="Ask for changes")
    line.fill("break it")
    desk.page.get_by_role("button", name="Ask", exact=True).click()
    expect(panel.get_by_text("No changed plan.")).to_be_visible()
    panel.get_by_role("button", name="Leave").click()
    expect(panel).to_have_count(0)
