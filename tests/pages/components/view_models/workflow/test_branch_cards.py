"""The card of a collapsed branch: the state that matters of its steps, their figures and heat together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conductor.drawing.branches import Branches
from conductor.drawing.network import CardContent
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import Usage
from pages.components.view_models.workflow.branch_cards import (
    branch_contents,
    branch_heat,
    finished_branches,
)
from pages.components.view_models.workflow.heat import Heat, HeatMap, run_heat
from tests.support.runs.charges import took
from tests.support.runs.workflow_cases import workflow_of

WORKFLOW = workflow_of((), (), (1,), (0, 2))
"""Step 1 only feeds step 2."""

COLLAPSED = Branches(WORKFLOW, frozenset({2}))


def contents(*statuses):
    return [
        CardContent(
            title=f"T{at}", body="", worker="ab"[at % 2], status=status, note=f"n{at}", excerpt=f"e{at}"
        )
        for at, status in enumerate(("finished", *statuses, "waiting"))
    ]


def card(*statuses, run=None):
    return branch_contents(COLLAPSED, contents(*statuses), run, now=20.0)[1]


def done(start, end, cost=0.5):
    usage = Usage(prompt_tokens=1_000, completion_tokens=1, cost=cost)
    return StepState(status="finished", started_at=start, finished_at=end, charges=took(usage))


def run_of(*states):
    return RunState(run="r", workflow=WORKFLOW, steps=states)


@pytest.mark.parametrize(
    ("statuses", "status", "note"),
    [
        (("finished", "finished"), "finished", ""),
        (("finished", "waiting"), "waiting", "1 of 2 done"),
        (("waiting", "waiting"), "waiting", ""),
        (("running", "waiting"), "running", ""),
        (("failed", "blocked"), "failed", ""),
        (("finished", "running"), "running", "1 of 2 done"),
        (("stale", "stale"), "stale", "2 of 2 will run"),
        (("finished", "stale"), "stale", "1 of 2 will run"),
        (("refused", "finished"), "refused", ""),
        (("cancelled", "waiting"), "cancelled", ""),
    ],
)
def test_the_state_is_the_one_that_matters_most_and_progress_is_counted(statuses, status, note):
    content = card(*statuses)
    assert (content.status, content.note) == (status, note)


def test_a_card_stands_for_its_steps_and_has_the_words_of_the_last_one():
    first, branch, last = branch_contents(COLLAPSED, contents("finished", "finished"), None, now=0.0)
    assert [content.steps for content in (first, branch, last)] == [(0,), (1, 2), (3,)]
    assert [content.branch for content in (first, branch, last)] == [1, 2, 4]
    assert (branch.title, branch.excerpt, branch.inside) == ("T2", "e2", "2 steps")
    assert branch.badges == ("2 workers",)


def test_without_anything_collapsed_each_card_is_the_step_at_its_place():
    whole = branch_contents(Branches(WORKFLOW), contents("finished", "finished"), None, now=0.0)
    assert [(content.steps, content.title) for content in whole] == [(None, f"T{at}") for at in range(4)]


def test_a_failed_step_is_named_and_one_that_streams_is_announced():
    first, failed, *others = contents("failed", "blocked")
    cards = [first, replace(failed, remark="no connection"), *others]
    assert branch_contents(COLLAPSED, cards, None, now=0.0)[1].remark == "Step 2: no connection"
    first, streams, waits, last = contents("running", "waiting")
    cards = [first, replace(streams, streams=True), replace(waits, excerpt=""), last]
    branch = branch_contents(COLLAPSED, cards, None, now=0.0)[1]
    assert (branch.excerpt, branch.streams) == ("e1", True)


def test_the_figures_are_sums_and_the_time_is_from_the_first_call_to_the_last_end():
    run = run_of(done(1.0, 2.0), done(10.0, 12.0), done(15.0, 16.0, cost=0.25), StepState())
    content = card("finished", "finished", run=run)
    assert (content.note, content.figures) == ("6.0 s", ("2,002 tok", "$0.7500"))
    time, cost = run_heat(WORKFLOW, run, now=20.0, cards=COLLAPSED.cards)
    assert time.steps == {0: Heat("1.0 s · 25%", pytest.approx(1 / 3)), 2: Heat("3.0 s · 75%", 1.0)}
    assert cost.steps[2] == Heat("$0.7500 · 60%", 1.0)


def test_a_trial_shows_the_largest_figure_and_its_edges_lead_from_card_to_card():
    low, high, unknown = Heat("10%", 0.1), Heat("90%", 0.9), Heat("waiting", None)
    trial = HeatMap(
        "edges", "Edge test", {1: high, 2: low}, {"1-2": high, "2-3": low, "0-3": unknown}, trial="t"
    )
    heat = branch_heat(trial, COLLAPSED)
    assert heat.steps == {2: high}
    assert heat.edges == {"1-2": low, "0-2": unknown}
    assert branch_heat(trial, Branches(WORKFLOW)) == trial


def test_only_many_steps_are_collapsed_at_once():
    few, many = (workflow_of(*[(at - 1,) if at else () for at in range(count)]) for count in (9, 10))
    cards = [CardContent(title="", body="", worker="a", status="finished")] * 10
    assert finished_branches(few, cards[:9]) == []
    assert finished_branches(many, cards) == [4]
    assert finished_branches(many, [*cards[:3], *[CardContent(title="", body="", worker="a")] * 7]) == [2]
