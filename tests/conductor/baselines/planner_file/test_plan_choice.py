"""The plan for a question is the one that was right on its neighbours; luck, and cost, do not decide."""

from __future__ import annotations

import pytest

from conductor.baselines.learning.vectors import inverse_frequencies, weighted_counts
from conductor.baselines.planner_file.plan_choice import Neighbour, best_right, choose, neighbours
from conductor.baselines.planner_file.planner_file import TriedQuestion
from conductor.workers.simulated import SimulatedWorker
from tests.support.cases.planner_cases import planner_of, single

NEAR = [Neighbour(at, 1.0 - at / 10) for at in range(4)]


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        (((0,), (0,), (0,), (0,)), ((1,), (1,), (1,), (1,)), 0),
        # One lucky answer of a plan that was tried once.
        (((0, 1), (0,), (0,), ()), ((), (), (), (0,)), 0),
        # As good, and cheaper.
        (((0, 1), (0, 1), (0, 1), (0, 1)), ((), (), (), ()), 1),
        # Nearer questions weigh more.
        (((0,), (0,), (1,), (1,)), ((1,), (1,), (0,), (0,)), 0),
        ((((), (), (), ())), ((), (), (), ()), None),
    ],
    ids=["right everywhere", "luck", "cheaper", "nearer", "nothing tried"],
)
def test_the_plan_that_was_right_on_the_neighbours_is_chosen(
    right: tuple[tuple[int, ...], ...], wrong: tuple[tuple[int, ...], ...], expected: int | None
) -> None:
    file = planner_of(
        plans=[single("alpha", tokens=100), single("beta", tokens=10)],
        questions=[
            TriedQuestion(question=f"{at}?", right=right[at], wrong=wrong[at]) for at in range(len(right))
        ],
    )
    choice = choose(file, NEAR)
    assert (None if choice is None else choice.plan) == expected


def test_a_persons_plan_counts_more_than_one_that_was_right_and_nothing_else_changes() -> None:
    questions = [TriedQuestion(question=f"{at}?", right=(0,), wrong=(1,)) for at in range(3)]
    file = planner_of(plans=[single("alpha"), single("beta")], questions=questions)
    workflow = file.plans[1].workflow
    assert workflow is not None
    cards = {name: SimulatedWorker(name).card for name in ("alpha", "beta", "gamma")}
    corrected = file.corrected("0?", workflow, cards)
    assert corrected.questions[0] == TriedQuestion(question="0?", right=(0, 1), by_hand=1)
    assert (corrected.plans, corrected.questions[1:], corrected.workers) == (
        *(file.plans, file.questions[1:], file.workers),
    )
    near = [Neighbour(0, 1.0), Neighbour(1, 0.5), Neighbour(2, 0.5)]
    before, after = choose(file, near), choose(corrected, near)
    assert before is not None
    assert after is not None
    assert (before.plan, after.plan, after.right, after.tried) == (0, 1, 1, 3)
    assert best_right(corrected, 0, [0, 1]) == 1
    # Far from it the others decide.
    far = choose(corrected, [Neighbour(1, 1.0), Neighbour(2, 1.0), Neighbour(0, 0.2)])
    assert far is not None
    assert far.plan == 0
    new = single("gamma").workflow
    assert new is not None
    more = corrected.corrected("new?", new, cards)
    assert [name for name, _ in more.workers] == ["alpha", "beta", "gamma"]
    assert more.questions[3] == TriedQuestion(question="new?", right=(2,), by_hand=2)


def test_only_plans_that_are_offered_are_chosen_with_their_counts() -> None:
    questions = [TriedQuestion(question=f"{at}?", right=(0,), wrong=(1,)) for at in range(3)]
    questions.append(TriedQuestion(question="3?", right=(1,), wrong=(0,)))
    file = planner_of(plans=[single("alpha"), single("beta")], questions=questions)
    choice = choose(file, NEAR, [1])
    assert choice is not None
    assert (choice.plan, choice.right, choice.tried) == (1, 1, 4)
    assert best_right(file, 3, [0, 1]) == 1
    assert best_right(file, 3, [0]) is None


def test_a_question_with_nothing_in_common_has_no_neighbour() -> None:
    texts = ["What is the capital of Peru?", "What is the capital of Chile?", "Add 3 and 4"]
    weights = inverse_frequencies(texts)
    rows = weighted_counts(texts, weights)
    near = neighbours(weighted_counts(["What is the capital of Japan?"], weights), rows, most=2)
    assert {each.question for each in near} == {0, 1}
    assert neighbours(weighted_counts([""], weights), rows, most=2) == ()
