"""Taking some differences of two workflows: all is the new one, none the old one, between them no repair."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conductor.errors import WorkflowError
from conductor.values.messages import Sampling
from conductor.workflow.diff import plan_diff
from conductor.workflow.model import MAX_STEPS, Step, Workflow
from conductor.workflow.selection import edited_as, needed_rows, take_rows, with_own_settings
from tests.support.runs.workflow_cases import PINNED, edits, workflows

READ = Step(instruction="Read the report and note every figure.", worker="alpha")
SECOND = Step(instruction="Look up the census of both towns.", worker="gamma")
CHECK = Step(instruction="Verify the arithmetic once more.", worker="beta")
WRITE = Step(instruction="Write one closing sentence.", worker="alpha")


def plan_of(*steps: tuple[Step, tuple[int, ...]]) -> Workflow:
    return Workflow.of(step.model_copy(update={"access": access}) for step, access in steps)


OLD = plan_of((READ, ()), (CHECK, (0,)), (WRITE, (0, 1)))
NEW = plan_of((SECOND, ()), (READ, ()), (WRITE, (0, 1)))
"""Two readers and no verifier. The rows are SECOND (added), READ, CHECK (removed), WRITE."""

DIFF = plan_diff(OLD, NEW)


def test_the_rows_are_those_that_the_selections_below_name() -> None:
    assert DIFF.rows == ((None, 0), (0, 1), (1, None), (2, 2))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((), OLD),
        ((1,), OLD),
        ((0, 1, 2, 3), NEW),
        ((0,), plan_of((SECOND, ()), (READ, ()), (CHECK, (1,)), (WRITE, (1, 2)))),
    ],
)
def test_what_is_taken_is_changed_and_what_is_left_stays(rows: tuple[int, ...], expected: Workflow) -> None:
    assert take_rows(DIFF, rows) == expected


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ((2,), "row 4 as it was reads the step of row 3, which would be removed; take both rows"),
        ((3,), "row 4 as it is changed reads the step of row 1, which would not be added; take both rows"),
        ((0, 4), "no row 5; this comparison has 4 rows"),
        ((-1,), "no row 0; this comparison has 4 rows"),
    ],
)
def test_a_selection_that_makes_no_workflow_is_refused_with_the_reason(
    rows: tuple[int, ...], reason: str
) -> None:
    with pytest.raises(WorkflowError, match=reason):
        take_rows(DIFF, rows)


def test_a_selection_that_leaves_no_step_is_refused() -> None:
    diff = plan_diff(plan_of((READ, ())), plan_of((SECOND, ())))
    assert diff.rows == ((0, None), (None, 0))
    with pytest.raises(WorkflowError, match="leave no step"):
        take_rows(diff, (0,))


def test_a_selection_with_too_many_steps_is_refused() -> None:
    long = Workflow.of(SECOND.model_copy(update={"instruction": f"figure {at}"}) for at in range(MAX_STEPS))
    diff = plan_diff(long, plan_of((WRITE, ())))
    with pytest.raises(WorkflowError, match=f"at most {MAX_STEPS:,} steps"):
        take_rows(diff, [row for row, (_, new) in enumerate(diff.rows) if new is not None])


def test_a_moved_step_that_is_left_stays_at_its_old_place() -> None:
    old = plan_of((READ, ()), (SECOND, ()), (CHECK, ()), (WRITE, ()))
    new = plan_of((SECOND, ()), (CHECK, ()), (READ, ()), (WRITE, ()))
    diff = plan_diff(old, new)
    (moved,) = [row for row, (_, at) in enumerate(diff.rows) if at is not None and diff.of_new[at].changes]
    assert take_rows(diff, ()) == old
    assert take_rows(diff, (moved,)) == new


def test_a_read_that_would_go_forwards_is_refused() -> None:
    old = plan_of((READ, ()), (SECOND, ()), (CHECK, ()), (WRITE, ()))
    new = plan_of((SECOND, ()), (CHECK, ()), (READ, ()), (WRITE, ()))
    before = old.with_access(1, (0,))
    diff = plan_diff(before, new)
    moved = [
        row for row, (_, at) in enumerate(diff.rows) if at is not None and "moved" in diff.of_new[at].changes
    ]
    with pytest.raises(
        WorkflowError, match="which would come behind it; take the rows of moved steps together"
    ):
        take_rows(diff, moved)


# -- what cannot be taken alone ---------------------------------------------------------------------------


def test_a_row_names_the_rows_that_have_to_be_taken_with_it() -> None:
    # Who writes reads the added step, and no longer the removed one.
    assert needed_rows(DIFF) == (frozenset(), frozenset(), frozenset({0, 3}), frozenset({0}))


def test_steps_that_are_moved_are_taken_together_with_those_that_read_them() -> None:
    old = plan_of((READ, ()), (SECOND, (0,)), (CHECK, ()), (WRITE, ()))
    diff = plan_diff(old, plan_of((SECOND, ()), (CHECK, ()), (READ, ()), (WRITE, ())))
    (moved,) = [row for row, (_, at) in enumerate(diff.rows) if "moved" in diff.of_new[at or 0].changes]
    (reader,) = [row for row, (at, _) in enumerate(diff.rows) if at == 1]
    assert needed_rows(diff)[moved] == {reader}


@given(old=workflows(), changes=edits(max_size=6), other=workflows(), rows=st.sets(st.integers(0, 13)))
def test_rows_with_all_that_they_need_make_a_workflow(old, changes, other, rows) -> None:
    new = old
    for edit in changes:
        with suppress(WorkflowError):  # an edit that another one has made impossible
            new = edit.applied(new)
    for diff in (plan_diff(old, new), plan_diff(old, other)):
        needs = needed_rows(diff)
        chosen_rows = {row for row in rows if row < len(diff.rows)}
        chosen_rows |= {other_row for row in chosen_rows for other_row in needs[row]}
        leaves_none = all(
            new_at is None if row in chosen_rows else old_at is None
            for row, (old_at, new_at) in enumerate(diff.rows)
        )
        assume(not leaves_none)
        take_rows(diff, chosen_rows)


# -- what a plan does not state -------------------------------------------------------------------------


def test_steps_that_stay_have_their_own_settings_again() -> None:
    sampling = Sampling(temperature=0.2)
    own = {"sampling": sampling, "sees_previous": True, "pin": PINNED, "tools": ("web",)}
    old = Workflow.of(step.model_copy(update=own) for step in OLD.steps)
    thinks = WRITE.model_copy(update={"worker": "gamma", "tools": ()})
    changed = plan_of((READ, ()), (SECOND, ()), (thinks, (0, 1)))
    read, added, written = with_own_settings(old, changed).steps
    assert (read.sampling, read.sees_previous, read.pin) == (sampling, True, PINNED)
    assert added == SECOND
    assert (written.sampling, written.sees_previous) == (sampling, True)
    assert (read.tools, written.tools) == (("web",), ()), "the plan's own tools count where it names some"
    assert written.pin is None, "another worker's output is not this one's"
    assert with_own_settings(old, OLD) == old


# -- what was written as a text ---------------------------------------------------------------------------


def of_texts(*steps: Step) -> Workflow:
    """As a text has them: each reads the step before, and none has a number."""
    return plan_of(*((step, (at - 1,) if at else ()) for at, step in enumerate(steps)))


@pytest.mark.parametrize(
    ("new", "came_from"),
    [
        (of_texts(READ, SECOND, WRITE), (0, 1, 2)),
        (of_texts(SECOND, CHECK, WRITE), (0, 1, 2)),
        (of_texts(READ, CHECK, SECOND), (0, 1, 2)),
        (of_texts(READ, SECOND, CHECK, WRITE), (0, None, 1, 2)),
        (of_texts(READ, SECOND, SECOND, WRITE), (0, None, None, 2)),
        (of_texts(READ, WRITE), (0, 2)),
        (of_texts(WRITE, READ, CHECK), (2, 0, 1)),
    ],
)
def test_a_step_that_was_rewritten_in_its_place_is_the_one_that_was_there(
    new: Workflow, came_from: tuple[int | None, ...]
) -> None:
    numbers = edited_as(of_texts(READ, CHECK, WRITE), new).lineage
    assert tuple(number if number < MAX_STEPS else None for number in numbers) == came_from


def test_a_step_of_a_text_that_was_rewritten_is_changed_and_not_replaced() -> None:
    old = of_texts(READ, CHECK, WRITE)
    diff = plan_diff(old, edited_as(old, of_texts(READ, SECOND, WRITE)))
    assert [pair.changes for pair in diff.pairs] == [(), ("worker", "instruction"), ()]
