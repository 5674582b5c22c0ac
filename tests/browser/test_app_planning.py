"""Planning by a served model in a real browser: what streams, what is refused and asked again; settings."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.contrast import assert_readable
from tests.browser.scripted_endpoint import at_once, held
from tests.browser.test_app_looks import assert_fits
from tests.browser.workbench_page import WorkbenchPage
from tests.support.runs.conductor_cases import BROKEN, plan_text
from tests.support.runs.waiting import until

pytestmark = pytest.mark.browser

GOOD = plan_text((0, "Find what is asked.", "[]"), (1, "Write the answer.", "[0]"))
HOSTILE = '<img src="/plan.png" onerror="alert(1)"> **bold** $x$'


def ask(desk: WorkbenchPage, query: str = "Which one?", *, run: bool = False) -> None:
    desk.ask(query, run=run)


def written(desk: WorkbenchPage) -> Locator:
    return desk.region("Reasoning as it is written")


@pytest.mark.journey
def test_planning_streams_with_thinking_and_retries_and_ends_in_the_plan(visit, served_app, endpoint):
    answer = held(f"First I weigh {HOSTILE} and then I choose.\n\n{GOOD}", thinking="Hm. " * 5, refusals=1)
    endpoint.say(answer)
    desk = WorkbenchPage(visit(served_app))
    ask(desk)
    expect(written(desk)).to_contain_text(f"First I weigh {HOSTILE[:20]}")
    planning = desk.keyed("planning")
    expect(planning.get_by_text(re.compile(r"attempt 1 · \d+\.\d s"))).to_be_visible()
    expect(planning.get_by_text(re.compile(r"Asked again in .* s: .*429"))).to_be_visible()
    expect(desk.region("Thinking")).to_be_hidden()
    planning.get_by_text("Thinking", exact=True).click()
    expect(desk.region("Thinking")).to_contain_text("Hm. Hm.")
    assert desk.page.locator('img[src*="plan.png"]').count() == 0
    answer.released.set()
    expect(desk.graph.cards).to_have_count(2)
    expect(desk.region("Reasoning")).to_contain_text('<img src="/plan.png" onerror="alert(1)"> bold')
    text, card = desk.region("Reasoning").bounding_box(), desk.keyed("plan-panel").bounding_box()
    assert text["width"] > card["width"] - 50, "the reasoning has its card's width"
    expect(planning).to_have_count(0)
    assert served_app.calls(desk.session) == []


STEPS = ("Find what is asked for.", "Look from another side.", "Write the answer of both.")
AS_LISTS = plan_text(*zip((0, 1, 0), STEPS, ("[]", "[]", "[0, 1]"), strict=True))
AS_JSON = json.dumps(
    {
        "reasoning": "Two of them look.",
        "steps": [
            {"instruction": step, "agent": at % 2, "access": [0] * (at == 1)} for at, step in enumerate(STEPS)
        ],
    }
)


@pytest.mark.parametrize(("text", "edges"), [(AS_LISTS, ["0-2", "1-2"]), (AS_JSON, ["0-1"])])
def test_a_plan_is_drawn_while_it_is_written_and_stays_where_it_is(visit, served_app, endpoint, text, edges):
    answer = held(text)
    endpoint.say(answer)
    desk = WorkbenchPage(visit(served_app))
    ask(desk)
    expect(desk.graph.cards.first).to_contain_text(
        f"{STEPS[0][:-1]}, worker writer-8b, not run yet, being written"
    )
    until(lambda: STEPS[0].removesuffix(".") in desk.graph.written()[0])
    for mark in ('{"', "model_id", "subtasks"):
        expect(desk.page.get_by_text(mark)).to_have_count(0)
    graph = desk.graph.settle()
    before = graph.ask("positions()")[0]
    graph.root.evaluate("root => { root.fromTheBeginning = true; }")
    answer.released.set()
    expect(desk.button("Run")).to_be_visible()
    expect(desk.graph.cards).to_have_count(3)
    expect(desk.graph.cards.filter(has_text="being written")).to_have_count(0)
    assert desk.graph.settle().edges() == edges
    assert desk.graph.ask("positions()")[0] == pytest.approx(before)
    assert desk.graph.root.evaluate("root => root.fromTheBeginning"), "the graph was drawn afresh"


def test_a_plan_of_a_connection_that_breaks_is_withdrawn_and_written_again(visit, served_app, endpoint):
    broken = held("These words count no more.", breaks=True)
    whole = held(f"Now I choose.\n\n{GOOD}")
    endpoint.say(broken, whole)
    desk = WorkbenchPage(visit(served_app))
    ask(desk)
    expect(written(desk)).to_contain_text("These words")
    broken.released.set()
    planning = desk.keyed("planning")
    expect(
        planning.get_by_text(re.compile(r"Asked again in .* s: .*; 12 characters withdrawn"))
    ).to_be_visible()
    expect(written(desk)).to_contain_text("Now I choose.")
    expect(written(desk)).not_to_contain_text("These words")
    whole.released.set()
    expect(desk.graph.cards).to_have_count(2)


def test_a_reload_and_a_second_tab_find_the_planning_under_way(visit, served_app, endpoint):
    answer = held(f"Some words first, so that there is a half.\n\n{GOOD}")
    endpoint.say(answer)
    desk = WorkbenchPage(visit(served_app))
    ask(desk)
    expect(written(desk)).to_contain_text("Some words first")
    desk.page.reload()
    other = WorkbenchPage(visit(served_app, f"/?session={desk.session}"))
    for tab in (desk, other):
        expect(written(tab)).to_contain_text("Some words first")
    answer.released.set()
    for tab in (desk, other):
        expect(tab.graph.cards).to_have_count(2)
    assert len(endpoint.bodies) == 1


def test_stop_reaches_the_endpoint_and_the_page_states_what_stands(visit, served_app, endpoint):
    endpoint.say(held(f"Some words first, so that there is a half.\n\n{GOOD}"), at_once(GOOD))
    left = endpoint.left
    desk = WorkbenchPage(visit(served_app))
    ask(desk, run=True)
    expect(written(desk)).to_contain_text("Some words first")
    desk.button("Stop").click()
    expect(desk.page.get_by_text("Planning was stopped. Nothing has run.")).to_be_visible()
    expect(desk.query).to_have_value("Which one?")
    until(lambda: endpoint.left > left)
    assert endpoint.left == left + 1
    desk.button("Plan again").click()
    expect(desk.graph.cards).to_have_count(2)


def test_invalid_plans_are_explained_asked_for_again_and_kept(visit, served_app, endpoint):
    endpoint.say(*[at_once(f"Try.\n\n{BROKEN}")] * 3)
    desk = WorkbenchPage(visit(served_app))
    ask(desk)
    for attempt in (1, 2, 3):
        expect(desk.page.get_by_text(re.compile(f"^Attempt {attempt} ·"))).to_be_visible()
        expect(desk.page.get_by_role("alert")).to_contain_text("The Conductor gave no valid plan")
        expect(desk.page.get_by_text("Step 1 asks for worker 9").first).to_be_visible()
        expect(desk.region("Conductor's text").first).to_have_text(f"Try.\n\n{BROKEN}")
        if attempt < 3:
            desk.button("Ask again").click()
    assert "worker 9" in str(endpoint.bodies[-1]["messages"])
    expect(desk.button("Ask again")).to_be_disabled()
    expect(desk.page.get_by_text("asked 3 of 3 times")).to_be_visible()
    first = desk.page.get_by_text("Attempt 1: not valid, 1 reason")
    first.click()
    expect(desk.region("Conductor's text")).to_have_count(2)
    desk.page.reload()
    expect(first).to_be_visible()
    desk.button("Start from one step").click()
    expect(desk.graph.cards).to_have_count(1)
    desk.select(0)


def test_settings_are_chosen_by_keyboard_and_mouse_and_go_with_the_query(visit, served_app, endpoint):
    endpoint.say(at_once(plan_text((0, "Answer.", "[]"))))
    desk = WorkbenchPage(visit(served_app))
    desk.settings.click()
    desk.page.get_by_role("radio", name="mini").click()
    desk.page.get_by_text("writer-8b · simulated").click()
    # Who is the first of those that are used goes no further up.
    expect(desk.page.get_by_role("button", name="Up: critic-7b", exact=True, disabled=True)).to_be_visible()
    desk.settled()
    desk.button("Up: steady-13b").press("Enter")
    expect(desk.page.get_by_role("button", name="Up: steady-13b", exact=True, disabled=True)).to_be_visible()
    desk.page.get_by_label("Cost in $").fill("0.1")
    desk.page.get_by_label("Cost in $").press("Enter")
    desk.settled()
    desk.page.keyboard.press("Escape")
    line = "Mini · 1 step · 3 of 4 workers · $0.10"
    expect(desk.settings).to_contain_text(line)
    expect(desk.settings).to_be_focused()
    ask(desk)
    expect(desk.graph.cards).to_have_count(1)
    with served_app.store() as store:
        settings = store.sessions.find(desk.session).settings
    assert (settings.workers, settings.budget.cost, settings.max_steps) == (
        ("steady-13b", "critic-7b", "scripted-13b"),
        0.1,
        1,
    )
    expect(desk.settings).to_contain_text(line)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_planned_can_be_read_at_any_width_in_either_theme(
    visit, served_app, endpoint, browser, theme
):
    answer = held(f"{'We' * 200} {GOOD}", thinking="Hm", refusals=1)
    endpoint.say(at_once(f"{'We' * 200} {BROKEN}"), answer)
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    desk = WorkbenchPage(visit(served_app, inside=context))
    desk.settings.click()
    expect(desk.keyed("settings-rows").get_by_text("For the next question.")).to_be_visible()
    assert_readable(desk.page)
    assert_readable(desk.page, ".st-key-settings-rows")
    assert_fits(desk.page)
    desk.page.keyboard.press("Escape")
    expect(desk.keyed("settings-rows")).to_have_count(0)
    ask(desk)
    expect(desk.button("Ask again")).to_be_visible()
    assert_readable(desk.page)
    assert_fits(desk.page)
    desk.button("Ask again").click()
    expect(written(desk)).to_contain_text("WeWe")
    assert_readable(desk.page)
    assert_fits(desk.page)
    answer.released.set()
    expect(desk.graph.cards).to_have_count(2)
    assert_readable(desk.page)
    desk.drawer("Plans")
    desk.button("Conductor's text").click()
    expect(desk.button("Conductor's text")).to_have_attribute("aria-expanded", "true")
    assert_readable(desk.page)
