"""Two edits of one workflow made into one: what both wanted, or what cannot both be had."""

from __future__ import annotations

import pytest

from conductor.workflow.merge import Clash, Kind, rebase
from conductor.workflow.model import MAX_STEPS, Step, Workflow
from conductor.workflow.on_failure import OnFailure

FIND, SOLVE, CHECK, TELL = (
    "Find every number in the question.",
    "Solve the equation for x.",
    "Check the solution by another way.",
    "Tell the result in one sentence.",
)
BASE = Workflow.of(
    [
        Step(instruction=FIND, worker="alpha"),
        Step(instruction=SOLVE, worker="beta", access=(0,)),
        Step(instruction=TELL, worker="alpha", access=(1,)),
    ]
)
"""Find, solve, write: each reads the one before."""

NEW = Step(instruction=CHECK, worker="gamma", access=(1,))
OTHER = Step(instruction="Write a poem about whales and their young.", worker="gamma", access=(0,))


def test_two_like_steps_put_in_one_place_stand_in_one_order_also_where_only_one_is_read() -> None:
    mine = BASE.add_step(OTHER.model_copy(update={"access": ()}), 0).with_worker(1, "gamma")
    theirs = BASE.add_step(OTHER.model_copy(update={"access": ()}), 0).with_access(1, [0])
    merged = rebase(BASE, mine, theirs).workflow
    assert merged is not None
    assert rebase(BASE, theirs, mine).workflow == merged


BUSY = BASE.with_access(1, [])


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "kind"),
    [
        (BASE, BASE.add_step(NEW, 3), BASE.add_step(OTHER, 3), "final"),
        (BASE, BASE.remove_step(2), BASE.add_step(NEW, 3), "final"),
        (BUSY, BUSY.move_step(1, 0), BUSY.with_access(1, [0]), "order"),
        (
            BASE.with_access(1, []).with_access(2, []),
            BASE.with_access(1, []).with_access(2, []).move_step(2, 0),
            BASE.with_access(1, []).with_access(2, []).move_step(1, 0),
            "order",
        ),
    ],
)
def test_two_final_steps_and_two_orders_are_not_merged(
    base: Workflow, mine: Workflow, theirs: Workflow, kind: Kind
) -> None:
    merged = rebase(base, mine, theirs)
    assert merged.workflow is None
    assert merged.clashes == (Clash(kind),)


def test_where_both_changed_a_rule_its_fallback_is_no_conflict_of_one_side() -> None:
    mine = BASE.with_on_failure(0, OnFailure(fallback="gamma"))
    theirs = BASE.with_worker(0, "gamma").with_on_failure(0, OnFailure(retries=1))
    for sides in ((mine, theirs), (theirs, mine)):
        assert rebase(BASE, *sides).clashes == (Clash("on_failure", 0),)


def test_a_step_that_began_with_the_words_of_a_removed_one_is_another_step() -> None:
    base = BASE.add_step(NEW, 2).with_instruction(2, "Delete every old file.").with_access(3, [1, 2])
    mine = base.remove_step(2).add_step(NEW, 2).with_instruction(2, OTHER.instruction).with_access(3, [1, 2])
    assert rebase(base, mine, base.with_worker(2, "alpha")).clashes == (Clash("you_removed", 2),)


def test_more_steps_than_a_workflow_may_have_are_no_workflow() -> None:
    base = Workflow.of(Step(instruction=f"task {at}", worker="alpha") for at in range(MAX_STEPS - 1))
    merged = rebase(base, base.add_step(NEW, 2), base.add_step(OTHER, 1))
    assert merged.clashes == (Clash("steps"),)
