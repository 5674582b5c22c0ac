"""A mathematics problem as a value: an operation and the formulas it works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from conductor.workers.offline.formula import Node, Relation, variables_of

Operation = Literal[
    "value", "claim", "solve", "derivative", "integral", "limit", "sum", "product", "series",
    "simplify", "expand", "factor", "is prime", "divisors", "divisor count",
]  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """An operation and what it works on.

    `formulas` for all operations but "claim" and "solve", which have `relations`. `variable` is the one
    the operation is about, None where it does not matter or is not said. `bounds` are the limits of an
    integral, sum or product, the point of a limit or series, or where a derivative is evaluated.
    `explicit` problems are asked for by name ("differentiate"), others follow from the formula alone.
    `unread` counts the words that were not understood.
    """

    operation: Operation
    formulas: tuple[Node, ...] = ()
    relations: tuple[Relation, ...] = ()
    variable: str | None = None
    bounds: tuple[Node, ...] = ()
    order: int = 1
    explicit: bool = False
    unread: int = 0

    @property
    def variables(self) -> tuple[str, ...]:
        """The free names in it, sorted."""
        return tuple(sorted(frozenset().union(*map(variables_of, (*self.formulas, *self.relations)))))
