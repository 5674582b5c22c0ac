"""Compares two workflows, or three: steps that stayed, moved, changed, were removed or added.

Pure and symmetric: swapping the workflows swaps the result. Positions are 0-based; `matching` pairs steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from conductor.text.alignment import longest_ascending
from conductor.workflow.drawable import Drawable
from conductor.workflow.matching import matching
from conductor.workflow.model import Workflow

Change = Literal[
    "moved", "worker", "instruction", "access", "sampling", "prompt_style", "pin", "sees_previous",
    "sees_files", "tools", "gate", "on_failure",
]  # fmt: skip
"""What may differ in a step that is in both workflows. A new number alone is no move: only a step is moved
that had to change places with another one that stayed."""

EdgeChange = Literal["added", "removed"]
"""How an access differs that is in one workflow only."""


@dataclass(frozen=True, slots=True)
class StepPair:
    """A step that is in both workflows: its positions, and what changed, in the order of `Change`.

    `lost` are old positions it no longer reads, `gained` new positions it reads since; a step that it read
    and that was removed is lost, too.
    """

    old: int
    new: int
    changes: tuple[Change, ...]
    lost: tuple[int, ...] = ()
    gained: tuple[int, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing changed but, perhaps, the step's number."""
        return not self.changes

    @property
    def swapped(self) -> StepPair:
        return StepPair(old=self.new, new=self.old, changes=self.changes, lost=self.gained, gained=self.lost)


@dataclass(frozen=True, repr=False)
class PlanDiff(Drawable):
    """How `new` differs from `old`. Every old step is in one pair or in `removed`, every new one in one
    pair or in `added`; pairs ascend by their new position.
    """

    old: Workflow
    new: Workflow
    pairs: tuple[StepPair, ...]
    removed: tuple[int, ...]
    added: tuple[int, ...]

    @property
    def empty(self) -> bool:
        return not (self.removed or self.added or any(pair.changes for pair in self.pairs))

    @cached_property
    def of_old(self) -> dict[int, StepPair]:
        return {pair.old: pair for pair in self.pairs}

    @cached_property
    def of_new(self) -> dict[int, StepPair]:
        return {pair.new: pair for pair in self.pairs}

    @property
    def swapped(self) -> PlanDiff:
        pairs = sorted((pair.swapped for pair in self.pairs), key=lambda pair: pair.new)
        return PlanDiff(self.new, self.old, tuple(pairs), removed=self.added, added=self.removed)

    @cached_property
    def rows(self) -> tuple[tuple[int | None, int | None], ...]:
        """All steps side by side as (old, new): in the new order, a removed one at its old place."""
        rows: list[tuple[int | None, int | None]] = []
        of_new = self.of_new
        rows += ((of_new[at].old if at in of_new else None, at) for at in range(len(self.new)))
        for at in self.removed:
            before = [i for i, (old, _) in enumerate(rows) if old is not None and old < at]
            place = max(before, key=lambda i: rows[i][0] or 0) + 1 if before else 0
            rows.insert(place, (at, None))
        return tuple(rows)

    @cached_property
    def edges(self) -> dict[tuple[int, int], EdgeChange | None]:
        """The accesses of both workflows as rows (read, reader), and how each changes; without an old one of
        a moved step that would run backwards.
        """
        old = set(_accesses(self.old, {at: row for row, (at, _) in enumerate(self.rows)}))
        new = set(_accesses(self.new, {at: row for row, (_, at) in enumerate(self.rows)}))
        return {
            edge: None if edge in old & new else "added" if edge in new else "removed"
            for edge in sorted(old | new)
            if edge[0] < edge[1]
        }

    def __repr__(self) -> str:
        changed = sum(not pair.same for pair in self.pairs)
        counts = f"{len(self.added)} added, {len(self.removed)} removed, {changed} changed"
        return f"<PlanDiff of {len(self.old)} and {len(self.new)} steps: {counts}>"


