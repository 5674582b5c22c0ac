"""A run that ends while no one looks at the page is announced, where a person turned that on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.scripted_endpoint import held
from tests.browser.workbench_page import THREE, WorkbenchPage

pytestmark = pytest.mark.browser

_RECORDED = """
globalThis.shown = [];
globalThis.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() { return (Notification.permission = globalThis.answers ?? "granted"); }
  constructor(title, options) { super(); globalThis.shown.push([title, options.body]); }
  close() {}
};
"""
"""A browser without windows shows no notification; this one records them."""

_HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def recording(browser, script):
    """A context that runs `script` before every page."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.add_init_script(script)
    return context


def test_a_run_that_ends_unseen_is_announced_once_it_is_turned_on(visit, paced_app, endpoint, browser):
    endpoint.say(answer := held("It is done."))
    first = THREE[0].model_copy(update={"worker": "scripted-13b"})
    session = paced_app.plant(first, THREE[2].model_copy(update={"gate": True}), query="Which one?")
    page = visit(paced_app, f"/?session={session}", inside=recording(browser, _RECORDED))
    desk = WorkbenchPage(page)
    page.get_by_role("tab", name="Live").click()
    switch = page.get_by_role("button", name="Notify me when a run ends")
    switch.focus()
    page.keyboard.press("Enter")
    expect(switch).to_have_attribute("aria-pressed", "true")
    desk.run()
    expect(desk.button("Stop")).to_be_visible()
    with page.expect_response(re.compile("/ending")):
        page.evaluate(_HIDE, True)
    answer.released.set()
    page.wait_for_function("shown.length")
    assert page.evaluate("shown") == [["Which one?", "Waits for a person"]]
    page.evaluate(_HIDE, False)
    expect(desk.button("Continue")).to_be_visible()
    page.evaluate(_HIDE, True)
    assert len(page.evaluate("shown")) == 1


def test_a_browser_that_refuses_is_shown_as_such(visit, paced_app, browser):
    refusing = recording(browser, f"answers = 'denied';{_RECORDED}")
    page = visit(paced_app, f"/?session={paced_app.plant(*THREE)}", inside=refusing)
    page.get_by_role("tab", name="Live").click()
    page.get_by_role("button", name="Notify me when a run ends").click()
    expect(page.get_by_role("button", name="Notifications are blocked in this browser")).to_be_disabled()
