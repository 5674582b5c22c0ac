"""The compare page in a real browser: reached from the workbench, read in graphs and steps, kept by link."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect
from workbench_page import Graph, WorkbenchPage

from conductor.workflow.model import Step

pytestmark = pytest.mark.browser

HOSTILE = '<img src="/compared.png" onerror="alert(1)"> **b** [l](/compared) $x$'


def test_an_edit_is_compared_card_by_card_and_stays_so_after_a_reload(visit, offline_app):
    session = offline_app.plant(
        Step(instruction=f"Read this: {HOSTILE}", worker="text"),
        Step(instruction="Compute the sum of both numbers.", worker="mathematics", access=(0,)),
        Step(instruction="Check the sum.", worker="checker", access=(1,)),
    )
    with offline_app.store() as store:
        head = store.revisions.head(session)
        edited = head.workflow.with_instruction(0, f"Read that: {HOSTILE}").with_access(2, [0, 1])
        edited = edited.with_worker(0, "mathematics")
        drawn = Step(instruction="Sketch two trains.", worker="text")
        store.revisions.add(session, edited.add_step(drawn, at=1), origin="human", note="More")
    desk = WorkbenchPage(visit(offline_app, f"/?session={session}"))
    page = desk.page
    desk.keyed("read-answer").get_by_role("link", name="Compare").click()
    page.wait_for_url(re.compile(r"/compare\?left=.+&right=.+"))
    left, right = Graph(page, 0), Graph(page, 1)
    expect(left.cards).to_have_text(
        [re.compile("of 3: changed, Read"), re.compile("of 3: Comp"), re.compile("d, Check")]
    )
    expect(right.cards.nth(1)).to_contain_text("added, Sketch two trains")
    assert [edge["change"] for edge in right.ask("edges.map(({ id, change }) => ({ id, change }))")].count(
        "added"
    ) == 1
    for card in left.written() + right.written():
        assert "offline" in card, "whole, also beside the words of a change"

    left.click(0)
    instruction = desk.region("Instruction")
    expect(instruction.locator("del")).to_have_text("this")
    expect(instruction.locator("ins")).to_have_text("that")
    expect(instruction).to_contain_text(HOSTILE)
    page.wait_for_function("([root]) => root.__fg.selected === 0", arg=[right.root.element_handle()])

    page.reload()
    expect(Graph(page, 1).cards).to_have_count(4)
    page.get_by_role("radio", name="Planned, edited, run").click()
    table = page.get_by_role("table").last
    expect(table.get_by_role("row")).to_have_count(5)
    expect(table.locator("ins").first).to_have_text("that")
    assert f"session={session}" in page.url
    assert page.locator('img[src*="compared"], main a[href*="compared"], .katex').count() == 0


@pytest.mark.thorough
def test_two_plans_of_a_question_race_live_and_again_on_one_clock(visit, paced_app):
    session = paced_app.plant(
        Step(instruction="Break the question into parts.", worker="writer-8b"),
        Step(instruction="Weigh them.", worker="steady-13b", access=(0,)),
        query="Compare France and Japan by their people.",
    )
    with paced_app.store() as store:
        head = store.revisions.head(session).id
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    page = desk.page
    desk.drawer("Plans")
    page.get_by_role("link", name="Race against the plan of the rules").click()
    page.wait_for_url(re.compile(f"/compare.left=revision%3A{head}&right=rules%3A{session}"))
    expect(page.get_by_text("The plans share no step")).to_be_visible()
    expect(desk.keyed("race-controls")).to_contain_text(re.compile(r"Revision 1: 2 calls, ~.+ tokens, .+ s"))
    expect(desk.keyed("race-controls")).to_contain_text(re.compile(r"Plan of the rules: 3 calls, ~"))

    page.get_by_role("button", name="Run both").click()
    page.wait_for_url(re.compile("left=run%3A.+&right=run%3A"))
    left, right = desk.keyed("compare-state-left"), desk.keyed("compare-state-right")
    expect(left).to_contain_text(re.compile(r"running · 1 of 2 steps · [\d.]+ s"))
    expect(right).to_contain_text("running")
    graph = Graph(page, 0)
    page.wait_for_function(
        "([{ __fg }]) => __fg.cards[1].content.status === 'running' && __fg.flow.values.shown.has('0-1')",
        arg=[graph.root.element_handle()],
    )
    expect(desk.keyed("compare-words-left")).to_be_visible()
    # One of them is stopped, the other one goes on to its end.
    left.get_by_role("button", name="Stop").click()
    expect(left).to_contain_text("stopped · 1 of 2 steps")
    expect(page.get_by_role("button", name="Run both again")).to_be_visible()
    expect(page.get_by_text("Only Run 1, right has an answer.")).to_be_visible()
    expect(right).to_contain_text("finished · 3 of 3 steps")
    raced = page.url

    # A finished race is replayed: one clock drives both graphs and both lines.
    page.get_by_role("button", name="Replay").click()
    expect(left).to_contain_text("running")
    assert page.get_by_role("button", name="Stop").count() == 0
    page.get_by_role("slider", name="Moment of the run").press("Home")
    expect(left).to_contain_text("running · 0 of 2 steps")
    expect(right).to_contain_text("running · 0 of 3 steps")
    page.get_by_role("button", name="Back to the end").click()
    expect(page.get_by_role("button", name="Run both again")).to_be_visible()

    # Both are ordinary runs; the other plan has a session of its own.
    with paced_app.store() as store:
        named = parse_qs(urlsplit(raced).query)
        runs = [store.runs.find(named[side][0].removeprefix("run:")) for side in ("left", "right")]
        assert runs[0].session == session
        assert store.sessions.find(runs[1].session).forked_from == head
    page.get_by_role("link", name="Open session").nth(1).click()
    page.wait_for_url(re.compile(f"session={runs[1].session}"))
    expect(Graph(page).cards).to_have_count(3)


def test_both_sides_show_as_much_on_their_cards(visit, offline_app):
    few = offline_app.plant(
        Step(instruction="Read.", worker="text"), Step(instruction="Check.", worker="checker", access=(0,))
    )
    many = offline_app.plant(
        Step(instruction="Read.", worker="text"),
        *(Step(instruction=f"Check {step}.", worker="checker", access=(step - 1,)) for step in range(1, 14)),
    )
    with offline_app.store() as store:
        left, right = (store.revisions.head(session).id for session in (few, many))
    page = visit(offline_app, f"/compare?left=revision:{left}&right=revision:{right}")
    assert [Graph(page, side).ask("cards[0].kind") for side in (0, 1)] == ["flat", "flat"]
