"""A person at the door of an app with a password."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.browser_settings import PASSWORD
from tests.browser.contrast import assert_readable
from tests.browser.workbench_page import WorkbenchPage

pytestmark = [pytest.mark.browser, pytest.mark.journey]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_a_person_logs_in_works_and_logs_out(visit, browser, guarded, complaints, scheme) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = visit(guarded, "/sessions?q=x", inside=context)
    assert_readable(page, "body")
    field = page.get_by_label("Password")
    expect(field).to_be_focused()
    field.fill("Wrong password")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Wrong password.")
    assert_readable(page, "body")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    assert page.url == f"{guarded.url}/sessions?q=x"
    [cookie] = [each for each in context.cookies() if each["name"].startswith("conductor-session")]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")

    page.goto("about:blank")
    guarded.kill()
    guarded.start()
    page.goto(guarded.url)
    expect(WorkbenchPage(page).settled().query).to_be_visible()
    page.get_by_role("link", name="Log out").click()
    expect(page.get_by_label("Password")).to_be_visible()
    context.add_cookies([cookie])
    page.goto(guarded.url)
    expect(page.get_by_label("Password")).to_be_visible()
    complaints[:] = [text for text in complaints if "status of 401" not in text]
