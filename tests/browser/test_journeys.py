"""A dozen journeys through the app in a real browser, which `make test` takes: ask, see the plan, run, read,
change, rerun, compare, stop, wait, fail; on two servers.
"""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from conductor.runs.state import fold
from conductor.workflow.model import Step
from tests.browser.workbench_page import THREE, Graph, WorkbenchPage
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.journey]

FIVE = (
    Step(instruction="Find the first plan.", worker="writer-8b"),
    Step(instruction="Find the second plan.", worker="critic-7b"),
    Step(instruction="Compare both plans.", worker="writer-8b", access=(0, 1)),
    Step(instruction="Check the comparison.", worker="critic-7b", access=(2,)),
    Step(instruction="Write the result.", worker="writer-8b", access=(2, 3)),
)

SCROLLS = (
    "([...document.querySelectorAll('.stMain, html')].some((box) => box.scrollHeight > box.clientHeight))"
)

QUICK = Step(instruction="Find what is asked.", worker="writer-8b")

ENDLESS = Step(instruction="Write without an end.", worker="endless-70b", access=(0,))

MARKUP = '<img src="/compared.png" onerror="alert(1)"> **b** [l](/compared) $x$'

HOSTILE = (
    '<img src="/query.png" onerror="alert(3)"> **not bold** [click](javascript:alert(4)) $x$ '
    "<script>1</script>"
)


def press_in_sight(page: Page, name: str) -> None:
    """Press the button of that name where it is, without scrolling."""
    box = page.get_by_role("button", name=name, exact=True).bounding_box()
    size = page.viewport_size
    assert box is not None
    assert size is not None
    assert 0 <= box["x"] <= size["width"] - box["width"]
    assert 0 <= box["y"] <= size["height"] - box["height"]
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_a_newcomer_sees_a_plan_an_edit_and_a_partial_rerun_within_a_minute(visit, built_in_app, browser):
    with built_in_app.store() as store:
        before = len(store.sessions.listed())
    began = time.monotonic()
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="no-preference")
    desk = WorkbenchPage(visit(built_in_app, inside=context))
    page, cards = desk.page, desk.graph.cards
    expect(cards).to_have_count(5)
    expect(cards.nth(0)).to_contain_text("running")
    expect(cards.nth(0)).to_contain_text("finished")
    expect(desk.keyed("stage-read").get_by_role("table")).to_be_visible()
    with built_in_app.store() as store:
        assert len(store.sessions.listed()) == before, "nothing is stored before a change"
    press_in_sight(page, "Remove an edge")
    expect(cards.nth(4)).to_contain_text("will run")
    expect(page.get_by_text(re.compile("1 of 5 steps will run, 4 pinned"))).to_be_visible()
    press_in_sight(page, "Rerun")
    desk.finished()
    expect(page.get_by_text("1 step ran · 4 pinned")).to_be_visible()
    assert time.monotonic() - began < 60
    assert built_in_app.calls(desk.session) == [[0, 1, 2, 3, 4], [4]]
    page.go_back()
    expect(desk.keyed("stage")).to_be_visible()
    desk.button("Ask your own").click()
    expect(desk.query).to_be_focused()
    context.close()


def test_an_example_is_planned_and_explained_before_anything_runs(visit, built_in_app):
    desk = WorkbenchPage(visit(built_in_app)).settled()
    examples = desk.page.locator('[class*="st-key-example-"]').get_by_role("button")
    expect(examples).to_have_count(3)
    examples.first.click()
    expect(desk.graph.cards).to_have_count(1)
    expect(desk.title).to_contain_text("What is 17 * 23?")
    expect(desk.region("Reasoning")).to_contain_text("The query is a calculation")
    expect(desk.graph.cards.first).to_contain_text("not run yet")
    assert built_in_app.calls(desk.session) == []


def test_the_built_in_set_computes_a_step_and_shows_what_each_step_saw(visit, built_in_app):
    session = built_in_app.plant(
        Step(instruction="Compute 17 * 23.", worker="calculator"),
        Step(instruction="Add 9 to the previous result", worker="calculator", access=(0,)),
    )
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    desk.run()
    expect(desk.answer).to_contain_text("400")
    expect(desk.page.get_by_text("offline, no model is called").first).to_be_visible()
    step = desk.select(1)
    expect(desk.field("Worker")).to_have_value(re.compile("^calculator"))
    expect(desk.field("Instruction")).to_have_value(re.compile("^Add 9 to"))
    expect(step.get_by_role("region", name="Output")).to_contain_text("Answer: 400")
    desk.part("Instruction")
    expect(step.get_by_text("1. Compute 17 * 23").first).to_be_visible()
    desk.part("Saw")
    with built_in_app.store() as store:
        run = store.runs.of_session(desk.session)[0]
        sent = next(e.request for e in store.runs.events(run.id) if e.type == "step_started" and e.step == 1)
    region = step.get_by_role("region", name="Request")
    expect(region).to_be_visible()
    assert region.text_content() == "".join(message.content for message in sent.messages)


