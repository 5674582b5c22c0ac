"""Two edits of one workflow made into one: what both wanted, or what cannot both be had."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conductor.errors import WorkflowError
from conductor.values.messages import Sampling
from conductor.workflow.merge import Clash, Kind, rebase
from conductor.workflow.model import MAX_STEPS, Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.workflow_cases import PINNED, Edit, edits, workflows

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


def short(workflow: Workflow) -> str:
    """Of each step the first word, the worker and what it reads."""
    return "; ".join(
        " ".join([step.instruction.split()[0], step.worker, *map(str, step.access)])
        for step in workflow.steps
    )


TOGETHER = {
    "workers of two steps": (
        BASE.with_worker(0, "gamma"),
        BASE.with_worker(2, "beta"),
        "Find gamma; Solve beta 0; Tell beta 1",
    ),
    "worker and instruction of one step": (
        BASE.with_worker(1, "gamma"),
        BASE.with_instruction(1, "Solve the equation for x and y."),
        "Find alpha; Solve gamma 0; Tell alpha 1",
    ),
    "one thing alike and one more": (
        BASE.with_worker(0, "gamma"),
        BASE.with_worker(0, "gamma").with_worker(1, "alpha"),
        "Find gamma; Solve alpha 0; Tell alpha 1",
    ),
    "accesses of one step": (
        BASE.with_access(2, [0, 1]),
        BASE.with_access(2, []),
        "Find alpha; Solve beta 0; Tell alpha 0",
    ),
    "a new step and a worker": (
        BASE.add_step(NEW, 2),
        BASE.with_worker(2, "beta"),
        "Find alpha; Solve beta 0; Check gamma 1; Tell beta 1",
    ),
    "a worker and a removed step": (
        BASE.with_worker(2, "beta"),
        BASE.remove_step(0),
        "Solve beta; Tell beta 0",
    ),
    "two new steps": (
        BASE.add_step(OTHER, 1),
        BASE.add_step(NEW, 2),
        "Find alpha; Write gamma 0; Solve beta 0; Check gamma 2; Tell alpha 2",
    ),
    "a move and a new step": (
        BASE.with_access(1, []).move_step(1, 0),
        BASE.add_step(NEW, 2),
        "Solve beta; Check gamma 0; Find alpha; Tell alpha 0",
    ),
    "a new last step and a worker": (
        BASE.add_step(NEW.model_copy(update={"access": (2,)}), 3),
        BASE.with_worker(2, "beta"),
        "Find alpha; Solve beta 0; Tell beta 1; Check gamma 2",
    ),
    "one removal alike": (
        BASE.remove_step(0),
        BASE.remove_step(0).with_worker(0, "gamma"),
        "Solve gamma; Tell alpha 0",
    ),
    "a pin and a worker": (
        BASE.with_pin(0, PINNED),
        BASE.with_worker(0, "beta"),
        "Find beta; Solve beta 0; Tell alpha 1",
    ),
}


@pytest.mark.parametrize(("mine", "theirs", "together"), TOGETHER.values(), ids=TOGETHER)
def test_edits_of_different_things_are_made_into_one(mine: Workflow, theirs: Workflow, together: str) -> None:
    merged = rebase(BASE, mine, theirs)
    assert merged.clashes == ()
    assert merged.workflow is not None
    assert short(merged.workflow) == together
    assert merged.workflow.pins == (mine.pins or theirs.pins)
    assert rebase(BASE, theirs, mine) == merged


def test_two_steps_put_in_one_place_stand_in_one_order_whoever_was_first() -> None:
    mine, theirs = BASE.add_step(OTHER, 1), BASE.add_step(NEW.model_copy(update={"access": (0,)}), 1)
    merged = rebase(BASE, mine, theirs).workflow
    assert merged is not None
    assert sorted(short(merged).split("; ")[1:3]) == ["Check gamma 0", "Write gamma 0"]
    assert rebase(BASE, theirs, mine).workflow == merged


def test_two_like_steps_put_in_one_place_stand_in_one_order_also_where_only_one_is_read() -> None:
    mine = BASE.add_step(OTHER.model_copy(update={"access": ()}), 0).with_worker(1, "gamma")
    theirs = BASE.add_step(OTHER.model_copy(update={"access": ()}), 0).with_access(1, [0])
    merged = rebase(BASE, mine, theirs).workflow
    assert merged is not None
    assert rebase(BASE, theirs, mine).workflow == merged


BUSY = BASE.with_access(1, [])


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "clashes"),
    [
        (BASE, BASE.with_worker(1, "alpha"), BASE.with_worker(1, "gamma"), [("worker", 1)]),
        (
            BASE,
            BASE.with_instruction(1, "Solve the equation for y.").with_worker(1, "alpha"),
            BASE.with_instruction(1, "Solve the equation for z.").with_worker(1, "gamma"),
            [("worker", 1), ("instruction", 1)],
        ),
        (
            BASE,
            BASE.with_sampling(0, Sampling(temperature=0.1)),
            BASE.with_sampling(0, Sampling(temperature=0.2)),
            [("sampling", 0)],
        ),
        (
            BASE,
            BASE.with_pin(0, PINNED),
            BASE.with_pin(0, PINNED.model_copy(update={"text": "other"})),
            [("pin", 0)],
        ),
        (
            BASE,
            BASE.with_on_failure(0, OnFailure(fallback="gamma")),
            BASE.with_worker(0, "gamma"),
            [("fallback", 0)],
        ),
        (
            BASE,
            BASE.with_worker(0, "gamma"),
            BASE.with_on_failure(0, OnFailure(retries=2, fallback="gamma")),
            [("fallback", 0)],
        ),
        (
            BASE.with_access(2, [0]),
            BASE.with_access(2, [0])
            .remove_step(1)
            .add_step(Step(instruction="Write a poem.", worker="beta"), 1),
            BASE.with_access(2, [0, 1]),
            [("you_removed_read", 1)],
        ),
        (BASE, BASE.with_worker(0, "beta"), BASE.remove_step(0), [("they_removed", 0)]),
        (BASE, BASE.remove_step(0), BASE.with_worker(0, "beta"), [("you_removed", 0)]),
        (BASE, BASE.with_access(2, [0, 1]), BASE.remove_step(0), [("they_removed_read", 0)]),
        (BASE, BASE.remove_step(0), BASE.add_step(OTHER, 1), [("you_removed_read", 0)]),
        (BASE, BASE.add_step(NEW, 3), BASE.add_step(OTHER, 3), [("final", None)]),
        (BASE, BASE.remove_step(2), BASE.add_step(NEW, 3), [("final", None)]),
        (BUSY, BUSY.move_step(1, 0), BUSY.with_access(1, [0]), [("order", None)]),
        (
            BASE.with_access(1, []).with_access(2, []),
            BASE.with_access(1, []).with_access(2, []).move_step(2, 0),
            BASE.with_access(1, []).with_access(2, []).move_step(1, 0),
            [("order", None)],
        ),
    ],
)
def test_edits_of_one_thing_are_told_and_not_merged(
    base: Workflow, mine: Workflow, theirs: Workflow, clashes: list[tuple[Kind, int | None]]
) -> None:
    merged = rebase(base, mine, theirs)
    assert merged.workflow is None
    assert merged.clashes == tuple(Clash(kind, step) for kind, step in clashes)


def test_more_steps_than_a_workflow_may_have_are_no_workflow() -> None:
    base = Workflow.of(Step(instruction=f"task {at}", worker="alpha") for at in range(MAX_STEPS - 1))
    merged = rebase(base, base.add_step(NEW, 2), base.add_step(OTHER, 1))
    assert merged.clashes == (Clash("steps"),)


def applied(base: Workflow, changes: list[Edit]) -> Workflow:
    """The edits that are allowed, one after another."""
    for change in changes:
        try:
            base = change.applied(base)
        except WorkflowError:
            continue
    return base


@given(workflows(), edits(max_size=3))
def test_on_top_of_no_change_it_is_mine_and_no_change_is_theirs(base: Workflow, changes: list[Edit]) -> None:
    edited = applied(base, changes)
    assert rebase(base, edited, base).workflow == edited
    assert rebase(base, base, edited).workflow == edited
    assert rebase(base, edited, edited).workflow == edited


@pytest.mark.slow
@given(workflows(), edits(max_size=3), edits(max_size=3))
def test_what_comes_out_is_a_workflow_that_does_not_depend_on_who_was_first_or_says_why_not(
    base: Workflow, mine: list[Edit], theirs: list[Edit]
) -> None:
    one, other = applied(base, mine), applied(base, theirs)
    merged, reverse = rebase(base, one, other), rebase(base, other, one)
    assert (merged.workflow is None) == bool(merged.clashes)
    assert merged.workflow == reverse.workflow
    if merged.workflow is not None:
        Workflow.model_validate(merged.workflow.model_dump())


def worded(workflow: Workflow) -> Workflow:
    """The workflow with instructions that no two steps have a word of in common."""
    steps = ((f"{word}{word} {word}" for word in "abcdefghij"), workflow.steps)
    return Workflow.of(
        step.model_copy(update={"instruction": text}) for text, step in zip(*steps, strict=False)
    )


CHANGES = ("worker", "access", "sampling", "pin")


@pytest.mark.slow
@given(workflows().map(worded), edits(max_size=4), edits(max_size=4), st.integers(0, 6))
def test_edits_of_different_steps_commute(
    base: Workflow, mine: list[Edit], theirs: list[Edit], cut: int
) -> None:
    where = cut % len(base)
    one = [edit for edit in mine if edit.kind in CHANGES and edit.places(len(base))[0] <= where]
    other = [edit for edit in theirs if edit.kind in CHANGES and edit.places(len(base))[0] > where]
    assume(one or other)
    merged = rebase(base, applied(base, one), applied(base, other))
    assert merged.workflow == applied(applied(base, one), other)
