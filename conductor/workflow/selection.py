"""Taking some of the differences between two workflows and leaving the others; pure.

Knows a diff and its rows; who wrote the other workflow it does not know. Positions are 0-based.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from secrets import randbits

from conductor.errors import WorkflowError
from conductor.text.formatting import quantity
from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.model import MAX_STEPS, Step, Workflow


def take_rows(diff: PlanDiff, rows: Collection[int]) -> Workflow:
    """The old workflow with the differences of these rows, positions in `diff.rows`; all others are left.

    All rows make the new workflow, none make the old one. A row that is taken adds, removes or changes its
    step, with all that it reads; access lists are renumbered. Raises `WorkflowError` for a row that is not
    there, and where the selection makes no workflow: a step reads one that is not there or comes later, or no
    step is left. Nothing is repaired.
    """
    if beyond := sorted(row for row in rows if not 0 <= row < len(diff.rows)):
        raise WorkflowError(
            f"There is no row {beyond[0] + 1}; this comparison has {quantity(len(diff.rows), 'row')}."
        )
    order = _order(diff, rows)
    if not order:
        raise WorkflowError("These rows leave no step; take a step that is added, or leave one as it is.")
    place = {row: at for at, row in enumerate(order)}
    return Workflow.of(_step(diff, row, place, of_new=row in rows) for row in order)


def needed_rows(diff: PlanDiff) -> tuple[frozenset[int], ...]:
    """For each row of `diff.rows` the others that have to be taken with it, directly or in turn.

    A step that is taken needs the added steps that it reads; one that is removed needs all that read it, so
    that none of them reads it still. Steps that are moved need one another, and all that read them. Rows with
    all that they need make a workflow, unless no step is left or there are too many.
    """
    row_of_old = {old: row for row, (old, _) in enumerate(diff.rows)}
    row_of_new = {new: row for row, (_, new) in enumerate(diff.rows)}
    moved = {row_of_new[pair.new] for pair in diff.pairs if "moved" in pair.changes}
    needs: list[set[int]] = [set(moved) if row in moved else {row} for row in range(len(diff.rows))]
    for row, (old, new) in enumerate(diff.rows):
        if new is not None:
            reads = (row_of_new[read] for read in diff.new.steps[new].access)
            needs[row].update(read for read in reads if diff.rows[read][0] is None or read in moved)
        for read in () if old is None else diff.old.steps[old].access:
            if diff.rows[row_of_old[read]][1] is None or row_of_old[read] in moved:
                needs[row_of_old[read]].add(row)
    changed = True
    while changed:
        wider = [needed.union(*(needs[row] for row in needed)) for needed in needs]
        changed, needs = wider != needs, wider
    return tuple(frozenset(needed - {row}) for row, needed in enumerate(needs))


def _order(diff: PlanDiff, rows: Collection[int]) -> list[int]:
    """The rows whose steps are there, in the order of the result: the new one, and each step that is to be
    removed or moved, which is left, at its old place.
    """
    left: list[int] = []
    order: list[int] = []
    for row, (old, new) in enumerate(diff.rows):
        of_new = row in rows
        moved = new is not None and old is not None and "moved" in diff.of_new[new].changes
        if not of_new and old is not None and (new is None or moved):
            left.append(row)
        elif new is not None and (of_new or old is not None):
            order.append(row)

    def old_place(row: int) -> int:
        old = diff.rows[row][0]
        return -1 if old is None else old

    for row in sorted(left, key=old_place):
        before = [at for at, other in enumerate(order) if -1 < old_place(other) < old_place(row)]
        order.insert(max(before, key=lambda at: old_place(order[at])) + 1 if before else 0, row)
    return order


def _step(diff: PlanDiff, row: int, place: dict[int, int], *, of_new: bool) -> Step:
    """The step of a row as it is on its side, its reads at their places in the result."""
    old, new = diff.rows[row]
    at = new if of_new else old
    assert at is not None, "a row in the order has a step on its side"
    step = (diff.new if of_new else diff.old).steps[at]
    row_of = {(after if of_new else before): other for other, (before, after) in enumerate(diff.rows)}
    access = [_read(diff, row, row_of[read], place, of_new=of_new) for read in step.access]
    lineage = step.lineage if old is None else diff.old.lineage[old]
    return step.model_copy(update={"access": tuple(access), "lineage": lineage})


def _read(diff: PlanDiff, row: int, read: int, place: dict[int, int], *, of_new: bool) -> int:
    """The place of the row `read`. Raises `WorkflowError` where the row's step cannot read it."""
    if place.get(read, len(place)) < place[row]:
        return place[read]
    how = "as it is changed" if of_new else "as it was"
    if read not in place:
        what = "would be removed" if diff.rows[read][1] is None else "would not be added"
        raise WorkflowError(
            f"The step of row {row + 1} {how} reads the step of row {read + 1}, which {what}; take "
            "both rows, or neither."
        )
    raise WorkflowError(
        f"The step of row {row + 1} {how} reads the step of row {read + 1}, which would come behind it; take "
        "the rows of moved steps together."
    )


def edited_as(old: Workflow, new: Workflow) -> Workflow:
    """`new`, which was written from `old` as a text: each step that was there has its number from `old`, also
    where it was rewritten in its place, and each that is added has one of its own.
    """
    came_from = {pair.new: pair.old for pair in plan_diff(old, new).pairs}
    came_from |= dict(_rewritten(came_from, len(old), len(new)))
    return Workflow.of(
        step.model_copy(
            update={"lineage": old.lineage[came_from[at]] if at in came_from else MAX_STEPS + randbits(52)}
        )
        for at, step in enumerate(new.steps)
    )


def _rewritten(came_from: Mapping[int, int], old_steps: int, new_steps: int) -> Iterator[tuple[int, int]]:
    """New and old positions of steps without a partner, as many in both between the same two neighbours."""
    ends = {-1: -1, **came_from, new_steps: old_steps}
    for before, after in pairwise(sorted(ends)):
        gap = range(ends[before] + 1, ends[after])
        if len(gap) == after - before - 1 and not set(gap) & {*came_from.values()}:
            yield from zip(range(before + 1, after), gap, strict=True)


def with_own_settings(old: Workflow, new: Workflow) -> Workflow:
    """`new` with what a Conductor's plan does not state, from `old`: sampling, layout of the prompt, sight
    of the round before and of files, tools where it names none, gate and rule for failures of each step that
    has its worker or its instruction still, the pin where it has both.
    """
    came_from = {pair.new: old.steps[pair.old] for pair in plan_diff(old, new).pairs}
    return Workflow.of(_settled(step, came_from.get(at)) for at, step in enumerate(new.steps))


def _settled(step: Step, before: Step | None) -> Step:
    if before is None or (step.worker != before.worker and step.instruction != before.instruction):
        return step
    same = (step.worker, step.instruction) == (before.worker, before.instruction)
    fields: dict[str, object] = {
        "sampling": before.sampling,
        "prompt_style": before.prompt_style,
        "sees_previous": before.sees_previous,
        "sees_files": before.sees_files,
        "tools": before.tools if step.tools is None else step.tools,
        "pin": before.pin if same else None,
        "gate": before.gate,
        "on_failure": before.on_failure and before.on_failure.of_worker(step.worker),
    }
    return step.model_copy(update=fields)
