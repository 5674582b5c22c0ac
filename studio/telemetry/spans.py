"""What begins and ends in a session, read from its events: planning, runs, steps, their requests to workers.

Metrics, logs and traces are made of these spans and of nothing else. Knows events; keeps no text of them.
What requests took is the ledger's entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from conductor.runs.events import (
    AnswerKept,
    Event,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanRejected,
    RunFinished,
    RunStarted,
    StepBlocked,
    StepCancelled,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepInner,
    StepKept,
    StepRetried,
    StepReused,
    StepStarted,
    WorkflowPlanned,
)
from conductor.runs.ledger_entry import LedgerEntry, entries_of
from conductor.values.charge import Charge
from conductor.values.output import WorkerKind
from conductor.values.total import NOTHING, Total

SpanKind = Literal["plan", "run", "step", "call"]
Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Planning, a run, a step or one request to a worker (`call`), from `started_at` to `ended_at` (Unix
    seconds; None while it lasts).

    `place` is unique in a session; the span in which it happens is at the `parent` place, None at the top.
    `worker` is who plans or answers: after a fallback the one that answered, the called one is `instead_of`.
    `step` is 0-based. `outcome` is a word of a fixed list, None while it lasts. A call has a `charge`, and is
    known once it has ended; what a span `used` is the sum over all calls in it, those inside of steps, too.
    """

    kind: SpanKind
    place: Place
    parent: Place | None
    run: str
    started_at: float
    round: int = 1
    worker: str | None = None
    worker_kind: WorkerKind | None = None
    step: int | None = None
    instead_of: str | None = None
    retries: int = 0
    ended_at: float | None = None
    outcome: str | None = None
    charge: Charge | None = None
    used: Total = NOTHING

    @property
    def seconds(self) -> float | None:
        """How long it took, None while it lasts."""
        return None if self.ended_at is None else max(0.0, self.ended_at - self.started_at)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A step of a run that made no call: its worker and why, a word of a fixed list."""

    run: str
    step: int
    worker: str
    outcome: str


Change = Span | Skipped
"""A span that began, or ended (then it has an `outcome`), or a step without a call; a call only ends."""


class SpanReader:
    """Reads the events of one session in their order."""

    def __init__(self) -> None:
        self._open: dict[Place, Span] = {}
        self._workers: dict[Place, tuple[str, ...]] = {}
        # When the request that is under way at a place was made.
        self._called_at: dict[Place, float] = {}

    def read(self, event: Event, within: Place | None = None) -> Iterator[Change]:
        """What the event begins and ends, in the step at the place `within`, if any."""
        above = within or ()
        here = (*above, event.run)
        if isinstance(event, StepInner):
            yield from self.read(event.event, (*here, str(event.step)))
            return
        for entry in entries_of(event):
            yield self._call(entry, event, here)
        match event:
            case PlanningStarted():
                yield self._open_span(
                    Span(
                        kind="plan",
                        place=here,
                        parent=within,
                        run=event.run,
                        started_at=event.at,
                        round=event.round,
                        worker=event.planner,
                        worker_kind=event.planner_kind,
                    )
                )
            case WorkflowPlanned():
                yield from self._ended(here, event.at, "planned")
            case AnswerKept():
                yield from self._ended(here, event.at, "answer_kept")
            case PlanRejected():
                yield from self._ended(here, event.at, "rejected")
            case PlanningFailed():
                outcome = "cancelled" if event.stopped else "failed"
                yield from self._ended(here, event.at, outcome)
            case RunStarted():
                self._workers[here] = tuple(step.worker for step in event.workflow.steps)
                yield self._open_span(
                    Span(
                        kind="run",
                        place=here,
                        parent=within,
                        run=event.run,
                        started_at=event.at,
                        round=event.round,
                    )
                )
            case RunFinished():
                cut_off = "cancelled" if event.outcome == "cancelled" else "interrupted"
                yield from self._end_below(here, event.at, cut_off)
                yield from self._ended(here, event.at, event.outcome)
                self._workers.pop(here, None)
            case PlanningRetried():
                self._retried(here, event)
            case _:
                yield from self._of_step(event, here)

    def end(self, at: float) -> Iterator[Span]:
        """What lasts still, ended as cancelled: no more events come. The inner ones come first."""
        for place in sorted(self._open, key=len, reverse=True):
            yield from self._ended(place, at, "cancelled")

    def _of_step(self, event: Event, run: Place) -> Iterator[Change]:
        if not isinstance(event, _OF_A_STEP):
            return
        place = (*run, str(event.step))
        match event:
            case StepStarted():
                yield self._open_span(
                    Span(
                        kind="step",
                        place=place,
                        parent=run,
                        run=event.run,
                        started_at=event.at,
                        round=self._open[run].round if run in self._open else 1,
                        worker=event.worker,
                        worker_kind=event.worker_kind,
                        step=event.step,
                    )
                )
            case StepFinished(output=output):
                outcome = "refused" if output.refused else "empty" if output.empty else "finished"
                yield from self._ended(place, event.at, outcome)
            case StepFailed():
                yield from self._ended(place, event.at, "failed")
            case StepCancelled():
                yield from self._ended(place, event.at, "cancelled")
            case StepRetried():
                self._retried(place, event)
            case StepFellBack():
                span = self._open[place]
                self._open[place] = replace(
                    span,
                    worker=event.worker,
                    worker_kind=event.worker_kind,
                    instead_of=span.instead_of or span.worker,
                )
            case StepKept() | StepReused() | StepBlocked():
                workers = self._workers.get(run, ())
                if event.step < len(workers):
                    yield Skipped(event.run, event.step, workers[event.step], _SKIPPED[event.type])

    def _open_span(self, span: Span) -> Span:
        self._open[span.place] = span
        self._called_at[span.place] = span.started_at
        return span

    def _ended(self, place: Place, at: float, outcome: str) -> Iterator[Span]:
        self._called_at.pop(place, None)
        span = self._open.pop(place, None)
        # Planning for which the budget has no room fails before it starts.
        if span is not None:
            yield replace(span, ended_at=at, outcome=outcome)

    def _call(self, entry: LedgerEntry, event: Event, run: Place) -> Span:
        """The request of an entry, which every span that it happened in used."""
        place = run if entry.step is None else (*run, str(entry.step))
        charge = entry.charge if len(run) == 1 else entry.charge.nested
        for depth in range(1, len(place) + 1):
            span = self._open.get(place[:depth])
            if span is not None:
                self._open[span.place] = replace(span, used=span.used + charge.total)
        started_at = min(self._called_at.get(place, entry.at), entry.at)
        self._called_at[place] = entry.at
        own = self._open.get(place)
        return Span(
            kind="call",
            place=(*place, f"call {1 if own is None else own.used.calls}"),
            parent=place,
            run=event.run,
            started_at=started_at,
            round=1 if own is None else own.round,
            worker=charge.worker,
            worker_kind=charge.kind,
            step=entry.step,
            ended_at=entry.at,
            outcome="cancelled" if charge.stopped else "failed" if isinstance(event, _FAILS) else "finished",
            charge=charge,
            used=charge.total,
        )

    def _retried(self, place: Place, event: StepRetried | PlanningRetried) -> None:
        span = self._open[place]
        self._open[place] = replace(span, retries=span.retries + 1)
        self._called_at[place] = event.at + event.seconds

    def _end_below(self, run: Place, at: float, outcome: str) -> Iterator[Span]:
        below = [place for place in self._open if len(place) > len(run) and place[: len(run)] == run]
        for place in sorted(below, key=len, reverse=True):
            yield from self._ended(place, at, outcome)


_FAILS = PlanningFailed | PlanningRetried | StepFailed | StepFellBack | StepRetried
_OF_A_STEP = (
    StepStarted
    | StepFinished
    | StepFailed
    | StepCancelled
    | StepRetried
    | StepFellBack
    | StepKept
    | StepReused
    | StepBlocked
)
_SKIPPED = {"step_kept": "kept", "step_reused": "reused", "step_blocked": "blocked"}
