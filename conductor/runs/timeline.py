"""The timeline of a run: when each step began and ended, which step it waited for, and the critical path.

Also how long the run would have taken with one access edge less, computed from the times that were measured:
every step takes the seconds it took, and the engine's own gaps stay; only the waits change. The step would
then have had another request and might have taken another time: what shows the result must state that.

Knows a run's state and, where they are at hand, its events; knows no clock and no page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from conductor.runs.events import (
    Event,
    RunFinished,
    StepBlocked,
    StepCallDelta,
    StepDelta,
    StepKept,
    StepRetried,
    StepReused,
    StepThought,
)
from conductor.runs.state import RunState
from conductor.runs.step_state import StepStatus
from conductor.runs.timed_call import TimedCalls

Part = Literal["called", "reused", "pinned", "preloaded", "blocked", "not reached", "left out"]
"""What a step was in a run. Only a `called` one takes time; `not reached`: the run ended, or has not come,
before its turn; `left out`: the run was not to give it an output."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The times that events hold and the folded state does not: all in Unix seconds.

    `first_words`: when the first word of a step's answer came, of those that were not withdrawn. `settled`:
    when a step counted that was not called, or was found to be blocked. `last`: the last event of the process
    that ran it; the end of a run that was found interrupted was written later, by another process.
    """

    first_words: Mapping[int, float] = field(default_factory=dict)
    settled: Mapping[int, float] = field(default_factory=dict)
    last: float | None = None

    @classmethod
    def of(cls, events: Iterable[Event]) -> Moments:
        """The moments of these events, which are in order."""
        first_words: dict[int, float] = {}
        settled: dict[int, float] = {}
        last = None
        for event in events:
            match event:
                case StepDelta() | StepCallDelta():
                    first_words.setdefault(event.step, event.at)
                case StepRetried() if event.withdrawn:
                    first_words.pop(event.step, None)
                case StepThought() if event.recalls:
                    first_words.pop(event.step, None)
                case StepReused() | StepKept() | StepBlocked():
                    settled[event.step] = event.at
            if not (isinstance(event, RunFinished) and event.outcome == "interrupted"):
                last = event.at if last is None else max(last, event.at)
        return cls(first_words=first_words, settled=settled, last=last)


MAX_LANES = 4
"""Calls of one step that are drawn one below the other; the last lane has any further ones, too."""


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One step (0-based) of a timeline. Times are seconds since the run began, or None.

    `ready`: when the last step it reads was done, 0 where it waits for none. `start` and `end` are those of
    its call; a step that counted without a call has both at the moment it counted. `end` is None while it
    runs, and where the process died. `waited_for` is the step that was done last of those it reads, None
    if it waited for no call. `calls` are the requests and the calls of tools of a step that called tools.
    """

    step: int
    part: Part
    status: StepStatus
    ready: float | None = None
    start: float | None = None
    end: float | None = None
    first_word: float | None = None
    retries: tuple[float, ...] = ()
    waited_for: int | None = None
    calls: TimedCalls = ()

    @property
    def lanes(self) -> int:
        """How many calls lasted at once at most, up to `MAX_LANES`; 0 without calls of tools."""
        return min(MAX_LANES, max((call.lane + 1 for call in self.calls), default=0))

    @property
    def seconds(self) -> float | None:
        """How long its call took; None if no call was made, or if it has no end."""
        if self.part != "called" or self.start is None or self.end is None:
            return None
        return self.end - self.start

    @property
    def gap(self) -> float:
        """Seconds between being ready and starting: the engine's own time."""
        return 0.0 if self.ready is None or self.start is None else max(0.0, self.start - self.ready)


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run by time. `seconds` is how long it took, or has taken so far where it is `live`.

    `path` is the critical path: the step that ended last, whom that waited for, and so on back to the start,
    in the order in which they ran. It is empty while the run is live and where no call was made.
    """

    rows: tuple[TimelineRow, ...]
    seconds: float
    live: bool
    path: tuple[int, ...]

    @property
    def tail(self) -> float:
        """Seconds between the end of the last step and the end of the run."""
        last = max((row.end for row in self.rows if row.end is not None), default=0.0)
        return max(0.0, self.seconds - last)


NOTHING = Moments()


def timeline_of(state: RunState, *, now: float, moments: Moments = NOTHING) -> Timeline:
    """The timeline of a run that has started. `now` (Unix seconds) is the end so far of a live one."""
    began = state.started_at or 0.0
    rows: list[TimelineRow] = []
    for step in range(len(state.steps)):
        rows.append(_row(state, step, rows, began=began, moments=moments))
    return Timeline(
        rows=tuple(rows),
        seconds=_seconds(state, rows, began=began, now=now, moments=moments),
        live=state.live,
        path=() if state.live else _critical_path(rows),
    )


def _row(
    state: RunState, step: int, above: list[TimelineRow], *, began: float, moments: Moments
) -> TimelineRow:
    own = state.steps[step]
    part = _part(state, step)
    # What is pinned or preloaded counts from the start, whatever it reads.
    reads = state.workflow.steps[step].access if state.workflow is not None else ()
    inputs = [] if part in ("pinned", "preloaded") else [above[read] for read in reads]
    last = _last_done(inputs)
    ready = 0.0 if last is None or last.end is None else last.end
    waited_for = last.step if last is not None and _kept_waiting(last) else None
    row = partial(TimelineRow, step=step, part=part, status=own.status)
    match part:
        case "called":
            return row(
                ready=ready,
                start=_since(began, own.started_at),
                end=_since(began, own.finished_at),
                first_word=_since(began, moments.first_words.get(step)),
                retries=tuple(retry.at - began for retry in own.retries),
                waited_for=waited_for,
                calls=_calls(own.timed_calls, began),
            )
        case "reused" | "pinned" | "preloaded":
            settled = moments.settled.get(step)
            at = ready if settled is None else max(ready, settled - began)
            return row(ready=ready, start=at, end=at, waited_for=waited_for)
        case _:
            return row()


def _calls(calls: TimedCalls, began: float) -> TimedCalls:
    return tuple(call.moved(-began) for call in calls) if any(call.tool for call in calls) else ()


def _part(state: RunState, step: int) -> Part:
    own = state.steps[step]
    if own.kept_because is not None:
        return own.kept_because
    if own.reused:
        return "reused"
    if own.status == "blocked":
        return "blocked"
    if own.started_at is not None:
        return "called"
    covered = state.covers is None or step in state.covers
    return "not reached" if covered else "left out"


def _since(began: float, at: float | None) -> float | None:
    return None if at is None else max(0.0, at - began)


def _last_done(inputs: list[TimelineRow]) -> TimelineRow | None:
    """Of the steps that are done the one that was so last; of equals the later step."""
    done = [row for row in inputs if row.end is not None]
    return max(done, key=lambda row: (row.end, row.step), default=None)


def _kept_waiting(row: TimelineRow) -> bool:
    """Whether a call lies behind this row's end; what counted from the start delayed no step."""
    return row.part == "called" or row.waited_for is not None


