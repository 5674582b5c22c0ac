"""What a step saw in a real browser: by keyboard to a source's words, and from a hidden step to an edit."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.workbench_page import THREE, WorkbenchPage

pytestmark = pytest.mark.browser


def test_sources_lead_to_their_words_and_hidden_steps_to_an_edit_by_keyboard(visit, paced_app):
    desk = WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(*THREE)}")).settled()
    desk.run()
    expect(desk.graph.cards.nth(2)).to_contain_text("finished")
    expect(desk.keyed("stop")).to_have_count(0)
    step = desk.select(2)
    desk.part("Saw")
    request = desk.region("Request")
    source = step.get_by_role("button", name="Step 1 ")
    expect(source).to_contain_text("writer-8b")
    source.press("Enter")
    expect(source).to_have_attribute("aria-pressed", "true")
    chosen = request.locator(".chosen")
    expect(chosen).to_have_count(2)
    expect(chosen.first).to_have_text("Find what is asked.")
    expect(chosen.first).to_be_in_viewport()
    source.press("Enter")
    expect(chosen).to_have_count(0)

    desk.page.get_by_role("button", name="Let it see 2. Look from another side").press("Enter")
    expect(desk.graph.cards.nth(2)).to_contain_text("will run")
    expect(desk.keyed("step-parts").get_by_role("tab", selected=True)).to_be_focused()
    expect(step.get_by_text("In the next run it also sees step 2.")).to_be_visible()
    expect(request).to_be_visible()
    desk.button("Undo").click()
    expect(desk.page.get_by_role("button", name="Let it see 2. Look from another side")).to_be_visible()
