"""A run in words: its state, the notes on its answer, how much of its budget is spent."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from conductor.drawing.network import CardStatus
from conductor.report.words import OUTCOMES, STATUSES
from conductor.runs.scope import RunScope
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState, StepStatus
from conductor.values.budget import Budget, Used
from conductor.values.messages import Usage
from conductor.values.output import Output
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.run_text import (
    STATE_ICONS,
    answer_kind,
    answer_notes,
    author_notes,
    progress_text,
    run_label,
    spent,
    state_label,
)
from pages.components.widgets.step_result import _STATUS
from studio.cli.sessions import show as sessions_show
from tests.support.runs.charges import took

ONE = Workflow.of([Step(instruction="Answer.", worker="a")])


def run_of(budget, **step):
    return RunState(
        run="r", workflow=ONE, budget=budget, steps=(StepState(calls=1, **step),), started_at=90.0
    )


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "0 of 0 steps · 5.0 s"),
        ((StepState(status="running", started_at=91.0),), "0 of 1 steps · 5.0 s"),
        (
            (
                StepState(
                    status="finished",
                    started_at=91.0,
                    charges=took(Usage(prompt_tokens=7, completion_tokens=3)),
                ),
                StepState(status="running", started_at=92.0),
            ),
            "1 of 2 steps · 5.0 s · at least 10 tokens",
        ),
        ((StepState(status="finished", started_at=91.0),), "1 of 1 steps · 5.0 s"),
    ],
    ids=["nothing begun", "nothing ended", "one ended", "nothing known"],
)
def test_a_live_run_states_nothing_of_tokens_that_are_unknown(steps, words):
    state = RunState(run="r", workflow=ONE, steps=steps, started_at=90.0)
    assert progress_text(state, now=95.0) == words


def test_a_run_that_goes_on_by_itself_is_named_so():
    state = RunState(run="r", workflow=ONE, scope=RunScope(resumption=2), started_at=90.0)
    assert progress_text(state, now=95.0) == "0 of 0 steps · 5.0 s · resumed by itself"


def test_each_limit_of_a_budget_has_its_words_and_its_share():
    usage = Usage(prompt_tokens=1000, completion_tokens=240, cost=0.05)
    budget = Budget(tokens=5000, cost=0.1, seconds=40, calls=1)
    state = run_of(budget, status="finished", started_at=90.0, finished_at=95.0, charges=took(usage))
    assert [(limit.words, limit.share) for limit in spent(state, now=100.0)] == [
        ("1,240 of 5,000 tokens", 0.248),
        ("$0.0500 of $0.1000", 0.5),
        ("10 of 40 seconds", 0.25),
        ("1 of 1 calls", 1.0),
    ]


def test_what_is_not_limited_is_not_shown_and_no_bar_is_longer_than_its_limit():
    assert spent(run_of(Budget()), now=100.0) == ()
    (seconds,) = spent(run_of(Budget(seconds=2)), now=100.0)
    assert (seconds.words, seconds.share) == ("10 of 2 seconds", 1.0)


def test_what_was_used_before_the_run_counts_and_unknown_costs_are_a_lower_bound():
    usage = Usage(prompt_tokens=1000, completion_tokens=240)
    budget = Budget(tokens=5000, cost=0.1, seconds=40, calls=4)
    state = run_of(budget, status="finished", started_at=90.0, finished_at=95.0, charges=took(usage))
    state = replace(state, used_before=Used(tokens=760, cost=0.05, seconds=10, calls=1))
    assert [(limit.words, limit.share) for limit in spent(state, now=100.0)] == [
        ("2,000 of 5,000 tokens", 0.4),
        ("at least $0.0500 of $0.1000", 0.5),
        ("20 of 40 seconds", 0.5),
        ("2 of 4 calls", 0.5),
    ]


def output(**fields):
    common = {"fingerprint": "f", "text": "said", "seconds": 0.1, "run": "r", "step": 0}
    return Output(**common, worker_kind="model", **fields)


@pytest.mark.parametrize(
    ("state", "by", "notes"),
    [
        (StepState(), "a", ["a"]),
        (StepState(worker_kind="offline"), "a", ["a", "offline"]),
        (StepState(status="running", stand_in="b"), "b", ["answered by b in place of a"]),
        (StepState(output=output(worker="b", instead_of="z")), "b", ["answered by b in place of z"]),
    ],
)
def test_who_really_answered_is_stated(state, by, notes):
    assert state.answered_by("a") == by
    assert author_notes("a", state) == notes


def test_the_answer_of_a_stand_in_is_marked():
    step = StepState(status="finished", output=output(worker="b", instead_of="a"), stand_in="b")
    state = RunState(run="r", workflow=ONE, steps=(step,), answer="42", answer_step=0)
    assert answer_notes(state) == ["answered by b in place of a"]
    assert answer_notes(RunState(run="r", workflow=ONE, steps=(StepState(),))) == []


@pytest.mark.parametrize(
    ("kind", "expected"), [("simulated", ["simulated"]), ("offline", ["offline"]), ("model", [])]
)
def test_an_answer_that_no_model_gave_states_it_also_in_a_pool_of_models(kind, expected):
    step = StepState(status="finished", worker_kind=kind)
    assert answer_kind(RunState(run="r", workflow=ONE, steps=(step,), answer="42", answer_step=0)) == expected
    assert answer_kind(RunState(run="r", workflow=ONE, steps=(step,))) == []


ICONS = Path(__file__).parents[4] / "pages/components/graph/icons.js"


def test_a_stopped_run_or_step_is_called_so_wherever_it_is_read_or_announced():
    code = ICONS.read_text(encoding="utf-8").partition("STATUS_SHAPES")[0]
    spoken = dict(re.findall(r'(\w+): "([^"]*)"', code))
    steps = {status for part in get_args(CardStatus) for status in get_args(part) or (part,)}
    assert steps <= spoken.keys()
    assert set(get_args(StepStatus)) == STATUSES.keys() <= _STATUS.keys()
    words = (
        spoken["cancelled"],
        STATUSES["cancelled"],
        OUTCOMES["cancelled"],
        _STATUS["cancelled"][2],
        state_label("cancelled"),
        sessions_show.state_word("cancelled"),
    )
    assert set(words) == {"stopped"}
    assert not [state for state in STATE_ICONS if "cancel" in state_label(state)]


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (RunState(status="finished", answered=True), "finished"),
        (RunState(status="finished"), "no answer"),
        (RunState(status="failed"), "failed"),
        (RunState(status="cancelled"), "stopped"),
    ],
)
def test_a_finished_run_without_an_answer_states_it(state, word):
    assert run_label(state) == word
