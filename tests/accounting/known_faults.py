"""Faults of the accounts that are not mended yet: a check that fails for one of them passes.

An entry goes with the fault that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from accounting_cases import NEST
from books import Books, Played
from doors import Door, Fault, faults
from reporting_upstream import FAILURES, PLAN, Sent
from truth import PRICES

from conductor.workflow.model import Step


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


KNOWN_FAULTS: dict[str, Callable[[Fault, Played], bool]] = {
    "the endpoint's own cost is not read": lambda fault, _: (
        fault.what == "cost" and _has(fault, lambda sent: sent.behaviour == "own cost")
    ),
    "cached tokens without a price are dear, and exact (F11)": lambda fault, _: (
        fault.what == "cost" and _has(fault, _is_cached_at_no_price)
    ),
    "a plan that failed is unknown": lambda fault, _: (
        _is_vague(fault) and _has(fault, lambda sent: sent.mark == PLAN and sent.behaviour in FAILURES)
    ),
    "a step that failed is unknown": lambda fault, _: (
        _is_vague(fault) and _has(fault, lambda sent: sent.mark != PLAN and sent.behaviour in FAILURES)
    ),
    "a Conductor's step without an answer is unknown": lambda fault, played: (
        _is_vague(fault) and bool(_conductors_steps(played))
    ),
    "a Conductor's step with a rule has its plans alone, or what its rule called": lambda _, played: any(
        step.on_failure for step in _conductors_steps(played)
    ),
    "a Conductor's step that was stopped has what had ended inside, and is exact": lambda _, played: (
        played.is_broken_off and bool(_conductors_steps(played))
    ),
    "what is not stored is not used today (F6)": lambda fault, played: (
        fault.figure.name.startswith("used since") and not played.case.is_stored
    ),
    "a copy is used today (F6)": lambda fault, _: fault.figure.name == "used since, with copies",
    "a resumed response has what came since (F7)": lambda fault, _: "resumed" in fault.figure.name,
    "each of several answers is a request of the token (F8)": lambda fault, played: (
        fault.what == "requests" and played.case.answers > 1
    ),
    "a plan that the budget refused is unknown (F12)": lambda fault, played: (
        _is_vague(fault) and "calls" in played.case.budget and _has(fault, lambda sent: sent.mark == PLAN)
    ),
    "a plan that failed is nothing to the meter": lambda fault, _: (
        fault.figure.name == "the meter"
        and _has(fault, lambda sent: sent.mark == PLAN and sent.behaviour in FAILURES)
    ),
}
"""Faults of the product that are not mended yet, by their name, and which faults of a case are theirs."""


def check(books: Books, played: Played, doors: Sequence[Door]) -> None:
    """Fail where a figure at one of the doors is wrong, and no fault above is to blame."""
    new = [
        fault
        for fault in faults(books, played, doors)
        if not any(is_it(fault, played) for is_it in KNOWN_FAULTS.values())
    ]
    assert not new, "\n".join(["", *map(str, new), str(played)])
