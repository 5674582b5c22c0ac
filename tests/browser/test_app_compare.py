"""The compare page in a real browser: reached from the workbench, read in graphs and steps, kept by link."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from conductor.workflow.model import Step
from tests.browser.workbench_page import Graph, WorkbenchPage

pytestmark = pytest.mark.browser


def test_two_plans_of_a_question_race_live_and_again_on_one_clock(visit, paced_app):
    session = paced_app.plant(
        Step(instruction="Break the question into parts.", worker="writer-8b"),
        Step(instruction="Weigh them.", worker="endless-70b", access=(0,)),
        query="Compare France and Japan by their people.",
    )
    with paced_app.store() as store:
        head = store.revisions.head(session).id
    desk = WorkbenchPage(visit(paced_app, f"/?session={session}"))
    page = desk.page
    desk.drawer("Plans")
    page.get_by_role("link", name="Race against the rule-based plan").click()
    page.wait_for_url(re.compile(f"/compare.left=revision%3A{head}&right=rules%3A{session}"))
    expect(page.get_by_text("The plans share no step")).to_be_visible()
    expect(desk.keyed("race-controls")).to_contain_text(re.compile(r"Revision 1: 2 calls, ~.+ tokens"))
    expect(desk.keyed("race-controls")).to_contain_text(re.compile(r"Rule-based plan: 3 calls, ~"))

    page.get_by_role("button", name="Run both").click()
    page.wait_for_url(re.compile("left=run%3A.+&right=run%3A"))
    left, right = desk.keyed("compare-state-left"), desk.keyed("compare-state-right")
    expect(left).to_contain_text(re.compile(r"running · 1 of 2 steps · [\d.]+ s"))
    Graph(page, 0).wait("graph.cards[1].content.status === 'running' && graph.flow.values.visible.has('0-1')")
    expect(desk.keyed("compare-words-left")).to_be_visible()
    # One of them is stopped, the other one goes on to its end.
    left.get_by_role("button", name="Stop").click()
    expect(left).to_contain_text("stopped · 1 of 2 steps")
    expect(page.get_by_role("button", name="Run both again")).to_be_visible()
    expect(page.get_by_text("Only Run 1, right has an answer.")).to_be_visible()
    expect(right).to_contain_text("finished · 3 of 3 steps")
    raced = page.url

    # A finished race is looked at by its moments and replayed: one clock drives both graphs and both lines.
    moment, again = (
        page.get_by_role("slider", name="Moment of the run"),
        page.get_by_role("button", name="Run both again"),
    )
    for end in ("Back to the end", "Replay"):
        moment.press("Home")
        expect(left).to_contain_text("running · 0 of 2 steps")
        expect(right).to_contain_text("running · 0 of 3 steps")
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        expect(again).to_have_count(0)
        page.get_by_role("button", name=end).press("Enter")
        expect(again).to_be_visible()

    # Both are ordinary runs; the other plan has a session of its own.
    with paced_app.store() as store:
        named = parse_qs(urlsplit(raced).query)
        runs = [store.runs.find(named[side][0].removeprefix("run:")) for side in ("left", "right")]
        assert runs[0].session == session
        assert store.sessions.find(runs[1].session).forked_from == head
    page.get_by_role("link", name="Open session").nth(1).click()
    page.wait_for_url(re.compile(f"session={runs[1].session}"))
    expect(Graph(page).cards).to_have_count(3)


def test_both_sides_show_as_much_on_their_cards(visit, built_in_app):
    few = built_in_app.plant(
        Step(instruction="Read.", worker="smol"), Step(instruction="Check.", worker="smol", access=(0,))
    )
    many = built_in_app.plant(
        Step(instruction="Read.", worker="smol"),
        *(Step(instruction=f"Check {step}.", worker="smol", access=(step - 1,)) for step in range(1, 14)),
    )
    with built_in_app.store() as store:
        left, right = (store.revisions.head(session).id for session in (few, many))
    page = visit(built_in_app, f"/compare?left=revision:{left}&right=revision:{right}")
    assert [Graph(page, side).ask("cards[0].kind") for side in (0, 1)] == ["flat", "flat"]