def plan_diff(old: Workflow, new: Workflow) -> PlanDiff:
    """How `new` differs from `old`; two times 100 steps take well under a second."""
    # Of several equally good ways to see it one is found first: looked at from one fixed side, it is the
    # same one from either.
    return _diff(new, old).swapped if _order(new) < _order(old) else _diff(old, new)


def _accesses(workflow: Workflow, row_of: dict[int | None, int]) -> Iterator[tuple[int, int]]:
    for step, reads in enumerate(workflow.steps):
        yield from ((row_of[read], row_of[step]) for read in reads.access)


def _order(workflow: Workflow) -> list[str]:
    return [step.model_dump_json() for step in workflow.steps]


def _diff(old: Workflow, new: Workflow) -> PlanDiff:
    matches = matching(old, new)
    # A largest set of steps in unchanged order stayed; the others moved.
    stayed = {at for at, _ in longest_ascending(sorted(matches.items()))}
    came_from = {to: at for at, to in matches.items()}
    pairs = []
    for at, to in sorted(matches.items(), key=lambda pair: pair[1]):
        lost = tuple(read for read in old.steps[at].access if matches.get(read) not in new.steps[to].access)
        gained = tuple(
            read for read in new.steps[to].access if came_from.get(read) not in old.steps[at].access
        )
        before, after = dict(old.steps[at]), dict(new.steps[to])
        differs = {name: before[name] != after[name] for name in before}
        differs |= {"moved": at not in stayed, "access": bool(lost or gained)}
        changes = tuple(change for change in get_args(Change) if differs[change])
        pairs.append(StepPair(old=at, new=to, changes=changes, lost=lost, gained=gained))
    return PlanDiff(
        old,
        new,
        pairs=tuple(pairs),
        removed=tuple(at for at in range(len(old)) if at not in matches),
        added=tuple(at for at in range(len(new)) if at not in came_from),
    )


# -- as planned, as edited and as run --------------------------------------------------------------

Row = tuple[int | None, int | None, int | None]
"""A step's positions as planned, as edited, as run; None if it is not there."""


@dataclass(frozen=True)
class ThreeWay:
    """Three states of a workflow. `planned` is how the edited one differs from the planned one, `run` how the
    one last run differs from the edited one, None before any run.

    Every step of every state is in exactly one of the `rows`.
    """

    edited: Workflow
    planned: PlanDiff
    run: PlanDiff | None
    rows: tuple[Row, ...]


def three_way(planned: Workflow, edited: Workflow, run: Workflow | None) -> ThreeWay:
    """The three states side by side, in the order of the edited one."""
    before = plan_diff(planned, edited)
    after = None if run is None else plan_diff(edited, run)
    came_from = {pair.new: pair.old for pair in before.pairs}
    became = {} if after is None else {pair.old: pair.new for pair in after.pairs}
    rows: list[Row] = [(came_from.get(at), at, became.get(at)) for at in range(len(edited))]
    only_run = () if after is None else after.added
    # A step that was edited away may have been run before.
    across: dict[int, int] = {}
    if run is not None and before.removed and only_run:
        pairs = plan_diff(planned, run).of_old
        across = {at: pairs[at].new for at in before.removed if at in pairs and pairs[at].new in only_run}
    for at in before.removed:
        _insert(rows, (at, None, across.get(at)), column=0)
    for at in only_run:
        if at not in across.values():
            _insert(rows, (None, None, at), column=2)
    return ThreeWay(edited, before, after, tuple(rows))


def _insert(rows: list[Row], row: Row, *, column: int) -> None:
    """Insert a row behind the row of the previous step in its column."""
    own = row[column]
    assert own is not None, "a row has a step in the column it is placed by"
    behind, nearest = -1, -1
    for at, other in enumerate(rows):
        position = other[column]
        if position is not None and nearest < position < own:
            behind, nearest = at, position
    rows.insert(behind + 1, row)
