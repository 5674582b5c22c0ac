"""One person's edit of a workflow applied on top of another's edit of the same one.

Pure; the result does not depend on which edit was first. Knows three workflows and which of their steps are
the same ones; knows neither revisions nor persons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from conductor.workflow.diff import plan_diff
from conductor.workflow.model import MAX_STEPS, Step, Workflow

T = TypeVar("T")

Kind = Literal[
    "worker", "instruction", "sampling", "prompt_style", "pin", "sees_previous", "sees_files", "tools",
    "gate", "on_failure", "fallback",
    "they_removed", "you_removed", "they_removed_read", "you_removed_read", "order", "final", "steps",
]  # fmt: skip
"""Why two edits conflict: both changed this of a step; one gave a step to the worker that the other made its
fallback; one changed, or let another step read, what the other removed; both moved steps, or one moved what
the other lets read; both changed which step is the last, whose response is the answer; together they leave no
step or too many.
"""

_FIELDS: tuple[Kind, ...] = (
    "worker", "instruction", "sampling", "prompt_style", "pin", "sees_previous", "sees_files", "tools",
    "gate", "on_failure",
)  # fmt: skip

_Origin = Literal["base", "mine", "theirs"]
_Node = tuple[_Origin, int]
"""A step whichever workflow it is in: its place in the workflow that had it first."""


@dataclass(frozen=True, slots=True)
class Clash:
    """One thing that cannot be merged; `step` is a position in the base, None for the workflow as a whole."""

    kind: Kind
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Rebased:
    """What both edits make together; `workflow` is None if there are clashes, and only then."""

    workflow: Workflow | None
    clashes: tuple[Clash, ...] = ()


def rebase(base: Workflow, mine: Workflow, theirs: Workflow) -> Rebased:
    """What `mine` changed in `base`, changed in `theirs` as well; two times 100 steps take under a second."""
    if mine in (base, theirs):
        return Rebased(theirs)
    if theirs == base:
        return Rebased(mine)
    merge = _Merge(base, mine, theirs)
    clashes = tuple(dict.fromkeys(merge.clashes()))
    return Rebased(None, clashes) if clashes else merge.result()


@dataclass(frozen=True)
class _Side:
    """One edit: its workflow, and the node at each of its positions."""

    workflow: Workflow
    order: tuple[_Node, ...]

    @classmethod
    def of(cls, name: _Origin, base: Workflow, workflow: Workflow) -> _Side:
        came_from = {pair.new: pair.old for pair in plan_diff(base, workflow).pairs}
        nodes: list[_Node] = [
            ("base", came_from[at]) if at in came_from else (name, at) for at in range(len(workflow))
        ]
        return cls(workflow, tuple(nodes))

    @cached_property
    def place(self) -> dict[_Node, int]:
        return {node: at for at, node in enumerate(self.order)}

    @cached_property
    def content(self) -> str:
        return self.workflow.model_dump_json()

    def step(self, node: _Node) -> Step:
        return self.workflow.steps[self.place[node]]

    def reads(self, node: _Node) -> frozenset[_Node]:
        return frozenset(self.order[read] for read in self.step(node).access)


class _Merge:
    """Two edits of one base; neither is the base."""

    def __init__(self, base: Workflow, mine: Workflow, theirs: Workflow) -> None:
        self.sides = (
            _Side(base, tuple(("base", at) for at in range(len(base)))),
            _Side.of("mine", base, mine),
            _Side.of("theirs", base, theirs),
        )
        self.base, self.mine, self.theirs = self.sides
        self.common = {*self.base.order} & {*self.mine.order} & {*self.theirs.order}

    # -- what cannot be merged -------------------------------------------------------------------------

    def clashes(self) -> Iterator[Clash]:
        """Every clash that is known before the steps are put in order."""
        for at, node in enumerate(self.base.order):
            if node in self.mine.place and node in self.theirs.place:
                both = [field for field in _FIELDS if self._both_changed(node, field)]
                yield from (Clash(field, at) for field in both)
                rule, worker = self._field(node, "on_failure"), self._field(node, "worker")
                if not {"worker", "on_failure"} & {*both} and rule and rule.fallback == worker:
                    yield Clash("fallback", at)
            elif node in self.mine.place and self._changed(self.mine, node):
                yield Clash("they_removed", at)
            elif node in self.theirs.place and self._changed(self.theirs, node):
                yield Clash("you_removed", at)
        yield from self._lost_reads(self.mine, self.theirs, "they_removed_read")
        yield from self._lost_reads(self.theirs, self.mine, "you_removed_read")

    def _both_changed(self, node: _Node, field: Kind) -> bool:
        before, mine, theirs = (getattr(side.step(node), field) for side in self.sides)
        return mine != before and theirs not in (before, mine)

    def _changed(self, side: _Side, node: _Node) -> bool:
        """Whether an edit changed a step beyond taking away what it read."""
        old, new = self.base.step(node), side.step(node)
        reads = {read for read in self.base.reads(node) if read in side.place}
        return side.reads(node) != reads or any(getattr(old, f) != getattr(new, f) for f in _FIELDS)

    def _lost_reads(self, side: _Side, other: _Side, kind: Kind) -> Iterator[Clash]:
        """What one edit newly lets read, and the other removed."""
        for node in side.order:
            before = self.base.reads(node) if node in self.base.place else frozenset()
            gained = sorted(at for home, at in side.reads(node) - before if home == "base")
            yield from (Clash(kind, at) for at in gained if ("base", at) not in other.place)

    # -- what they make together -----------------------------------------------------------------------

    def result(self) -> Rebased:
        """The merged workflow; clashes of order are found on the way."""
        orders = (tuple(node for node in side.order if node in self.common) for side in self.sides)
        common = _three_way(*orders)
        if common is None:
            return Rebased(None, (Clash("order"),))
        final = _three_way(*(side.order[-1] for side in self.sides))
        order = [*self._added_after(None)]
        for node in common:
            order += [node, *self._added_after(node)]
        if not 0 < len(order) <= MAX_STEPS:
            return Rebased(None, (Clash("steps"),))
        if final is None or order[-1] != final:
            return Rebased(None, (Clash("final"),))
        place = {node: at for at, node in enumerate(order)}
        access = [sorted(place[read] for read in self._reads(node)) for node in order]
        if any(read >= at for at, reads in enumerate(access) for read in reads):
            return Rebased(None, (Clash("order"),))
        return Rebased(
            Workflow.of(
                self._step(node).model_copy(update={"access": tuple(reads)})
                for node, reads in zip(order, access, strict=True)
            )
        )

    def _added_after(self, node: _Node | None) -> list[_Node]:
        """The steps that either edit put behind a common one (None: before all), in an order that does not
        depend on who was first.
        """

        def content(at: int) -> tuple[list[str], str]:
            # Steps of one content may be read by different ones.
            return [self._step(added).model_dump_json() for added in groups[at]], self.sides[at].content

        groups = {at: self._added[at].get(node, []) for at in (1, 2)}
        if not any(groups.values()):
            return []
        return [added for at in sorted(groups, key=content) for added in groups[at]]

    @cached_property
    def _added(self) -> tuple[dict[_Node | None, list[_Node]], ...]:
        """What each side put behind which common step (None: before all)."""
        return tuple(map(self._groups, self.sides))

    def _groups(self, side: _Side) -> dict[_Node | None, list[_Node]]:
        groups: dict[_Node | None, list[_Node]] = {}
        behind: _Node | None = None
        for node in side.order:
            if node in self.common:
                behind = node
            elif node[0] != "base":
                groups.setdefault(behind, []).append(node)
        return groups

    def _reads(self, node: _Node) -> set[_Node]:
        """The reads of the merged step: those that no edit removed, and those that an edit added."""
        if node[0] != "base":
            return self._remaining(self._home(node).reads(node))
        before, mine, theirs = (side.reads(node) for side in self.sides)
        return self._remaining((before & mine & theirs) | (mine - before) | (theirs - before))

    def _remaining(self, nodes: frozenset[_Node]) -> set[_Node]:
        """Those that neither edit removed."""
        return {node for node in nodes if node in self.common or node[0] != "base"}

    def _step(self, node: _Node) -> Step:
        if node[0] != "base":
            return self._home(node).step(node)
        fields = {name: self._field(node, name) for name in _FIELDS}
        return self.base.step(node).model_copy(
            update=fields | {"lineage": self.base.workflow.lineage[node[1]]}
        )

    def _field(self, node: _Node, name: Kind) -> Any:
        """What an edit made it; where both edits changed it, either."""
        before, mine, theirs = (getattr(side.step(node), name) for side in self.sides)
        return theirs if mine == before else mine

    def _home(self, node: _Node) -> _Side:
        return self.mine if node[0] == "mine" else self.theirs


def _three_way(before: T, mine: T, theirs: T) -> T | None:
    """What was changed on one side, or alike on both; None if each side changed it its own way."""
    if mine in (before, theirs):
        return theirs
    return mine if theirs == before else None
