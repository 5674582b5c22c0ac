"""Faults of the accounts that are not fixed yet: a check that fails for one of them passes.

An entry goes with the fault that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conductor.workflow.model import Step
from tests.accounting.accounting_cases import NEST
from tests.accounting.books import Books, Played
from tests.accounting.doors import Door, Fault, faults
from tests.accounting.reporting_upstream import Sent
from tests.accounting.truth import PRICES


def _is_vague(fault: Fault) -> bool:
    """Whether it is unknown, or a bound, without a reason."""
    return fault.amount.value is None or fault.amount.bound != "exact"


def _has(fault: Fault, holds: Callable[[Sent], bool]) -> bool:
    return any(holds(each) for each in fault.figure.requests)


def _is_cached_at_no_price(sent: Sent) -> bool:
    price = PRICES[sent.model]
    return sent.behaviour == "cached" and price is not None and price.cached is None


def _conductors_steps(played: Played) -> list[Step]:
    steps = () if played.case.workflow is None else played.case.workflow.steps
    return [step for step in steps if step.worker == NEST]


KNOWN_FAULTS: dict[str, Callable[[Fault, Played], bool]] = {}
"""Faults of the product that are not fixed yet, by their name, and which faults of a case are theirs."""


def check(books: Books, played: Played, doors: Sequence[Door]) -> None:
    """Fail where a figure at one of the doors is wrong, and no fault above is to blame."""
    new = [
        fault
        for fault in faults(books, played, doors)
        if not any(is_it(fault, played) for is_it in KNOWN_FAULTS.values())
    ]
    assert not new, "\n".join(["", *map(str, new), str(played)])