def test_a_run_shows_live_cards_and_text_that_grows(visit, paced_app):
    session = paced_app.plant(Step(instruction="Write at length.", worker="endless-70b"))
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.run()
    expect(desk.graph.cards.first).to_contain_text("running")
    expect(desk.streams).to_have_text(re.compile(r"^(?!Waiting)\w"))
    early = desk.streams.inner_text()
    until(lambda: (later := desk.streams.inner_text()).startswith(early) and len(later) > len(early) + 9)
    expect(desk.page.get_by_text("0 of 1 steps")).to_be_visible()
    desk.button("Stop").click()
    expect(desk.graph.cards.first).to_contain_text("stopped")


def test_a_rerun_calls_only_what_an_edit_touched(visit, paced_app):
    session = paced_app.plant(*THREE)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.run()
    desk.finished()
    desk.select(0)
    desk.choose("Worker", "critic-7b")
    expect(desk.page.get_by_text(re.compile("2 of 3 steps will run, 1 reused, ~.* tokens, "))).to_be_visible()
    cards = desk.graph.cards
    expect(cards.nth(0)).to_contain_text("will run")
    expect(cards.nth(1)).to_contain_text("reused")
    desk.run()
    expect(desk.page.get_by_text("2 steps ran · 1 reused")).to_be_visible()
    expect(cards.nth(1)).to_contain_text("reused")
    assert paced_app.calls(session) == [[0, 1, 2], [0, 2]]


def test_access_is_drawn_and_deleted_in_the_graph_and_counts_at_the_rerun(visit, paced_app):
    session = paced_app.plant(*THREE)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.run()
    desk.finished()
    graph = desk.graph
    graph.drag(1, 2)
    expect(graph.cards.nth(2)).to_contain_text("reads steps 1, 2")
    graph.click_edge("0-2")
    desk.page.keyboard.press("Delete")
    expect(graph.cards.nth(2)).to_contain_text(re.compile("reads step 2$"))
    expect(desk.page.get_by_text(re.compile("1 of 3 steps will run, 2 reused, ~.* tokens"))).to_be_visible()
    desk.run()
    expect(desk.page.get_by_text("1 step ran · 2 reused")).to_be_visible()
    assert paced_app.calls(session) == [[0, 1, 2], [2]]


def test_a_question_is_asked_and_followed_up_by_keyboard_and_kept_until_then(visit, built_in_app):
    desk = WorkbenchPage(visit(built_in_app))
    desk.query.fill("What is")
    desk.query.press("Shift+Enter")
    desk.query.press_sequentially("17 * 23?")
    expect(desk.query).to_have_value("What is\n17 * 23?")
    desk.page.reload()
    expect(desk.query).to_have_value("What is\n17 * 23?")
    desk.query.press("Enter")
    expect(desk.graph.cards).to_have_count(1)
    expect(desk.query).to_have_value("")
    first = desk.session
    assert built_in_app.calls(first) == []
    desk.run()
    desk.finished()
    expect(desk.query).to_have_attribute("placeholder", "Ask a follow-up question")
    desk.ask("What is 391 + 2?", run=True)
    desk.page.wait_for_url(lambda url: first not in url)
    expect(desk.answer).to_contain_text("393")
    desk.page.get_by_text("Earlier conversation · 2 messages").click()
    expect(desk.region("User")).to_have_text("What is\n17 * 23?")
    desk.rewrite()
    expect(desk.query).to_have_value("What is 391 + 2?")
    desk.page.reload()
    expect(desk.settings).to_contain_text("Runs at once")
    desk.button("New").click()
    expect(desk.query).to_have_value("")


def test_graph_and_answer_are_in_sight_at_once_and_a_card_shows_its_step(visit, paced_app):
    desk = WorkbenchPage(visit(paced_app, f"/?session={paced_app.plant(*FIVE)}"))
    page = desk.page
    page.set_viewport_size({"width": 1440, "height": 900})
    desk.run()
    desk.finished()
    assert not page.evaluate(SCROLLS)
    assert all(card["top"] > 0 and card["bottom"] < 864 for card in desk.graph.settle().ask("positions()"))
    answer = desk.keyed("read-pane").bounding_box()
    assert answer is not None
    assert answer["height"] > 700

    desk.select(2)
    expect(page.get_by_role("tab", name="Step 3")).to_have_attribute("aria-selected", "true")
    expect(desk.answer).to_be_hidden()
    desk.page.keyboard.press("Escape")
    expect(desk.answer).to_be_visible()

    drawer = desk.keyed("drawer")
    assert drawer.bounding_box()["height"] < 40
    desk.drawer("Timeline")
    assert drawer.bounding_box()["height"] > 200
    assert not page.evaluate(SCROLLS)
    desk.keyed("panel").get_by_role("radio", name="Timeline").click()
    expect(desk.keyed("drawer-body")).to_have_count(0)

    handle = page.get_by_role("separator", name="Reading pane size")
    handle.press("ArrowLeft")
    wider = desk.keyed("read-pane").bounding_box()["width"]
    assert wider > answer["width"]
    page.reload()
    expect(desk.answer).to_be_visible()
    handle.wait_for()
    assert desk.settled().keyed("read-pane").bounding_box()["width"] == pytest.approx(wider, abs=2)
    handle.dblclick()


