"""Trouble in a real browser: what cannot be used is refused in one sentence, and nothing of it is kept."""

from __future__ import annotations

import json

import pytest
from app_server import AppServer
from playwright.sync_api import expect
from workbench_page import WorkbenchPage

from conductor.workflow.model import Step

pytestmark = pytest.mark.browser

HOSTILE = (
    '<img src="/query.png" onerror="alert(3)"> **not bold** [click](javascript:alert(4)) $x$ '
    "<script>1</script>"
)


def kept(server: AppServer) -> int:
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
def test_a_query_that_cannot_be_asked_is_refused_and_stays_in_its_box(visit, offline_app, query, expected):
    before = kept(offline_app)
    desk = WorkbenchPage(visit(offline_app))
    desk.query.fill(query)
    desk.query.press("Enter")
    expect(desk.page.get_by_role("alert")).to_contain_text(expected)
    expect(desk.query).to_have_value(query)
    assert kept(offline_app) == before


def document(*steps: dict[str, object], **fields: object) -> str:
    """A workflow file; steps read nothing and go to the mathematics expert unless they say otherwise."""
    common = {"instruction": "Solve it.", "worker": "mathematics", "access": []}
    whole = {"format": "conductor-workflow", "version": 1, "query": "What is 1 + 1?"}
    return json.dumps(whole | {"steps": [common | step for step in steps]} | fields)


@pytest.mark.thorough
def test_files_that_are_no_workflow_are_refused_each_with_its_reason(visit, offline_app):
    before = kept(offline_app)
    desk = WorkbenchPage(visit(offline_app))
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
        ("crowd", document(*[{}] * 10_000), "The file has 10,000 steps; a workflow may have at most 100."),
        ("<b>bold</b>", document(), "The file has no steps"),
    ):
        desk.upload({"name": f"{name}.json", "mimeType": "application/json", "buffer": text.encode()})
        expect(desk.page.get_by_role("alert")).to_contain_text(f"{name}.json was not imported: ")
        expect(desk.page.get_by_role("alert")).to_contain_text(expected)
        desk.page.keyboard.press("Escape")
        desk.settled()
    assert kept(offline_app) == before


def test_markup_in_every_text_is_shown_letter_for_letter(visit, paced_app):
    hostile = '<b id="worker">*worker*</b>'
    session = paced_app.plant(Step(instruction=HOSTILE, worker=hostile), query=HOSTILE)
    page = visit(paced_app, f"/?session={session}")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    desk = WorkbenchPage(page)
    desk.run()
    desk.finished()
    desk.select(0)
    desk.part("Saw")
    expect(desk.region("Request")).to_contain_text(HOSTILE)
    raw = '<img src="/answer.png" onerror="alert(1)"> <script>alert(2)</script>'
    answer = f"{raw} bold link example.org"
    desk.part("Output")
    expect(desk.region("Output")).to_have_text(answer)
    desk.read("Answer")
    expect(desk.answer).to_have_text(answer)
    page.get_by_role("group", name="Answer shown as").get_by_role("button", name="Source").click()
    expect(desk.answer).to_have_text(f"{raw} **bold** [link](http://example.org)")
    expect(
        page.get_by_role("heading", name='<img src="/query.png" onerror="alert(3)"> **not bold**').first
    ).to_be_visible()
    expect(desk.graph.cards.first).to_contain_text(f"worker {hostile}")
    assert "simulated" in desk.graph.written()[0], "also beside a long name"
    expect(desk.keyed(f"recent-{session}")).to_contain_text('<img src="/query.png"')
    desk.keyed(f"recent-{session}").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("**not bold** [click](javascript:alert(4)) $x$")
    assert page.locator('img[src*="png"], main script, #worker, a[href^="javascript"], .katex').count() == 0
    assert [url for url in asked if url.endswith(("query.png", "answer.png"))] == []


def test_a_failed_step_says_why_and_the_rest_is_kept(visit, paced_app):
    session = paced_app.plant(
        Step(instruction="Find it.", worker="writer-8b"),
        Step(instruction="Break here.", worker="broken-1b"),
        Step(instruction="Go on.", worker="writer-8b", access=(1,)),
    )
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.run()
    expect(desk.page.get_by_role("alert")).to_contain_text(
        "2. Break here failed: broken-1b was set to fail on this call. 1 finished output kept"
    )
    expect(desk.graph.cards.nth(2)).to_contain_text("blocked")
    desk.select(2)
    expect(desk.inspector.get_by_role("alert")).to_contain_text("Did not run, because it reads step 2.")
    desk.select(1)
    desk.choose("Worker", "critic-7b")
    desk.run()
    desk.finished()
    assert paced_app.calls(session) == [[0, 1], [1, 2]]


def test_an_unknown_session_in_the_url_is_named_and_the_page_stays_usable(visit, offline_app):
    desk = WorkbenchPage(visit(offline_app, "/?session=nowhere"))
    expect(desk.page.get_by_role("alert").filter(has_text="nowhere")).not_to_have_count(0)
    expect(desk.page.get_by_role("alert").filter(has_text="nowhere")).to_have_count(1)
    expect(desk.keyed("examples").get_by_role("button").first).to_be_visible()
