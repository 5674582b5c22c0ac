"""The ledger's entries of events: one for each request that has ended; one inside a step is that step's."""

from __future__ import annotations

import pytest

from conductor.runs.events import Event, RunFinished, StepCancelled, StepFailed, StepInner, StepRetried
from conductor.runs.ledger_entry import LedgerEntry, entries_of
from conductor.values.charge import Charge
from tests.support.runs import nested_run

CHARGE = Charge(worker="a", kind="model", purpose="step")
RETRIED = {"step": 3, "attempt": 1, "message": "503", "seconds": 1.0}


def inside(event: Event, *, step: int) -> Event:
    return nested_run.Teller("outer").tell(StepInner, step=step, event=event)


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (StepRetried, RETRIED),
        (StepFailed, {"step": 3, "message": "503", "seconds": 1.0}),
        (StepCancelled, {"step": 3, "seconds": 1.0}),
    ],
)
def test_a_request_of_a_step_is_one_entry_and_inside_another_step_it_is_that_ones(
    kind: type[Event], fields: dict[str, object], depth: int
) -> None:
    event = nested_run.Teller("r").tell(kind, charge=CHARGE, **fields)
    without = nested_run.Teller("r").tell(kind, **fields)
    for step in range(depth):
        event, without = inside(event, step=step), inside(without, step=step)
    at = nested_run.Teller("r").at + 0.1
    charge = CHARGE.nested if depth else CHARGE
    assert list(entries_of(event)) == [LedgerEntry(charge, at, depth - 1 if depth else 3)]
    assert list(entries_of(without)) == []
    assert CHARGE.nested.purpose == "nested"


def test_what_was_under_way_when_a_process_died_is_an_entry_of_each_step() -> None:
    charges = {0: CHARGE, 2: CHARGE}
    teller = nested_run.Teller("r")
    end = teller.tell(RunFinished, outcome="interrupted", answer=None, answer_step=None, charges=charges)
    assert list(entries_of(end)) == [LedgerEntry(CHARGE, end.at, 0), LedgerEntry(CHARGE, end.at, 2)]
