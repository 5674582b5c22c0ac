"""Questions are near by the words that decide which plans are right, and plans are compared there."""

from __future__ import annotations

import numpy as np
import pytest

from conductor.baselines.encoder import Encoder
from conductor.baselines.learning.vectors import weighted_counts
from conductor.baselines.planner_file.plan_choice import choose, leave_one_out, neighbours_by_plans
from conductor.baselines.planner_file.planner_file import PlannerFile, TriedQuestion
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


def plan_for(file: PlannerFile, question: str) -> int:
    near = neighbours_by_plans(file, row_of(question), ROWS)
    choice = choose(file, near, prior=0)
    assert choice is not None
    return choice.plan


@pytest.mark.parametrize(
    ("question", "plan"), [("The capital of Japan?", 0), ("What length has Japan in a table?", 1)]
)
def test_a_word_in_which_kinds_differ_decides(question: str, plan: int) -> None:
    near = neighbours_by_plans(FILE, row_of(question), ROWS)
    assert len(near) == 8
    assert {each.question // len(LANDS) for each in near[:6]} == {plan}
    assert plan_for(FILE, question) == plan


def test_a_plan_that_suits_all_kinds_is_not_taken_where_a_cheaper_one_suits_the_kind() -> None:
    every = single("alpha", "Try all.", tokens=900)
    questions = [each.model_copy(update={"right": (*each.right, 2)}) for each in FILE.questions]
    file = FILE.model_copy(
        update={"plans": (*FILE.plans, every), "questions": tuple(questions), "neighbours": 5}
    )
    assert [plan_for(file, each) for each in ("The capital of Japan?", "What length has Japan?")] == [0, 1]


def test_a_question_with_the_words_of_one_that_a_person_gave_a_plan_gets_that_plan() -> None:
    workflow = FILE.plans[1].workflow
    assert workflow is not None
    cards = {name: SimulatedWorker(name).card for name in ("alpha", "beta")}
    corrected = FILE.corrected(CAPITALS[0], workflow, cards)
    assert (plan_for(FILE, CAPITALS[0]), plan_for(corrected, CAPITALS[0])) == (0, 1)
    assert plan_for(corrected, "The capital of Japan?") == 0


def test_a_question_that_has_nothing_in_common_has_no_neighbour() -> None:
    assert neighbours_by_plans(FILE, row_of("Zanzibar!"), ROWS) == ()


def test_what_a_question_itself_came_to_does_not_count_for_it() -> None:
    right = np.array([[0.0] + [1.0] * 5 + [0.0] * 6, [1.0] + [0.0] * 11])
    likely = leave_one_out(right, ROWS)
    assert likely[0, 0] > 0.5
    assert likely[1, 0] < 0.1
    assert ((likely >= 0) & (likely <= 1)).all()


def test_only_what_several_texts_have_weighs() -> None:
    assert set(ENCODER.weights) == {0.0, 1.0}
    assert not weighted_counts(["Zanzibar"], ENCODER.weights).any()
