"""Rounds and budgets in a real browser: the page follows by itself, stacks rounds, meters what is spent."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from conductor.values.budget import Budget
from conductor.values.presets import Settings
from conductor.workflow.model import Step
from tests.browser.app_server import AppServer
from tests.browser.scripted_endpoint import at_once, held
from tests.browser.workbench_page import Graph, WorkbenchPage
from tests.support.runs.conductor_cases import KEEP, plan_text

pytestmark = pytest.mark.browser

FIRST = plan_text((0, "Find what is asked.", "[]"), (1, "Write the answer.", "[0]"))
SECOND = f"It can be shorter, I think, and better.\n\n{plan_text((1, 'Write it shorter.', '[]'))}"


def planted(app: AppServer, *steps: Step, settings: Settings) -> str:
    session = app.plant(*steps)
    with app.store() as store:
        store.sessions.set_settings(session, settings)
    return session


def test_the_page_follows_automatic_rounds_from_run_to_planning_to_the_kept_answer(
    visit, served_app, endpoint
):
    second = held(SECOND)
    endpoint.say(at_once(FIRST), second, at_once(KEEP))
    desk = WorkbenchPage(visit(served_app))
    desk.settings.click()
    desk.page.get_by_label("Round limit").fill("3")
    desk.page.get_by_label("Round limit").press("Enter")
    desk.settled()
    desk.page.keyboard.press("Escape")
    expect(desk.settings).to_contain_text("Ultra · Up to 5 steps, 3 rounds")
    desk.ask("Which one?", run=True)
    expect(desk.keyed("read-live").get_by_text("Planning round 2")).to_be_visible()
    desk.read("Answer")
    expect(desk.answer).to_be_visible()
    second.released.set()
    expect(desk.graph.cards).to_have_count(1)
    region = desk.region("Round 3: the Conductor keeps the answer")
    expect(region).to_have_text("It is good as it is.")
    line = desk.page.get_by_text(re.compile(r"^Round 1 · chain · 2 steps · “.+” · [\d,]+ tokens · "))
    expect(line).to_be_visible()
    line.click()
    first = Graph(desk.page, 1)
    expect(first.cards).to_have_count(2)
    expect(first.root.get_by_role("button", name="Add step")).to_be_hidden()
    expect(desk.region("2. Write the answer")).to_be_visible()
    assert served_app.calls(desk.session) == [[0, 1], [0]]


def test_another_round_is_asked_for_by_its_button_until_the_third(visit, served_app, endpoint):
    endpoint.say(at_once(SECOND), at_once(FIRST))
    session = served_app.plant(Step(instruction="Find it.", worker="writer-8b"))
    desk = WorkbenchPage(visit(served_app, f"/?session={session}"))
    desk.run()
    another = desk.page.get_by_text("Another round · the Conductor")
    for number in (2, 3):
        desk.button("Other ways to run").click()
        another.click()
        expect(desk.keyed("bar-state")).to_contain_text(re.compile(rf"^finished.* · round {number} · "))
    desk.button("Other ways to run").click()
    expect(desk.page.get_by_text("Rerun all steps")).to_be_visible()
    expect(another).to_have_count(0)
    assert served_app.calls(session) == [[0], [0], [0, 1]]


def test_stop_between_rounds_keeps_the_answer(visit, served_app, endpoint):
    endpoint.say(held(SECOND))
    session = planted(
        served_app, Step(instruction="Find it.", worker="writer-8b"), settings=Settings(rounds=2)
    )
    desk = WorkbenchPage(visit(served_app, f"/?session={session}"))
    desk.run()
    expect(desk.keyed("planning").get_by_text("Planning round 2")).to_be_visible()
    desk.button("Stop").click()
    expect(desk.page.get_by_text("Planning was stopped. The answer of round 1 stands.")).to_be_visible()
    expect(desk.answer).to_be_visible()
    expect(desk.button("Rerun")).to_be_visible()


def test_a_budget_is_metered_and_its_crossing_states_how_to_go_on(visit, served_app, endpoint):
    endpoint.say(answer := held("It is written at length."))
    session = planted(
        served_app,
        Step(instruction="Find it.", worker="writer-8b"),
        Step(instruction="Write at length.", worker="scripted-13b", access=(0,)),
        Step(instruction="Check it.", worker="writer-8b", access=(1,)),
        settings=Settings(budget=Budget(calls=2, tokens=9000)),
    )
    desk = WorkbenchPage(visit(served_app, f"/?session={session}"))
    desk.run()
    expect(desk.keyed("budget-meter").get_by_text("2 of 2 calls")).to_be_visible()
    expect(desk.keyed("budget-meter").get_by_text(re.compile(r"\d+ of 9,000 tokens"))).to_be_visible()
    answer.released.set()
    alert = desk.page.get_by_role("alert")
    expect(alert).to_contain_text("Stopped at the budget: 2 of 2 calls used. 2 finished outputs kept")
    expect(desk.keyed("budget-meter")).to_have_count(0)
    desk.button("Raise the limit").click()
    calls = desk.page.get_by_label("Calls", exact=True)
    expect(calls).to_have_value("2")
    calls.fill("5")
    calls.press("Enter")
    desk.settled()
    desk.page.keyboard.press("Escape")
    expect(desk.settings).to_contain_text("9,000 tokens · 5 calls")
    desk.page.get_by_role("link", name="Sessions").click()
    expect(desk.page.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(desk.page.get_by_text("stopped at its budget").first).to_be_visible()
    desk.page.go_back()
    desk.run()
    desk.finished()
    assert served_app.calls(session) == [[0, 1], [2]]
