"""Finds in a session's events what begins and ends: planning, runs, steps, their requests and calls of tools.

Metrics, logs and traces are made of these spans and of nothing else. Knows events; keeps no text of them.
What requests took is the ledger's entries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from conductor.runs import events
from conductor.runs.ledger_entry import LedgerEntry, entries_of
from conductor.values.charge import Charge
from conductor.values.output import WorkerKind
from conductor.values.total import NOTHING, Total

SpanKind = Literal["plan", "run", "step", "call", "tool"]
Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Planning, a run, a step, one request to a worker (`call`) or one call of a tool by it, from
    `started_at` to `ended_at` (Unix seconds; None while it lasts).

    `place` is unique in a session; the span in which it happens is at the `parent` place, None at the top.
    `worker` is who plans or answers: after a fallback the one that answered, the called one is `instead_of`.
    `step` is 0-based. `outcome` is a word of a fixed list, None while it lasts. A call has a `charge`;
    what a span `used` is the sum over all calls in it, those inside of steps, too. A tool has its name
    with its server, "" if the worker made it up, and the id of the call, `tool_call`. Both are known once
    they have ended.
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
    tool: str | None = None
    tool_call: str | None = None
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
        # The calls of tools that are under way in a step.
        self._tools: dict[Place, tuple[Span, ...]] = {}

    def read(self, event: events.Event, within: Place | None = None) -> Iterator[Change]:
        """What the event begins and ends, in the step at the place `within`, if any."""
        above = within or ()
        here = (*above, event.run)
        if isinstance(event, events.StepInner):
            yield from self.read(event.event, (*here, str(event.step)))
            return
        for entry in entries_of(event):
            yield self._call(entry, event, here)
        match event:
            case events.PlanningStarted():
                who = {"worker": event.planner, "worker_kind": event.planner_kind}
                yield self._open_span("plan", here, within, event, round=event.round, **who)
            case events.WorkflowPlanned():
                yield from self._ended(here, event.at, "planned")
            case events.AnswerKept():
                yield from self._ended(here, event.at, "answer_kept")
            case events.PlanRejected():
                yield from self._ended(here, event.at, "rejected")
            case events.PlanningFailed():
                outcome = "cancelled" if event.stopped else "failed"
                yield from self._ended(here, event.at, outcome)
            case events.RunStarted():
                self._workers[here] = tuple(step.worker for step in event.workflow.steps)
                yield self._open_span("run", here, within, event, round=event.round)
            case events.RunFinished():
                cut_off = "cancelled" if event.outcome == "cancelled" else "interrupted"
                yield from self._end_below(here, event.at, cut_off)
                yield from self._ended(here, event.at, event.outcome)
                self._workers.pop(here, None)
            case events.PlanningRetried():
                self._retried(here, event)
            case _:
                yield from self._of_step(event, here)

    def end(self, at: float) -> Iterator[Span]:
        """What lasts still, ended as cancelled: no more events come. The inner ones come first."""
        for place in sorted(self._open, key=len, reverse=True):
            yield from self._ended(place, at, "cancelled")

    def _of_step(self, event: events.Event, run: Place) -> Iterator[Change]:
        if not isinstance(event, events.EventOfStep):
            return
        place = (*run, str(event.step))
        match event:
            case events.StepStarted():
                who = {"worker": event.worker, "worker_kind": event.worker_kind, "step": event.step}
                round = self._open[run].round if run in self._open else 1
                yield self._open_span("step", place, run, event, round=round, **who)
            case events.StepFinished(output=output):
                outcome = "refused" if output.refused else "empty" if output.empty else "finished"
                yield from self._ended(place, event.at, outcome)
            case events.StepFailed():
                yield from self._ended(place, event.at, "failed")
            case events.StepCancelled():
                yield from self._ended(place, event.at, "cancelled")
            case events.StepRetried():
                self._retried(place, event)
            case events.StepToolsCalled():
                self._tools[place] = tuple(self._tool_spans(event, place))
            case events.StepToolsReturned():
                self._called_at[place] = event.at
                for span, use in zip(self._tools.pop(place, ()), event.uses, strict=False):
                    at = min(event.at, span.started_at + use.seconds)
                    yield replace(span, ended_at=at, outcome="failed" if use.is_error else "finished")
            case events.StepFellBack():
                span = self._open[place]
                self._open[place] = replace(
                    span,
                    worker=event.worker,
                    worker_kind=event.worker_kind,
                    instead_of=span.instead_of or span.worker,
                )
            case events.StepKept() | events.StepReused() | events.StepBlocked():
                workers = self._workers.get(run, ())
                if event.step < len(workers):
                    yield Skipped(event.run, event.step, workers[event.step], _SKIPPED[event.type])

    def _open_span(
        self, kind: SpanKind, place: Place, parent: Place | None, event: events.Event, **more: Any
    ) -> Span:
        """A span that begins with the event; `more` are further fields of it."""
        span = Span(kind, place, parent, event.run, event.at, **more)
        self._open[place], self._called_at[place] = span, event.at
        return span

    def _tool_spans(self, event: events.StepToolsCalled, place: Place) -> Iterator[Span]:
        own = self._open.get(place)
        for number, call in enumerate(event.calls):
            yield Span(
                kind="tool",
                place=(*place, f"tool {event.seq}.{number}"),
                parent=place,
                run=event.run,
                started_at=event.at,
                round=1 if own is None else own.round,
                worker=None if own is None else own.worker,
                step=event.step,
                tool=call.words if call.server else "",
                tool_call=call.call.id,
            )

    def _ended(self, place: Place, at: float, outcome: str) -> Iterator[Span]:
        self._called_at.pop(place, None)
        for tool in self._tools.pop(place, ()):
            yield replace(tool, ended_at=at, outcome="failed" if outcome == "failed" else "cancelled")
        span = self._open.pop(place, None)
        # Planning for which the budget has no room fails before it starts.
        if span is not None:
            yield replace(span, ended_at=at, outcome=outcome)

    def _call(self, entry: LedgerEntry, event: events.Event, run: Place) -> Span:
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

    def _retried(self, place: Place, event: events.StepRetried | events.PlanningRetried) -> None:
        span = self._open[place]
        self._open[place] = replace(span, retries=span.retries + 1)
        self._called_at[place] = event.at + event.seconds

    def _end_below(self, run: Place, at: float, outcome: str) -> Iterator[Span]:
        below = [place for place in self._open if len(place) > len(run) and place[: len(run)] == run]
        for place in sorted(below, key=len, reverse=True):
            yield from self._ended(place, at, outcome)


class SpanWatch:
    """A watch (see `observer.Watch`) of one session that hands `note` each change, as soon as it is known."""

    def __init__(self, note: Callable[[Change], None]) -> None:
        self._note = note
        self._reader = SpanReader()

    def see(self, event: events.Event) -> None:
        """See `Watch.see`."""
        for change in self._reader.read(event):
            self._note(change)

    def end(self) -> None:
        """See `Watch.end`."""
        for span in self._reader.end(time.time()):
            self._note(span)


_FAILS = (
    events.PlanningFailed
    | events.PlanningRetried
    | events.StepFailed
    | events.StepFellBack
    | events.StepRetried
)
_SKIPPED = {"step_kept": "kept", "step_reused": "reused", "step_blocked": "blocked"}
