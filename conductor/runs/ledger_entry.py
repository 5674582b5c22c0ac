"""The entries that events of runs add to the ledger: one for each request that has ended.

Knows events and charges; knows neither the store nor what is summed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conductor.runs.events import (
    AnswerKept,
    Event,
    PlanningFailed,
    PlanningRetried,
    PlanRejected,
    RunFinished,
    StepCancelled,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepInner,
    StepRetried,
    StepToolsCalled,
    WorkflowPlanned,
)
from conductor.values.charge import Charge


class LedgerEntry(NamedTuple):
    """A charge, when its request ended in Unix seconds, and its step; None if it is of no step."""

    charge: Charge
    at: float
    step: int | None = None


def entries_of(event: Event) -> Iterator[LedgerEntry]:
    """What an event of a run has of requests that have ended; one inside a step is that step's."""
    match event:
        case (
            StepRetried()
            | StepFellBack()
            | StepToolsCalled()
            | StepFinished()
            | StepFailed()
            | StepCancelled()
        ):
            if event.charge is not None:
                yield LedgerEntry(event.charge, event.at, event.step)
        case StepInner():
            for entry in entries_of(event.event):
                yield LedgerEntry(entry.charge.nested, entry.at, event.step)
        case RunFinished():
            for step, charge in event.charges.items():
                yield LedgerEntry(charge, event.at, step)
        case PlanningRetried() | WorkflowPlanned() | AnswerKept() | PlanRejected() | PlanningFailed():
            if event.charge is not None:
                yield LedgerEntry(event.charge, event.at)
