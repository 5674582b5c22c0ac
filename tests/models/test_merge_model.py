"""Two edits merge into what both sides changed of each marked step, or into named conflicts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import combinations

from hypothesis import given

from conductor.workflow.merge import Rebased, rebase
from tests.models import marked_steps as model
from tests.models.marked_steps import FIELDS, Change, Marked, Plan, marks, numbers_of, plan_of
from tests.support.cases.property_cases import cases

SWAPPED = {"they_removed": "you_removed", "they_removed_read": "you_removed_read"}
SWAPPED |= {theirs: mine for mine, theirs in SWAPPED.items()}
OF_ORDER = {("order", None), ("final", None), ("steps", None)}

Named = set[tuple[str, int | None]]


@model.short_and_long(400, 6000)
def test_a_merge_has_what_each_side_changed_or_names_the_conflict(number: int) -> None:
    @cases(number)
    @given(plan=model.plans(), before=model.BEFORE, mine=model.MINE, theirs=model.THEIRS)
    def check(plan: Plan, before: list[Change], mine: list[Change], theirs: list[Change]) -> None:
        base = model.last(model.workflow_of(plan), before)
        one, other = model.last(base, mine), model.last(base, theirs)
        merged, reverse = rebase(base, one, other), rebase(base, other, one)
        assert merged.workflow == reverse.workflow
        assert _named(merged) == {(SWAPPED.get(kind, kind), step) for kind, step in _named(reverse)}
        assert {rebase(base, *same).workflow for same in ((one, base), (base, one), (one, one))} == {one}
        if base not in (one, other) and one != other:
            sides = Sides(*map(plan_of, (base, one, other)))
            assert _named(merged) - OF_ORDER == sides.conflicts()
            if merged.workflow is not None:
                sides.check(plan_of(merged.workflow))
                numbers = numbers_of(base) | numbers_of(one) | numbers_of(other)
                assert numbers_of(merged.workflow).items() <= numbers.items(), "a step is another one"
            elif not sides.conflicts():
                assert not sides.one_is_in_order(), "a side that moved no step and added no read is refused"

    check()


def _named(merged: Rebased) -> Named:
    return {(clash.kind, clash.step) for clash in merged.clashes}


class Sides:
    """Three plans by the marks of their steps: the base, and the two that it was edited into."""

    def __init__(self, *sides: Plan) -> None:
        self.orders = [marks(side) for side in sides]
        self.base, self.mine, self.theirs = self.sides = [{it.mark: it for it in side} for side in sides]
        self.common = self.base.keys() & self.mine.keys() & self.theirs.keys()

    def conflicts(self) -> Named:
        """What both changed otherwise, and what one changed, or newly reads, that the other removed."""
        named: Named = set()
        for at, (mark, step) in enumerate(self.base.items()):
            if mark in self.common:
                both = {name for name in FIELDS if len(self._changes(mark, name)) > 1}
                named |= {(name, at) for name in both}
                new = self._step(mark)
                own_fallback = new.on_failure is not None and new.on_failure.fallback == new.worker
                named |= {("fallback", at)} if own_fallback and not both & {"worker", "on_failure"} else set()
            for own, other, who in ((self.mine, self.theirs, "they"), (self.theirs, self.mine, "you")):
                if mark not in other:
                    changed = mark in own and own[mark] != _without_reads(step, step.reads - own.keys())
                    named |= {(f"{who}_removed", at)} if changed else set()
                    read = any(mark in it.reads - self._read_before(it.mark) for it in own.values())
                    named |= {(f"{who}_removed_read", at)} if read else set()
        return named

    def check(self, merged: Plan) -> None:
        """Raise `AssertionError` where a merge has other steps, another order or another final step."""
        added = (self.mine | self.theirs).keys() - self.base.keys()
        there = self.common | added
        steps = {mark: self._step(mark) for mark in self.common}
        steps |= {mark: (self.mine | self.theirs)[mark] for mark in added}
        assert {step.mark: step for step in merged} == {
            mark: _without_reads(step, step.reads - there) for mark, step in steps.items()
        }
        order = marks(merged)
        for pair in combinations(order, 2):
            base, *sides = (_before(each, *pair) for each in self.orders)
            changed = {side for side in sides if side not in (base, None)}
            if len(self.base.keys() & {*pair}) != 1:
                assert changed <= {True} if changed or base is None else base, "a side's order is lost"
        for mark in added:
            home = self.orders[1 if mark in self.mine else 2]
            assert self._common_before(order, mark) == self._common_before(home, mark)
        finals = {order[-1] for order in self.orders[1:]} - {self.orders[0][-1]}
        assert [merged[-1].mark] == [*(finals or self.orders[0][-1:])]

    def one_is_in_order(self) -> bool:
        """Whether one side changed no step's place and lets none read more."""
        return any(
            order == self.orders[0] and all(side[mark].reads <= self.base[mark].reads for mark in side)
            for side, order in zip(self.sides[1:], self.orders[1:], strict=True)
        )

    def _common_before(self, order: list[int], mark: int) -> list[int]:
        return [each for each in order[: order.index(mark)] if each in self.common][-1:]

    def _read_before(self, mark: int) -> frozenset[int]:
        return self.base[mark].reads if mark in self.base else frozenset()

    def _changes(self, mark: int, name: str) -> set[object]:
        values = {getattr(side[mark], name) for side in (self.mine, self.theirs)}
        return values - {getattr(self.base[mark], name)}

    def _step(self, mark: int) -> Marked:
        """A common step with what either side changed."""
        base, mine, theirs = (side[mark].reads for side in self.sides)
        changed = {name: value for name in FIELDS for value in self._changes(mark, name)}
        return replace(self.base[mark], **changed, reads=base & mine & theirs | mine - base | theirs - base)


def _before(order: list[int], one: int, other: int) -> bool | None:
    """Whether one comes before the other, or None if a step is missing."""
    return order.index(one) < order.index(other) if {one, other} <= {*order} else None


def _without_reads(step: Marked, reads: Collection[int]) -> Marked:
    return replace(step, reads=step.reads - {*reads})