def _critical_path(rows: list[TimelineRow]) -> tuple[int, ...]:
    last = _last_done([row for row in rows if _kept_waiting(row)])
    path: list[int] = []
    while last is not None:
        path.append(last.step)
        last = None if last.waited_for is None else rows[last.waited_for]
    return tuple(reversed(path))


def _seconds(
    state: RunState, rows: list[TimelineRow], *, began: float, now: float, moments: Moments
) -> float:
    if state.live:
        return max(0.0, now - began)
    if state.status != "interrupted" and state.finished_at is not None:
        return max(0.0, state.finished_at - began)
    # Found long after the process had died; its last event is the last known time.
    if moments.last is not None:
        return max(0.0, moments.last - began)
    times = [at for row in rows for at in (row.start, row.end, *row.retries) if at is not None]
    return max(times, default=0.0)


# -- with one edge less ----------------------------------------------------------------------------

Unknown = Literal["reused", "blocked"]
"""Why no time is known: the reader was reused, or was blocked by this edge alone, and would now be called.
No such call was measured."""


@dataclass(frozen=True, slots=True)
class EdgeSaving:
    """The run without `reader` reading `read` (0-based). `seconds` is what it would have taken, `saved` how
    much less that is; both are None if that is unknown, and then `unknown` is the reason.
    """

    read: int
    reader: int
    seconds: float | None
    saved: float | None
    unknown: Unknown | None = None


def without_edges(state: RunState, timeline: Timeline) -> tuple[EdgeSaving, ...]:
    """One for every edge of the run's workflow, the most seconds saved first; the unknown ones last.

    Empty where the run did not come to its own end: what it would still have taken is not known. Edges to and
    from steps that took no part are left out.
    """
    if state.workflow is None or state.status not in ("finished", "failed"):
        return ()
    access = [step.access for step in state.workflow.steps]
    edges = [
        _without(timeline, access, read=read, reader=reader)
        for reader, reads in enumerate(access)
        for read in reads
        if _took_part(timeline.rows[reader]) and _took_part(timeline.rows[read])
    ]
    return tuple(sorted(edges, key=_rank))


def seconds_of(timeline: Timeline, access: list[tuple[int, ...]]) -> float:
    """What a run of these steps takes where step i reads `access[i]`, in seconds.

    Steps last as long as they did; a blocked one never ran, and no step waits for it.
    """
    done: list[float | None] = []
    for row, reads in zip(timeline.rows, access, strict=True):
        done.append(_done(row, [done[read] for read in reads]))
    return max((at for at in done if at is not None), default=0.0) + timeline.tail


def _done(row: TimelineRow, inputs: list[float | None]) -> float | None:
    match row.part:
        case "called" | "reused":
            ready = max((at for at in inputs if at is not None), default=0.0)
            return ready + row.gap + (row.seconds or 0.0)
        case "pinned" | "preloaded":
            return row.end
        case _:
            return None


def _without(timeline: Timeline, access: list[tuple[int, ...]], *, read: int, reader: int) -> EdgeSaving:
    row = timeline.rows[reader]
    unknown = _unknown(timeline, access[reader], read=read, row=row)
    if unknown is not None:
        return EdgeSaving(read=read, reader=reader, seconds=None, saved=None, unknown=unknown)
    if row.waited_for != read:
        return EdgeSaving(read=read, reader=reader, seconds=timeline.seconds, saved=0.0)
    fewer = list(access)
    fewer[reader] = tuple(other for other in access[reader] if other != read)
    seconds = min(timeline.seconds, seconds_of(timeline, fewer))
    return EdgeSaving(read=read, reader=reader, seconds=seconds, saved=timeline.seconds - seconds)


def _unknown(timeline: Timeline, reads: tuple[int, ...], *, read: int, row: TimelineRow) -> Unknown | None:
    if row.part == "reused":
        return "reused"
    lost = {other for other in reads if timeline.rows[other].status in ("failed", "blocked")}
    return "blocked" if row.part == "blocked" and lost == {read} else None


def _took_part(row: TimelineRow) -> bool:
    return row.part not in ("left out", "not reached")


def _rank(edge: EdgeSaving) -> tuple[bool, float, int, int]:
    return (edge.saved is None, -(edge.saved or 0.0), edge.reader, edge.read)
