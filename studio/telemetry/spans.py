"""What begins and ends in a session, read from its events: planning, runs, steps, and those inside of steps.

Metrics, logs and traces are made of these spans and of nothing else. Knows events; keeps no text of them.
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
from conductor.values.charge import Charge, total_of
from conductor.values.messages import Usage
from conductor.values.output import WorkerKind

SpanKind = Literal["plan", "run", "step"]
Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Planning, a run or a step's call, from `started_at` to `ended_at` (Unix seconds; None while it lasts).

    `place` is unique in a session; the span in which it happens is at the `parent` place, None at the top.
    `worker` is who plans or answers: after a fallback the one that answered, the called one is `instead_of`.
    `step` is 0-based. `outcome` is a word of a fixed list, None while it lasts. `charges` are its requests
    that have ended, without those inside. `usage` is None if no call was made, and where the calls inside
    have it: their sum would count them twice.
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
    charges: tuple[Charge, ...] = ()
    usage: Usage | None = None

    @property
    def uses(self) -> tuple[tuple[str | None, Usage], ...]:
        """What each request took, by the worker that it was made to."""
        if self.charges:
            return tuple((each.worker, each.total.exact) for each in self.charges)
        return () if self.usage is None else ((self.worker, self.usage),)

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
"""A span that began, or ended (then it has an `outcome`), or a step without a call."""


class SpanReader:
    """Reads the events of one session in their order."""

    def __init__(self) -> None:
        self._open: dict[Place, Span] = {}
        self._workers: dict[Place, tuple[str, ...]] = {}
        # Spans in which others happened.
        self._nesting: set[Place] = set()

    def read(self, event: Event, within: Place | None = None) -> Iterator[Change]:
        """What the event begins and ends, in the step at the place `within`, if any."""
        above = within or ()
        here = (*above, event.run)
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
                yield from self._ended(here, event.at, "planned", event.usage, event.charge)
            case AnswerKept():
                yield from self._ended(here, event.at, "answer_kept", event.usage, event.charge)
            case PlanRejected():
                yield from self._ended(here, event.at, "rejected", event.usage, event.charge)
            case PlanningFailed():
                outcome = "cancelled" if event.stopped else "failed"
                yield from self._ended(here, event.at, outcome, Usage(), event.charge)
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
                yield from self._ended(here, event.at, event.outcome, None)
                self._workers.pop(here, None)
            case PlanningRetried():
                self._retried(here, event.charge)
            case StepInner():
                step = (*here, str(event.step))
                yield from self.read(event.event, step)
            case _:
                yield from self._of_step(event, here)

    def end(self, at: float) -> Iterator[Span]:
        """What lasts still, ended as cancelled: no more events come. The inner ones come first."""
        for place in sorted(self._open, key=len, reverse=True):
            yield from self._ended(place, at, "cancelled", Usage())

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
                yield from self._ended(place, event.at, outcome, output.usage, event.charge)
            case StepFailed():
                yield from self._ended(place, event.at, "failed", event.usage, event.charge)
            case StepCancelled():
                yield from self._ended(place, event.at, "cancelled", event.usage, event.charge)
            case StepRetried():
                self._retried(place, event.charge)
            case StepFellBack():
                span = self._open[place]
                self._open[place] = replace(
                    span,
                    worker=event.worker,
                    worker_kind=event.worker_kind,
                    instead_of=span.instead_of or span.worker,
                    charges=_charges(span, event.charge),
                )
            case StepKept() | StepReused() | StepBlocked():
                workers = self._workers.get(run, ())
                if event.step < len(workers):
                    yield Skipped(event.run, event.step, workers[event.step], _SKIPPED[event.type])

    def _open_span(self, span: Span) -> Span:
        self._open[span.place] = span
        return span

    def _ended(
        self, place: Place, at: float, outcome: str, usage: Usage | None, charge: Charge | None = None
    ) -> Iterator[Span]:
        span = self._open.pop(place, None)
        if span is None:
            # Planning for which the budget has no room fails before it starts.
            return
        nested = place in self._nesting
        self._nesting.discard(place)
        if span.parent is not None:
            self._nesting.add(span.parent)
        charges = _charges(span, charge)
        usage = total_of(charges).exact if charges else usage
        own = None if span.kind == "run" or nested else usage
        yield replace(span, ended_at=at, outcome=outcome, charges=charges, usage=own)

    def _retried(self, place: Place, charge: Charge | None) -> None:
        span = self._open[place]
        self._open[place] = replace(span, retries=span.retries + 1, charges=_charges(span, charge))

    def _end_below(self, run: Place, at: float, outcome: str) -> Iterator[Span]:
        below = [place for place in self._open if len(place) > len(run) and place[: len(run)] == run]
        for place in sorted(below, key=len, reverse=True):
            yield from self._ended(place, at, outcome, Usage())


def _charges(span: Span, last: Charge | None) -> tuple[Charge, ...]:
    return span.charges if last is None else (*span.charges, last)


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
