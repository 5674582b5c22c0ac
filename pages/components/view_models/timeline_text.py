"""A timeline in words: each row's text, the critical path, and what the access edges cost in time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.runs.timeline import EdgeSaving, Timeline, TimelineRow, Unknown
from conductor.text.formatting import duration, quantity
from conductor.values.output import NO_ANSWER
from pages.components.view_models.workflow.card_content import step_name

_NAME_LENGTH = 80

_AT_ONCE = 0.001
"""Seconds that are not worth a number."""

_WITHOUT_A_CALL = {
    "reused": "reused",
    "pinned": "pinned",
    "preloaded": "kept",
    "left out": "not part of this run",
}

_ENDS = {
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "interrupted",
    "refused": NO_ANSWER,
    "empty": "empty",
}

NAMED = 3
"""Edges that get a separate sentence."""

_NOISE = 0.005
"""Of a run's time: what is saved less than this is not worth a sentence."""

_UNKNOWN: Mapping[Unknown, str] = {
    "reused": "unknown: the reader was reused, but would be called without this edge",
    "blocked": "unknown: this edge blocked the reader, which would be called without it",
}


@dataclass(frozen=True, slots=True)
class RowText:
    """`name` and `worker` name the step, `label` is the text beside its bar, `details` are sentences. `calls`
    has one for each of the row's calls.
    """

    name: str
    worker: str
    label: str
    details: tuple[str, ...]
    calls: tuple[str, ...] = ()


def row_text(state: RunState, timeline: Timeline) -> tuple[RowText, ...]:
    """The words of every row of a run that has started."""
    if state.workflow is None:
        return ()
    return tuple(
        RowText(
            name=step_name(state.workflow, row.step)[:_NAME_LENGTH],
            worker=own.answered_by(state.workflow.steps[row.step].worker)[:_NAME_LENGTH],
            label=_label(row, own, timeline),
            details=tuple(_details(row, own, timeline)),
            calls=tuple(call.line(timeline.seconds) for call in row.calls),
        )
        for row, own in zip(timeline.rows, state.steps, strict=True)
    )


def _label(row: TimelineRow, own: StepState, timeline: Timeline) -> str:
    if row.part == "blocked":
        return f"blocked by {_steps(own.blocked_by)}"
    if row.part == "not reached":
        return "waiting" if timeline.live else "not reached"
    if row.part != "called":
        return _WITHOUT_A_CALL[row.part]
    ended = _ENDS.get(own.status)
    took = duration(_so_far(row, timeline))
    if own.status == "running":
        return f"{took} so far"
    return took if ended is None else f"{ended}, {took}"


def _details(row: TimelineRow, own: StepState, timeline: Timeline) -> list[str]:
    """Sentences without a full stop, the most important first."""
    if row.part in ("blocked", "not reached", "left out"):
        return [_never_began(row, own, timeline)]
    if row.part != "called":
        why = {"reused": "Its output was known", "pinned": "Its output is pinned"}
        return [f"{why.get(row.part, 'Its output was there already')}: no call, no time"]
    details = [_when(row, own, timeline)]
    if row.waited_for is not None:
        details.append(f"Began when step {row.waited_for + 1} was done")
    elif row.start is not None:
        details.append("Waited for no other step")
    if row.first_word is not None and row.start is not None:
        details.append(f"First word after {duration(row.first_word - row.start)}")
    if row.retries:
        details.append(f"Asked again {quantity(len(row.retries), 'time')}")
    if row.step in timeline.path:
        details.append("On the critical path")
    if row.calls:
        tools = sum(call.tool is not None for call in row.calls)
        requests = quantity(len(row.calls) - tools, "request")
        details.append(f"{requests} and {quantity(tools, 'tool call')}")
    return details


def _never_began(row: TimelineRow, own: StepState, timeline: Timeline) -> str:
    if row.part == "blocked":
        return f"Never began, because it reads {_steps(own.blocked_by)}"
    if row.part == "left out":
        return "Not part of this run"
    if own.status == "paused":
        return "Held at its gate"
    return "Has not begun yet" if timeline.live else "The run ended before its turn"


def _when(row: TimelineRow, own: StepState, timeline: Timeline) -> str:
    start = row.start or 0.0
    began = "Began immediately" if start < _AT_ONCE else f"Began after {duration(start)}"
    took = duration(_so_far(row, timeline))
    if own.status == "running":
        return f"{began} and has been running for {took}"
    if own.status == "interrupted":
        return f"{began} and was interrupted"
    end = duration(row.end or 0.0)
    ended = {"failed": "failed", "cancelled": "was stopped"}.get(own.status, "ended")
    return f"{began}, {ended} after {end}, took {took}"


def _so_far(row: TimelineRow, timeline: Timeline) -> float:
    """Seconds of its call; up to the end of the timeline where it has no end."""
    end = timeline.seconds if row.end is None else row.end
    return max(0.0, end - (row.start or 0.0))


def _steps(steps: tuple[int, ...]) -> str:
    names = ", ".join(str(step + 1) for step in steps)
    return f"step {names}" if len(steps) == 1 else f"steps {names}"


def path_text(timeline: Timeline) -> str:
    """Which steps the run's length comes from; "" while that is unknown, or there is only one."""
    if not timeline.path or len(timeline.rows) == 1:
        return ""
    calls = sum(timeline.rows[step].seconds or 0.0 for step in timeline.path)
    way = " → ".join(str(step + 1) for step in timeline.path)
    return f"Critical path: {way}, {duration(calls)} of calls in a run of {duration(timeline.seconds)}"


def edge_sentences(edges: Sequence[EdgeSaving], timeline: Timeline) -> list[str]:
    """The edges that cost most, one sentence each; one sentence if no edge cost anything."""
    worth = [edge for edge in edges if edge.saved is not None and edge.saved > _NOISE * timeline.seconds]
    if worth:
        return [_sentence(edge, timeline) for edge in worth[:NAMED]]
    if any(edge.saved is not None for edge in edges):
        return ["No single edge made this run noticeably longer."]
    return []


def _sentence(edge: EdgeSaving, timeline: Timeline) -> str:
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
        return "The time that each edge costs appears when the run ends."
    if state.status not in ("finished", "failed"):
        return "The time that each edge costs is unknown: the run did not finish."
    return "The time that each edge costs is unknown: no step of this run read another one."


def edge_table(edges: Sequence[EdgeSaving]) -> dict[str, list[str]]:
    """All edges in the order given, as columns: its steps, the run without it, what that saves."""
    return {
        "Edge": [_named(edge) for edge in edges],
        "Run without it": [
            _UNKNOWN[edge.unknown] if edge.unknown else duration(edge.seconds) for edge in edges
        ],
        "Saves": ["nothing" if edge.saved == 0 else duration(edge.saved) for edge in edges],
    }


def takes_no_time(timeline: Timeline) -> str:
    """How many steps took no time because their outputs were there; "" if no step."""
    free = sum(row.part in ("reused", "pinned", "preloaded") for row in timeline.rows)
    if not free:
        return ""
    return (
        f"{quantity(free, 'step')} had an output already and {'takes' if free == 1 else 'take'} no time here."
    )


def _named(edge: EdgeSaving) -> str:
    return f"{edge.read + 1} → {edge.reader + 1}"
