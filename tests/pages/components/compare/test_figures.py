"""What two sides took, figure by figure, and which of two runs was first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import duration
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.workflow.model import Step, Workflow
from pages.components.compare.figures import (
    difference,
    figures,
    named_apart,
    raced,
    step_differences,
    verdict,
)
from pages.components.view_models.comparable import Side, find_side
from tests.support.runs.charges import took

ONE = Workflow.of([Step(instruction="Answer.", worker="alpha")])


def ran(bench, session):
    """A finished run of the session's current workflow."""
    live = bench.running.start(session)
    bench.activities.wait(session)
    return find_side(bench, live.run)


@pytest.mark.slow
def test_the_figures_of_two_runs_stand_side_by_side(bench, session):
    one = ran(bench, session)
    head = bench.store.revisions.head(session)
    bench.editing.edit(
        session, head.workflow.with_instruction(0, "Find it quickly."), note="Quicker", head=head
    )
    table = {figure.name: figure for figure in figures(one, ran(bench, session))}
    assert (table["Calls"].left, table["Calls"].right, table["Calls"].difference) == ("3", "2", "−1 (−33%)")
    assert (table["Reused or kept"].left, table["Reused or kept"].right) == ("0", "1")
    assert table["Steps"].difference == "="
    assert table["State"].left == "finished"


@pytest.mark.slow
def test_the_figures_of_two_revisions_are_those_of_their_plans(bench, session):
    side = find_side(bench, bench.store.revisions.head(session).id)
    assert [figure.name for figure in figures(side, side)] == ["Steps"]
    assert {figure.left for figure in figures(side, ran(bench, session))} == {"not run", "3", "-"}


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (None, 3, "-"),
        (3, None, "-"),
        (3, 3, "="),
        (2, 3, "+1 (+50%)"),
        (4, 1, "−3 (−75%)"),
        (0, 5, "+5"),
        (2, 2469, "+2467 (×1,234)"),
    ],
)
def test_a_difference_to_the_unknown_is_unknown(one, other, words):
    assert difference(one, other, lambda number: f"{number:g}") == words


def test_what_reads_the_same_is_the_same() -> None:
    assert difference(0.0004, 0.0003, duration) == "="


def charge_of(*, cost=None, tokens=None, least=None):
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, cost=cost, least_cost=least)
    return Charge(worker="a", kind="model", purpose="step", usage=usage)


def run_of(*, at=0.0, seconds=2.0, status="finished", answer="Yes.", more=(), **used):
    """A run of one step that began `at` so many seconds, with a request that took `used`, and `more`."""
    charges = (charge_of(**used), *more)
    step = StepState(status="finished", charges=charges, worker_kind="model", started_at=at)
    return RunState(
        run="r",
        workflow=ONE,
        status=status,
        started_at=at,
        finished_at=None if status == "running" else at + seconds,
        steps=(step,),
        answer=answer,
        answered=answer is not None,
        answer_step=None if answer is None else 0,
    )


def sides(session, left, right):
    side = Side("run:1", "Run 1", session, ONE, origin="planned")
    return named_apart(replace(side, state=left), replace(side, state=right))


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ({"seconds": 2.0}, {"seconds": 3.5}, "Run 1, left was first, by 1.5 s."),
        (
            {"seconds": 4.0, "cost": 0.01},
            {"seconds": 3.0, "cost": 0.02},
            "Run 1, right was first, by 1.0 s; Run 1, left cost $0.0100 less.",
        ),
        (
            {"seconds": 2.0, "tokens": 10},
            {"seconds": 3.0, "tokens": 1_510},
            "Run 1, left was first, by 1.0 s and used 1,500 fewer tokens.",
        ),
        ({}, {}, "No difference in time or cost."),
        (
            {"seconds": 2.0, "tokens": 10, "cost": 0.01, "more": (charge_of(),)},
            {"seconds": 3.0, "tokens": 1_510, "cost": 0.02},
            "Run 1, left was first, by 1.0 s.",
        ),
        (
            {"seconds": 2.0, "cost": 0.01},
            {"seconds": 3.0, "cost": 0.02, "least": 0.001},
            "Run 1, left was first, by 1.0 s.",
        ),
        ({"answer": None, "status": "failed"}, {}, "Only Run 1, right has an answer."),
        (
            {"answer": None, "status": "failed"},
            {"answer": None, "status": "failed"},
            "Neither has an answer.",
        ),
    ],
)
def test_the_verdict_states_who_was_first_and_who_took_less(bench, session, left, right, words):
    pair = sides(bench.store.sessions.find(session), run_of(**left), run_of(**right))
    assert verdict(*pair) == words


@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        (
            {"tokens": 10, "cost": 0.01, "more": (charge_of(),)},
            {"tokens": 1_510, "cost": 0.02, "least": 0.001},
            [("at least 10", "1,510", "-"), ("at least $0.0100", "at most $0.0200", "-")],
        ),
        (
            {"tokens": 10, "cost": 0.01},
            {"tokens": 20},
            [("10", "20", "+10 (+100%)"), ("$0.0100", "-", "-")],
        ),
    ],
)
def test_a_figure_that_is_not_exact_reads_which_bound_it_is(bench, session, left, right, rows):
    pair = sides(bench.store.sessions.find(session), run_of(**left), run_of(**right))
    by_name = {each.name: (each.left, each.right, each.difference) for each in figures(*pair)}
    assert [by_name["Tokens"], by_name["Cost"]] == rows


@pytest.mark.parametrize(
    ("left", "right", "together"),
    [
        ({}, {"at": 1.0}, True),
        ({}, {"at": 2.5}, False),
        ({"status": "running"}, {"at": 900.0}, True),
    ],
)
def test_two_runs_race_where_they_were_under_way_at_the_same_time(bench, session, left, right, together):
    assert raced(*sides(bench.store.sessions.find(session), run_of(**left), run_of(**right))) is together


def ended(text, *, seconds=1.0, cost=None, **more):
    usage = Usage(prompt_tokens=1, completion_tokens=1, cost=cost)
    took_of = {"started_at": 10.0, "finished_at": 10.0 + seconds, "charges": took(usage)}
    return StepState(status="finished", text=text, **(took_of | more))


OFFLINE = {"charges": (), "worker_kind": "offline"}


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (ended("a b"), ended("a b"), ()),
        (ended("one two"), ended("three four"), ("100% differs",)),
        (ended("a", seconds=1.0), ended("a", seconds=2.5), ("+1.5 s",)),
        (ended("a", cost=0.5), ended("a", cost=0.25), ("−$0.2500",)),
        (ended("a", cost=0.5), ended("a"), ("cost unknown",)),
        (ended("a", cost=0.5), ended("a", **OFFLINE), ("−$0.5000",)),
        (ended("a"), StepState(status="finished", text="a", reused=True), ()),
        (ended("a"), StepState(status="running", text="b", started_at=1.0), ()),
        (ended("a"), StepState(), ()),
        (None, ended("a"), ()),
    ],
    ids=[
        "same",
        "output",
        "slower",
        "cheaper",
        "unknown",
        "no model",
        "reused",
        "runs",
        "waits",
        "not there",
    ],
)
def test_a_step_differs_in_what_both_runs_are_known_to_have_given(left, right, words):
    assert step_differences(left, right) == words
