"""Failures in a real browser: what cannot be used is refused in one sentence, and nothing of it is kept."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.app_server import AppServer
from tests.browser.workbench_page import WorkbenchPage

pytestmark = pytest.mark.browser


def session_count(server: AppServer) -> int:
    with server.store() as store:
        return store.sessions.count()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("   ", "The query is empty; write a question or choose an example."),
        ("why " * 25_000, "The query has 99,999 characters; the limit is 50,000."),
    ],
    ids=["empty", "100,000 characters"],
)
def test_a_query_that_cannot_be_asked_is_refused_and_stays_in_its_box(visit, built_in_app, query, expected):
    before = session_count(built_in_app)
    desk = WorkbenchPage(visit(built_in_app))
    desk.query.fill(query)
    desk.query.press("Enter")
    expect(desk.page.get_by_role("alert")).to_contain_text(expected)
    expect(desk.query).to_have_value(query)
    assert session_count(built_in_app) == before


def document(*steps: dict[str, object], **fields: object) -> str:
    """A workflow file; steps read nothing and go to the calculator unless they name others."""
    common = {"instruction": "Solve it.", "worker": "calculator", "access": []}
    whole = {"format": "conductor-workflow", "version": 1, "query": "What is 1 + 1?"}
    return json.dumps(whole | {"steps": [common | step for step in steps]} | fields)


def test_files_that_are_no_workflow_are_refused_each_with_its_reason(visit, built_in_app):
    before = session_count(built_in_app)
    desk = WorkbenchPage(visit(built_in_app))
    for name, text, expected in (
        ("words", "Dear all,", "The file is not JSON"),
        ("later", document({}, version=2), "this program reads version 1"),
        ("cycle", document({"access": [0]}), "Step 1 reads itself"),
        ("forward", document({"access": [1]}, {}), "Step 1 reads step 2, which is not before it"),
        (
            "stranger",
            document({"worker": "nobody"}),
            "The file's workflow needs nobody, which this pool does not have.",
        ),
        ("crowd", document(*[{}] * 10_000), "The file has 10,000 steps; a workflow may have at most 1,000."),
        ("<b>bold</b>", document(), "The file has no steps"),
    ):
        desk.upload({"name": f"{name}.json", "mimeType": "application/json", "buffer": text.encode()})
        expect(desk.page.get_by_role("alert")).to_contain_text(f"{name}.json was not imported: ")
        expect(desk.page.get_by_role("alert")).to_contain_text(expected)
        desk.page.keyboard.press("Escape")
        desk.settled()
    assert session_count(built_in_app) == before


def test_an_unknown_session_in_the_url_is_named_and_the_page_stays_usable(visit, built_in_app):
    desk = WorkbenchPage(visit(built_in_app, "/?session=nowhere"))
    expect(desk.page.get_by_role("alert").filter(has_text="nowhere")).not_to_have_count(0)
    expect(desk.page.get_by_role("alert").filter(has_text="nowhere")).to_have_count(1)
    expect(desk.keyed("example-0").get_by_role("button")).to_be_visible()
