"""The likeliest plan is found by the words that matter, and not by the nearest question alone."""

from __future__ import annotations

import numpy as np
import pytest

from conductor.baselines.encoder import Encoder
from conductor.baselines.learning.vectors import weighted_counts
from conductor.baselines.planner_file.plan_choice import choose, neighbours
from conductor.baselines.planner_file.plan_regression import left_out, likelihoods
from conductor.baselines.planner_file.planner_file import TriedQuestion
from conductor.workers.simulated import SimulatedWorker
from tests.support.cases.planner_cases import planner_of, single

LANDS = ("Peru", "Chile", "Japan", "Egypt", "Kenya", "Ghana")
CAPITALS = [f"Please look up in a table what the capital of {land} is." for land in LANDS]
COUNTS = [f"Please look up in a table what the length of {land} is." for land in LANDS]
FILE = planner_of(
    plans=[single("alpha"), single("beta")],
    questions=[
        *(TriedQuestion(question=each, right=(0,), wrong=(1,)) for each in CAPITALS),
        *(TriedQuestion(question=each, right=(1,), wrong=(0,)) for each in COUNTS),
    ],
)
ENCODER = Encoder.of_shared([*CAPITALS, *COUNTS])
ROWS = weighted_counts([*CAPITALS, *COUNTS], ENCODER.weights)


def row_of(question: str) -> np.ndarray:
    return weighted_counts([question], ENCODER.weights)


@pytest.mark.parametrize(
    ("question", "plan"), [("The capital of Japan?", 0), ("What length has Japan in a table?", 1)]
)
def test_a_word_in_which_kinds_differ_decides(question: str, plan: int) -> None:
    likely = likelihoods(FILE, row_of(question), ROWS)
    assert likely[plan] > 0.5 > likely[1 - plan]
    near = neighbours(row_of(question), ROWS, most=8)
    choice = choose(FILE, near, likely=likely)
    assert choice is not None
    assert choice.plan == plan


def test_a_plan_that_a_person_chose_counts_for_its_question_and_less_elsewhere() -> None:
    workflow = FILE.plans[1].workflow
    assert workflow is not None
    cards = {name: SimulatedWorker(name).card for name in ("alpha", "beta")}
    corrected = FILE.corrected(CAPITALS[0], workflow, cards)
    assert likelihoods(corrected, row_of(CAPITALS[0]), ROWS).argmax() == 1
    assert likelihoods(FILE, row_of(CAPITALS[0]), ROWS).argmax() == 0


def test_what_a_question_itself_came_to_does_not_count_for_it() -> None:
    right = np.array([[0.0] + [1.0] * 5 + [0.0] * 6, [1.0] + [0.0] * 11])
    likely = left_out(right, ROWS)
    assert likely[0, 0] > 0.5
    assert likely[1, 0] < 0.1
    assert ((likely >= 0) & (likely <= 1)).all()


def test_only_what_several_texts_have_weighs() -> None:
    assert set(ENCODER.weights) == {0.0, 1.0}
    assert not weighted_counts(["Zanzibar"], ENCODER.weights).any()
