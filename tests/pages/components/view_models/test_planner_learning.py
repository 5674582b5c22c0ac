"""Learnings of planners as the page shows them: phases, forecasts, and the examination as rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.baselines.planner_file.planner_file import break_even
from conductor.values.budget import NO_BUDGET, Budget
from pages.components.view_models.planner_learning import (
    exam_rows,
    forecast_words,
    learning_took,
    phase,
    whole,
)
from studio.evaluation.outlook import EvaluationOutlook
from studio.evaluation.planner_learning.learning_folder import LearningSettings, LearningState
from studio.learning.planner_run import PlannerRun
from tests.support.stores.planner_folders import ROWS, learnt_planner

HOW = LearningSettings(data="demo", digest="d", use="nearest", planners=("conductor",))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (None, "Starting"),
        ({}, "Starting"),
        ({"fit": "f"}, "Trying plans"),
        ({"fit": "f", "origins": ()}, "Trying the right plans on all questions"),
        ({"fit": "f", "origins": (), "exam": "e"}, "Examining it on held-out questions"),
    ],
)
def test_what_goes_on_in_a_learning_is_named(changes, words):
    state = None if changes is None else LearningState(settings=HOW, **changes)
    assert phase(PlannerRun(Path("mine"), None, state, None, is_learning=True)) == words


def test_the_examination_has_this_planner_first_and_a_cost_only_where_one_is_known():
    first, conductor, *_ = exam_rows(learnt_planner())
    assert first == {
        "Planner": "mine", "Right": "90%", "Tokens per question": "100", "Lead of mine": "",
        "95% interval": "", "p (Holm)": "",
    }  # fmt: skip
    assert (conductor["Lead of mine"], conductor["95% interval"], conductor["p (Holm)"]) == (
        *("+50.0 points", "+20.0 to +70.0", "0.012"),
    )
    paid = tuple(row.model_copy(update={"cost": 0.5}) for row in ROWS[:1])
    assert exam_rows(learnt_planner(exam=paid))[0]["Cost per question"] == "$0.5000"


def test_what_learning_took_is_summed_up():
    assert learning_took(learnt_planner()) == (
        "2 plans tried on 2 questions; 2 solved. Learning took 7 calls, 8,000 tokens."
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS, "saves 400,000 tokens for 1,000 questions beside baseline:vote"),
        (ROWS[:2], "learning is paid for after 40 questions"),
        ((ROWS[0].model_copy(update={"tokens": 310.0}), ROWS[1]), "takes 10,000 tokens more"),
        ((ROWS[0].model_copy(update={"right": 5}), *ROWS[1:]), "baseline:vote is right more often"),
    ],
)
def test_it_pays_beside_the_best_of_the_others_whose_tokens_are_known(rows, words):
    (line,) = break_even(learnt_planner(exam=rows))
    assert words in line


@pytest.mark.parametrize("rows", [(), ROWS[:1], (ROWS[0], ROWS[3])])
def test_without_another_planner_nothing_is_known_of_when_it_pays(rows):
    assert break_even(learnt_planner(exam=rows)) == ()


def test_a_forecast_is_the_sum_of_both_parts_and_unknown_where_one_is():
    trials = EvaluationOutlook(calls=3, shared=1, tokens=10, cost=None, seconds=2.0)
    exam = EvaluationOutlook(calls=4, shared=0, tokens=5, cost=1.0, seconds=3.0)
    both = whole(trials, exam)
    assert (both.calls, both.shared, both.tokens, both.cost, both.seconds) == (7, 1, 15, None, 5.0)


def test_a_forecast_names_what_it_leaves_out_and_where_it_stops():
    words = forecast_words(fit=20, held_out=20, between="4 plans", budget=Budget(tokens=5000, cost=1.5))
    assert "leave out what comes between: 4 plans. It stops at $1.50 or 5,000 tokens." in words
    assert "leave out" not in forecast_words(fit=20, held_out=20, between="", budget=NO_BUDGET)
