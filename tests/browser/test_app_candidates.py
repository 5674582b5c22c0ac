"""Other plans in a real browser: asked for at once by keyboard, looked at, used; thumbs at the answer."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.contrast import assert_readable
from tests.browser.scripted_endpoint import at_once, held
from tests.browser.test_app_looks import assert_fits
from tests.browser.workbench_page import WorkbenchPage
from tests.support.runs.conductor_cases import BROKEN, plan_text

pytestmark = pytest.mark.browser

ONE = plan_text((0, "Find what is asked.", "[]"), (1, "Write the answer.", "[0]"))
TWO = plan_text((0, "Answer at once.", "[]"))
HOSTILE = '<img src="/choice.png" onerror="alert(1)"> **bold** $x$'


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_alternatives_are_asked_for_looked_at_and_used(visit, served_app, endpoint, browser, theme):
    slow = held(f"{HOSTILE} so rather:\n\n{TWO}")
    endpoint.say(at_once(f"First:\n{TWO}\nBetter:\n{ONE}"), at_once(ONE), at_once(f"Hm. {BROKEN}"), slow)
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    desk = WorkbenchPage(visit(served_app, inside=context))
    desk.ask("Which one?")
    expect(desk.graph.cards).to_have_count(2)
    desk.drawer("Plans (1)")
    expect(desk.page.get_by_text("used as the last valid one")).to_be_visible()
    desk.button("Ask for alternatives").focus()
    desk.page.keyboard.press("Enter")
    expect(desk.page.get_by_text("Alternatives: 2 of 3 plans have ended")).to_be_visible()
    expect(desk.page.get_by_text(re.compile(r"Alternative \d: not valid, 1 reason"))).to_be_visible()
    expect(desk.button("Stop")).to_be_focused()
    slow.released.set()
    expect(desk.page.get_by_text("3 alternatives requested at once")).to_be_visible()
    assert len(endpoint.bodies) == 4
    assert endpoint.bodies[1]["messages"] == endpoint.bodies[3]["messages"]
    batch = desk.keyed("plan-choices-batch")
    [used] = [
        row for row in batch.locator("[class*='st-key-choice-']").all() if "1 step · " in row.inner_text()
    ]
    used.get_by_role("button", name="Show").click()
    expect(desk.region("Conductor's text").last).to_contain_text(HOSTILE)
    assert desk.page.locator('img[src*="choice.png"]').count() == 0
    assert_readable(desk.page)
    assert_fits(desk.page)
    desk.page.get_by_role("button", name="Hide").click()
    used.get_by_role("button", name="Use").click()
    expect(desk.graph.cards).to_have_count(1)
    desk.page.get_by_role("button", name="Run", exact=True).click()
    desk.page.get_by_role("radio", name="Thumbs down").click()
    expect(desk.page.get_by_text("You rated this answer bad.")).to_be_visible()
    desk.page.reload()
    expect(desk.page.get_by_role("radio", name="Thumbs down")).to_be_checked()
    with served_app.store() as store:
        assert store.corrections.rating(store.runs.of_session(desk.session)[0].id) == "down"
