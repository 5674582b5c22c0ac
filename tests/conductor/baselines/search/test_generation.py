"""A search tries plans where nothing solves a question, and goes on with those that beat the best there."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from conductor.baselines.planner_file.planner_file import TriedPlan, TriedQuestion
from conductor.baselines.search.generation import RUNGS, Archive, children, finalists, promoted
from conductor.baselines.search.instructions import Instructions
from conductor.workflow.model import Step, Workflow
from tests.support.cases.planner_cases import single

COUNT = 20
INSTRUCTIONS = Instructions((), {})


def archive_of(plans: Sequence[TriedPlan], answers: Sequence[str]) -> Archive:
    """Of 20 questions, ten of each of two kinds. `answers` has for each plan a letter for each question:
    r for right, w for wrong, a blank for none.
    """
    kinds = np.repeat(np.eye(2), COUNT // 2, axis=0)
    own = np.hstack([3 * kinds, np.eye(COUNT)])
    rows = own / np.linalg.norm(own, axis=1, keepdims=True)

    def plans_with(letter: str, at: int) -> tuple[int, ...]:
        return tuple(plan for plan, each in enumerate(answers) if each[at] == letter)

    questions = tuple(
        TriedQuestion(question=f"{at}?", right=plans_with("r", at), wrong=plans_with("w", at))
        for at in range(COUNT)
    )
    return Archive(tuple(plans), questions, rows)


ALPHA, BETA, GAMMA = single("alpha"), single("beta"), single("gamma", tokens=1)


@pytest.mark.parametrize(
    ("second", "count"),
    [
        ("w" * 10 + "r" + " " * 9, 3),
        ("w" * 10 + "rrr" + " " * 7, 8),
        ("w" * 10 + "rww" + " " * 7, 8),
        ("w" * 10 + "w" * 10, None),
        # Right where the best one is, and no cheaper.
        ("r" + " " * 19, None),
    ],
    ids=["one right", "three right", "one of three right", "never right", "as good"],
)
def test_a_plan_goes_on_while_it_beats_the_best_one_there(second: str, count: int | None) -> None:
    first = "r" * 10 + "w" * 10
    wider = promoted(archive_of([ALPHA, BETA], [first, second]), most=9)
    assert [each.workflow for each in wider] == ([] if count is None else [BETA.workflow])
    for each in wider:
        assert each.questions is not None
        assert len(each.questions) == count
        assert each.questions[0] >= COUNT // 2


def test_a_plan_that_is_as_good_goes_on_where_it_is_cheaper() -> None:
    wider = promoted(archive_of([ALPHA, GAMMA], ["r" * 20, "r" + " " * 19]), most=9)
    assert [each.workflow for each in wider] == [GAMMA.workflow]


def test_the_finalists_solve_what_the_others_do_not_and_are_few() -> None:
    answers = ["r" * 10 + "w" * 10, " " * 10 + "r" * 8 + "  ", " " * 10 + "r" * 4 + " " * 6]
    best = finalists(archive_of([ALPHA, BETA, GAMMA], answers), most=5)
    assert [(each.workflow, each.questions) for each in best] == [(BETA.workflow, None)]


def searched(solves: Callable[[Workflow, int], bool], generations: int) -> Archive:
    """The archive of a search in a world in which a plan is right on a question or not."""
    plans: dict[Workflow, dict[int, bool]] = {}
    origins: dict[Workflow, str] = {}

    def archive() -> Archive:
        tried = [TriedPlan(workflow=plan, origin=origins[plan], tokens=9.0 * len(plan)) for plan in plans]
        letters = {True: "r", False: "w", None: " "}
        return archive_of(
            tried, ["".join(letters[plans[each].get(at)] for at in range(COUNT)) for each in plans]
        )

    for worker in ("alpha", "beta"):
        alone = Workflow.of([Step(instruction="Answer the question.", worker=worker)])
        origins[alone] = worker
        plans[alone] = {at: solves(alone, at) for at in range(COUNT)}
    for generation in range(generations):
        now = archive()
        new = children(
            now, INSTRUCTIONS,
            workers=("alpha", "beta"), max_steps=3, count=30, rng=random.Random(generation),
        )  # fmt: skip
        for each in (*promoted(now, most=10), *new):
            origins.setdefault(each.workflow, each.origin)
            answers = plans.setdefault(each.workflow, {})
            answers |= {at: solves(each.workflow, at) for at in each.questions or range(COUNT)}
    return archive()


def test_a_chain_is_found_that_no_one_wrote_and_is_the_finalist() -> None:
    def solves(plan: Workflow, at: int) -> bool:
        workers = [step.worker for step in plan.steps]
        return workers[-1] == "alpha" if at < COUNT // 2 else workers[-2:] == ["alpha", "beta"]

    archive = searched(solves, generations=8)
    (best,) = finalists(archive, most=5)
    assert [step.worker for step in best.workflow.steps][-2:] == ["alpha", "beta"]
    assert best.origin not in ("alpha", "beta")
    # Most plans answered one question.
    assert np.median(archive.tried.sum(axis=1)[2:]) == RUNGS[0]


def test_where_all_is_solved_and_nothing_is_right_there_is_no_child() -> None:
    nothing = archive_of([TriedPlan(workflow=None, origin="conductor")], ["r" * 20])
    new = children(nothing, INSTRUCTIONS, workers=("alpha",), max_steps=3, count=5, rng=random.Random(0))
    assert new == ()
