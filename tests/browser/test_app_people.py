"""People log in at a provider, and what they make in the app has their name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.browser_settings import paced
from tests.browser.contrast import assert_readable
from tests.browser.workbench_page import WorkbenchPage
from tests.support.endpoints.openid_provider import OpenIdProvider, openid_provider
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

ADA = "ada@example.org"


@pytest.fixture
def provider() -> Iterator[OpenIdProvider]:
    with openid_provider() as provider:
        yield provider


@pytest.fixture
def people_app(chromium: str, provider: OpenIdProvider, tmp_path) -> Iterator[AppServer]:
    """An app in which the people of that provider log in."""
    with AppServer(tmp_path, settings={**paced(tmp_path), **provider.settings}) as server:
        yield server


def test_a_person_logs_in_and_what_they_make_has_their_name(
    visit, browser, people_app, provider, complaints
) -> None:
    session = people_app.plant(Step(instruction="Find it.", worker="writer-8b"))
    page = visit(people_app, f"/?session={session}", inside=browser.new_context())
    link = page.get_by_role("link", name=f"Log in with {provider.issuer.removeprefix('http://')}")
    assert_readable(page, "body")
    provider.refusal = "access_denied"
    link.click()
    expect(page.get_by_role("alert")).to_contain_text("did not log you in (access_denied)")
    provider.refusal = None
    page.goto(f"{people_app.url}/?session={session}")
    link.click()

    desk = WorkbenchPage(page).settled()
    assert page.url == f"{people_app.url}/?session={session}"
    expect(page.get_by_text(f"{ADA} · Log out")).to_be_visible()
    desk.select(0)
    desk.field("Instruction").fill("Find it twice.")
    desk.leave_fields()
    desk.run()
    desk.finished()
    page.get_by_role("radio", name="Thumbs up").click()
    expect(page.get_by_text("You rated this answer good.")).to_be_visible()
    step = desk.select(0)
    desk.region("Output").focus()
    page.keyboard.press("n")
    form = page.get_by_role("dialog", name="Write a note")
    form.get_by_label("Note", exact=True).fill("Well found.")
    expect(form.get_by_label("Your name")).to_be_hidden()
    page.keyboard.press("Control+Enter")
    # Behind the "@" stands what keeps the address from being a link.
    expect(step.get_by_text(re.compile("^ada@.?example.org · "))).to_be_visible()
    desk.drawer("History")
    expect(page.get_by_role("listbox", name="History")).to_contain_text(f"by {ADA}")

    with people_app.store() as store:
        [run] = store.runs.of_session(session)
        [note] = store.notes.of_session(session)
        edited = store.revisions.of_session(session)[-1]
        assert [edited.author, run.person, note.author, store.corrections.rater(run.id)] == [ADA] * 4
        until(lambda: {use.names for use in store.ledger.used("person")} == {(ADA,)})

    page.goto(f"{people_app.url}/usage")
    expect(page.get_by_role("heading", name="Usage")).to_be_visible()
    page.context.request.get(f"{people_app.url}/logout", max_redirects=0)
    page.get_by_role("link", name="Sessions").click()
    expect(page.get_by_text("Your login has ended.")).to_be_visible()
    page.reload()
    expect(link).to_be_visible()
    expected = ("status of 401", "response code: 40", "WebSocket", provider.issuer)
    complaints[:] = [text for text in complaints if not any(each in text for each in expected)]
