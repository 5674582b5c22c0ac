"""A person leaves a page by the press that also changes something on it, as a tap does: both are done."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser

WAYS = [
    ("an open menu", "/", "Sessions", lambda desk: desk.share()),
    ("open settings", "/", "Sessions", lambda desk: desk.page.get_by_role("button", name="Standard").click()),
    (
        "a title",
        "/",
        "Pool",
        lambda desk: desk.page.get_by_role("textbox", name="Title").fill("Another title"),
    ),
    ("an instruction", "/", "Usage", lambda desk: desk.field("Instruction").fill("Count the sheep.")),
    ("open filters", "/sessions", "Pool", lambda desk: desk.button("Filters").click()),
]


@pytest.mark.parametrize("way", [way[1:] for way in WAYS], ids=[way[0] for way in WAYS])
def test_a_press_on_a_link_goes_there_whatever_it_changes(visit, paced_app, desk, way):
    path, link, act = way
    if path == "/":
        desk.select(1)
    else:
        desk = WorkbenchPage(visit(paced_app, path))
    act(desk.settled())
    desk.page.get_by_role("link", name=link, exact=True).click()
    expect(desk.page.get_by_role("heading", name=link, exact=True).first).to_be_visible()
    desk.settled()
    expect(desk.page.get_by_role("heading", name=link, exact=True).first).to_be_visible()


def test_what_was_typed_last_on_the_page_is_stored(desk, paced_app):
    desk.select(1)
    session = desk.session
    desk.field("Instruction").fill("Count the sheep.")
    desk.page.get_by_role("link", name="Sessions", exact=True).click()
    expect(desk.page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
    desk.settled()
    with paced_app.store() as store:
        steps = store.revisions.head(session).workflow.steps
    assert [step.instruction for step in steps][1] == "Count the sheep."