def test_an_edit_is_compared_card_by_card_and_stays_so_after_a_reload(visit, built_in_app):
    # Another session of this question in this minute.
    built_in_app.plant(Step(instruction="Compute the product.", worker="calculator"))
    session = built_in_app.plant(
        Step(instruction=f"Read this: {MARKUP}", worker="smol"),
        Step(instruction="Compute the sum of both numbers.", worker="calculator", access=(0,)),
        Step(instruction="Check the sum.", worker="smol", access=(1,)),
    )
    with built_in_app.store() as store:
        head = store.revisions.head(session)
        edited = head.workflow.with_instruction(0, f"Read that: {MARKUP}").with_access(2, [0, 1])
        edited = edited.with_worker(0, "calculator")
        sketch = Step(instruction="Sketch two trains.", worker="smol")
        store.revisions.add(session, edited.add_step(sketch, at=1), origin="human", note="More")
    desk = WorkbenchPage(visit(built_in_app, f"/?session={session}"))
    page = desk.page
    desk.keyed("read-answer").get_by_role("link", name="Compare").click()
    page.wait_for_url(re.compile(r"/compare\?left=.+&right=.+"))
    address = page.url
    left, right = Graph(page, 0), Graph(page, 1)
    expect(left.cards).to_have_text(
        [re.compile("of 3: changed, Read"), re.compile("of 3: Comp"), re.compile("d, Check")]
    )
    expect(right.cards.nth(1)).to_contain_text("added, Sketch two trains")
    assert [edge["change"] for edge in right.ask("edges.map(({ id, change }) => ({ id, change }))")].count(
        "added"
    ) == 1
    for card in left.written() + right.written():
        assert "offline" in card or "simulated" in card, "whole, also beside the words of a change"

    left.click(0)
    instruction = desk.region("Instruction")
    expect(instruction.locator("del")).to_have_text("this")
    expect(instruction.locator("ins")).to_have_text("that")
    expect(instruction).to_contain_text(MARKUP)
    right.wait("graph.selected === 0")
    assert page.url == address

    page.reload()
    expect(Graph(page, 1).cards).to_have_count(4)
    page.get_by_role("radio", name="Planned, edited, run").click()
    table = page.get_by_role("table").last
    expect(table.get_by_role("row")).to_have_count(5)
    expect(table.locator("ins").first).to_have_text("that")
    assert f"session={session}" in page.url
    assert page.locator('img[src*="compared"], main a[href*="compared"], .katex').count() == 0


def test_a_gate_is_set_in_the_graph_and_a_run_waits_there_until_it_is_continued(visit, paced_app):
    session = paced_app.plant(*THREE)
    page = visit(paced_app, f"/?session={session}")
    desk = WorkbenchPage(page)
    desk.graph.click(2)
    page.keyboard.press("b")
    expect(desk.graph.cards.nth(2)).to_contain_text("with a gate before it")
    desk.run()
    expect(desk.graph.cards.nth(2)).to_contain_text("the run waits here for a person")
    expect(page.get_by_text("Waiting before step 3. 2 finished outputs kept")).to_be_visible()
    expect(page.get_by_text("waiting before step 3: Continue calls 1 step, 2 of 3 kept")).to_be_visible()
    page.get_by_text("Step 3", exact=True).click()
    page.get_by_role("tab", name="Saw").click()
    expect(page.get_by_text("Own task")).to_be_visible()
    page.reload()
    desk = WorkbenchPage(page)
    desk.button("Continue").click()
    expect(desk.graph.cards.nth(2)).to_contain_text("finished")
    expect(desk.button("Rerun")).to_be_visible()
    assert paced_app.calls(session) == [[0, 1], [2]]


def test_stop_ends_a_run_and_keeps_what_is_done(visit, paced_app):
    session = paced_app.plant(QUICK, ENDLESS)
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    desk.run()
    expect(desk.graph.cards.nth(1)).to_contain_text("running")
    expect(desk.streams).to_be_visible()
    desk.button("Stop").click()
    expect(desk.page.get_by_text("Stopped. 1 finished output kept; a rerun calls 1 step.")).to_be_visible()
    expect(desk.graph.cards.nth(1)).to_contain_text("stopped")
    with paced_app.store() as store:
        state = fold(store.runs.events(store.runs.of_session(session)[0].id))
    assert state.status == "cancelled"
    assert [step.status for step in state.steps] == ["finished", "cancelled"]


def test_markup_in_every_text_is_shown_letter_for_letter(visit, paced_app):
    hostile = '<b id="worker">*worker*</b>'
    session = paced_app.plant(Step(instruction=HOSTILE, worker=hostile), query=HOSTILE)
    page = visit(paced_app, f"/?session={session}")
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
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
    page.get_by_role("button", name="Source of answer").click()
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
    assert [url for url in urls if url.endswith(("query.png", "answer.png"))] == []


def test_a_failed_step_states_why_and_the_rest_is_kept(visit, paced_app):
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
