"""What differs between two workflows: steps that stayed, moved, changed, were removed or added.

Pure and symmetric: swapping the workflows swaps the result. Positions are 0-based. Knows workflows;
`matching` pairs the steps, `word_diff` compares words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from conductor.text.alignment import longest_ascending
from conductor.workflow.matching import matching
from conductor.workflow.model import Step, Workflow

Change = Literal["moved", "worker", "instruction", "access", "sampling", "pin", "sees_previous"]
"""What may differ in a step that is in both workflows. A new number alone is no move: only a step is moved
that had to change places with another one that stayed."""

_FIELDS: tuple[Change, ...] = ("worker", "instruction", "sampling", "pin", "sees_previous")
_ORDER: tuple[Change, ...] = (
    "moved", "worker", "instruction", "access", "sampling", "pin", "sees_previous",
)  # fmt: skip


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
        """The same pair seen from the new workflow."""
        return StepPair(old=self.new, new=self.old, changes=self.changes, lost=self.gained, gained=self.lost)


@dataclass(frozen=True)
class PlanDiff:
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
        """Whether the two are the same workflow."""
        return not (self.removed or self.added or any(pair.changes for pair in self.pairs))

    @cached_property
    def of_old(self) -> dict[int, StepPair]:
        """The pairs by their old position."""
        return {pair.old: pair for pair in self.pairs}

    @cached_property
    def of_new(self) -> dict[int, StepPair]:
        """The pairs by their new position."""
        return {pair.new: pair for pair in self.pairs}

    @property
    def swapped(self) -> PlanDiff:
        """How `old` differs from `new`."""
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


def plan_diff(old: Workflow, new: Workflow) -> PlanDiff:
    """How `new` differs from `old`; two times 100 steps take well under a second."""
    # Of several equally good ways to see it one is found first: looked at from one fixed side, it is the
    # same one from either.
    return _diff(new, old).swapped if _order(new) < _order(old) else _diff(old, new)


def _order(workflow: Workflow) -> list[str]:
    return [step.model_dump_json() for step in workflow.steps]


def _diff(old: Workflow, new: Workflow) -> PlanDiff:
    known = matching(old, new)
    stayed = _stayed(known)
    came_from = {to: at for at, to in known.items()}
    pairs = []
    for at, to in sorted(known.items(), key=lambda pair: pair[1]):
        lost = tuple(read for read in old.steps[at].access if known.get(read) not in new.steps[to].access)
        gained = tuple(
            read for read in new.steps[to].access if came_from.get(read) not in old.steps[at].access
        )
        found: set[Change] = set(_changed_fields(old.steps[at], new.steps[to]))
        found |= {"moved"} if at not in stayed else set()
        found |= {"access"} if lost or gained else set()
        changes = tuple(change for change in _ORDER if change in found)
        pairs.append(StepPair(old=at, new=to, changes=changes, lost=lost, gained=gained))
    return PlanDiff(
        old,
        new,
        pairs=tuple(pairs),
        removed=tuple(at for at in range(len(old)) if at not in known),
        added=tuple(at for at in range(len(new)) if at not in came_from),
    )


def _changed_fields(old: Step, new: Step) -> list[Change]:
    return [name for name in _FIELDS if getattr(old, name) != getattr(new, name)]


def _stayed(known: dict[int, int]) -> set[int]:
    """The old positions of a largest set of steps in unchanged order; the others moved."""
    return {at for at, _ in longest_ascending(sorted(known.items()))}
