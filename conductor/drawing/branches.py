"""Branches of a workflow, and the workflow with some of them as one card each. Pure.

Knows which step reads which; knows no layout, no run and no texts. A branch is a step and all steps that
only feed it: each of these has readers, and all of them are in the branch. So nothing but that step's output
leaves it, and of two branches either one contains the other or they have no step in common.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import heappop, heappush

from conductor.workflow.model import Workflow


def branch_of(workflow: Workflow, step: int) -> tuple[int, ...]:
    """The steps of the branch that ends in `step`, which is the last of them."""
    return branches_of(workflow)[step]


def branches_of(workflow: Workflow) -> tuple[tuple[int, ...], ...]:
    """The branch that ends in each step."""
    return _branches(workflow.readers)


@lru_cache(maxsize=64)
def _branches(readers: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Cached, because a page redraws four times a second while the shape stays."""
    # The first step, on the way to all that a step's work reaches, through which all of it goes.
    gate: list[int | None] = [None] * len(readers)
    branches: list[list[int]] = [[step] for step in range(len(readers))]
    for step in range(len(readers) - 1, -1, -1):
        gate[step] = _common_gate(readers[step], gate)
    for step, through in enumerate(gate):
        if through is not None:
            branches[through] += branches[step]
    return tuple(tuple(sorted(branch)) for branch in branches)


def _common_gate(readers: tuple[int, ...], gate: Sequence[int | None]) -> int | None:
    """The first step through which all that these readers give goes; None if there is none."""
    ways = list(readers)
    while ways:
        first = heappop(ways)
        while ways and ways[0] == first:
            heappop(ways)
        further = gate[first]
        if not ways:
            return first
        if further is None:
            return None
        heappush(ways, further)
    return None


def main_branches(workflow: Workflow, within: Collection[int]) -> frozenset[int]:
    """The last steps of the largest branches, of two steps at least, that lie `within` these steps.

    Instead of one with more than half of all steps its parts count, where it has parts; never all steps.
    """
    branches = branches_of(workflow)
    allowed, hidden, chosen = frozenset(within), set[int](), set[int]()
    for own in reversed(branches):
        if own[-1] in hidden or len(own) in {1, len(workflow)} or not allowed.issuperset(own):
            continue
        if len(own) * 2 <= len(workflow) or all(len(branches[step]) == 1 for step in own[:-1]):
            chosen.add(own[-1])
            hidden.update(own)
    return frozenset(chosen)


@dataclass(frozen=True)
class Branches:
    """`workflow` with each branch that ends in a step of `collapsed` as the card of that step."""

    workflow: Workflow
    collapsed: frozenset[int] = field(default=frozenset())

    @cached_property
    def cards(self) -> tuple[tuple[int, ...], ...]:
        """The steps that each card stands for, in order; its own step is the last of them."""
        hidden: set[int] = set()
        cards = []
        for step in range(len(self.workflow) - 1, -1, -1):
            if step in hidden:
                continue
            cards.append(branch_of(self.workflow, step) if step in self.collapsed else (step,))
            hidden.update(cards[-1])
        return tuple(reversed(cards))

    @cached_property
    def card_workflow(self) -> Workflow:
        """A workflow with a step for each card, which reads what any of its steps reads; to be drawn only."""
        if len(self.cards) == len(self.workflow):
            return self.workflow
        card_of = {step: at for at, steps in enumerate(self.cards) for step in steps}
        old, lineage = self.workflow.steps, self.workflow.lineage
        return Workflow.of(
            old[steps[-1]].model_copy(
                update={
                    "access": tuple({card_of[read] for step in steps for read in old[step].access} - {at}),
                    "lineage": lineage[steps[-1]],
                }
            )
            for at, steps in enumerate(self.cards)
        )
