"""What the access edges of a run cost in time, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conductor.runs.state import RunState
from conductor.runs.timeline import Timeline
from conductor.runs.what_if import Unknown, WithoutEdge
from conductor.text.formatting import counted, duration

NAMED = 3
"""Edges that get a separate sentence."""

_NOISE = 0.005
"""Of a run's time: what is saved less than this is not worth a sentence."""

_UNKNOWN: Mapping[Unknown, str] = {
    "reused": "not known: the reader was reused, and would then be called",
    "blocked": "not known: the reader was blocked by this edge, and would then be called",
}


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One edge in the list of all: its steps, the run without it, what that saves."""

    edge: str
    without: str
    saves: str


def path_text(timeline: Timeline) -> str:
    """Which steps the run's length comes from; "" while that is unknown, or there is only one."""
    if not timeline.path or len(timeline.rows) == 1:
        return ""
    calls = sum(timeline.rows[step].seconds or 0.0 for step in timeline.path)
    way = " → ".join(str(step + 1) for step in timeline.path)
    return f"Critical path: {way}, {duration(calls)} of calls in a run of {duration(timeline.seconds)}"


def edge_sentences(edges: Sequence[WithoutEdge], timeline: Timeline) -> list[str]:
    """The edges that cost most, one sentence each; one sentence where none cost anything."""
    worth = [edge for edge in edges if edge.saved is not None and edge.saved > _NOISE * timeline.seconds]
    if worth:
        return [_sentence(edge, timeline) for edge in worth[:NAMED]]
    if any(edge.saved is not None for edge in edges):
        return ["No single edge made this run noticeably longer."]
    return []


def _sentence(edge: WithoutEdge, timeline: Timeline) -> str:
    took = duration(timeline.seconds)
    would = duration(edge.seconds or 0.0)
    if would == took:
        would = f"{duration(edge.saved or 0.0)} less than its"
        return f"Without the edge {_named(edge)} this run would have taken {would} {took}."
    return f"Without the edge {_named(edge)} this run would have taken {would} instead of {took}."


def no_sentences(state: RunState) -> str:
    """Why nothing is reckoned of a run; "" where there is nothing to reckon with."""
    if state.workflow is None or not any(step.access for step in state.workflow.steps):
        return ""
    if state.live:
        return "What each edge costs is calculated when the run has ended."
    if state.status not in ("finished", "failed"):
        return "What each edge costs is not known: the run did not finish."
    return "What each edge costs is not known: no two steps that read one another took part in this run."


def edge_rows(edges: Sequence[WithoutEdge]) -> list[EdgeRow]:
    """All edges as a list, in the order given."""
    return [
        EdgeRow(
            edge=_named(edge),
            without=_UNKNOWN[edge.unknown] if edge.unknown is not None else duration(edge.seconds or 0.0),
            saves="-" if edge.saved is None else duration(edge.saved) if edge.saved > 0 else "nothing",
        )
        for edge in edges
    ]


def takes_no_time(timeline: Timeline) -> str:
    """How many steps took no time because their outputs were there; "" where none."""
    free = sum(row.part in ("reused", "pinned", "preloaded") for row in timeline.rows)
    if not free:
        return ""
    return (
        f"{counted(free, 'step')} had an output already and {'takes' if free == 1 else 'take'} no time here."
    )


def _named(edge: WithoutEdge) -> str:
    return f"{edge.read + 1} → {edge.reader + 1}"
