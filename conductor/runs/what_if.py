"""How long a run would have taken with one access edge less, computed from the times that were measured.

Every step takes the seconds it took, and the engine's own gaps stay; only the waits change. Knows timelines
and workflows; knows neither events nor clocks. The step would then have had another request and might have
taken another time: what shows the result must state that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from conductor.runs.state import RunState
from conductor.runs.timeline import Row, Timeline

Unknown = Literal["reused", "blocked"]
"""Why no time is known: the reader was reused, or was blocked by this edge alone, and would now be called.
No such call was measured."""


@dataclass(frozen=True, slots=True)
class WithoutEdge:
    """The run without `reader` reading `read` (0-based). `seconds` is what it would have taken, `saved` how
    much less that is; both None where that is unknown, and then `unknown` is the reason.
    """

    read: int
    reader: int
    seconds: float | None
    saved: float | None
    unknown: Unknown | None = None


def without_edges(state: RunState, timeline: Timeline) -> tuple[WithoutEdge, ...]:
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


def _done(row: Row, inputs: list[float | None]) -> float | None:
    match row.part:
        case "called" | "reused":
            ready = max((at for at in inputs if at is not None), default=0.0)
            return ready + row.gap + (row.seconds or 0.0)
        case "pinned" | "preloaded":
            return row.end
        case _:
            return None


def _without(timeline: Timeline, access: list[tuple[int, ...]], *, read: int, reader: int) -> WithoutEdge:
    row = timeline.rows[reader]
    unknown = _unknown(timeline, access[reader], read=read, row=row)
    if unknown is not None:
        return WithoutEdge(read=read, reader=reader, seconds=None, saved=None, unknown=unknown)
    if row.waited_for != read:
        return WithoutEdge(read=read, reader=reader, seconds=timeline.seconds, saved=0.0)
    fewer = list(access)
    fewer[reader] = tuple(other for other in access[reader] if other != read)
    seconds = min(timeline.seconds, seconds_of(timeline, fewer))
    return WithoutEdge(read=read, reader=reader, seconds=seconds, saved=timeline.seconds - seconds)


def _unknown(timeline: Timeline, reads: tuple[int, ...], *, read: int, row: Row) -> Unknown | None:
    if row.part == "reused":
        return "reused"
    lost = {other for other in reads if timeline.rows[other].status in ("failed", "blocked")}
    return "blocked" if row.part == "blocked" and lost == {read} else None


def _took_part(row: Row) -> bool:
    return row.part not in ("left out", "not reached")


def _rank(edge: WithoutEdge) -> tuple[bool, float, int, int]:
    return (edge.saved is None, -(edge.saved or 0.0), edge.reader, edge.read)
