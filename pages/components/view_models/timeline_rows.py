"""The texts of each row of a timeline: in short beside its bar, and in full on request. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.runs.timeline import Row, Timeline
from conductor.text.formatting import counted, duration
from conductor.values.output import NO_ANSWER
from pages.components.view_models.card_content import step_name

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


@dataclass(frozen=True, slots=True)
class RowText:
    """`name` and `worker` name the step, `label` is the text beside its bar, `details` are sentences."""

    name: str
    worker: str
    label: str
    details: tuple[str, ...]


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
        )
        for row, own in zip(timeline.rows, state.steps, strict=True)
    )


def _label(row: Row, own: StepState, timeline: Timeline) -> str:
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


def _details(row: Row, own: StepState, timeline: Timeline) -> list[str]:
    """Sentences without a full stop, the most important first."""
    if row.part in ("blocked", "not reached", "left out"):
        return [_never_began(row, own, timeline)]
    if row.part != "called":
        why = {"reused": "Its output was known", "pinned": "Its output is pinned"}
        return [f"{why.get(row.part, 'Its output was there already')}: no call, no time"]
    said = [_when(row, own, timeline)]
    if row.waited_for is not None:
        said.append(f"Began when step {row.waited_for + 1} was done")
    elif row.start is not None:
        said.append("Waited for no other step")
    if row.first_word is not None and row.start is not None:
        said.append(f"First word after {duration(row.first_word - row.start)}")
    if row.retries:
        said.append(f"Asked again {counted(len(row.retries), 'time')}")
    if row.step in timeline.path:
        said.append("On the critical path")
    return said


def _never_began(row: Row, own: StepState, timeline: Timeline) -> str:
    if row.part == "blocked":
        return f"Never began, because it reads {_steps(own.blocked_by)}"
    if row.part == "left out":
        return "Not part of this run"
    return "Has not begun yet" if timeline.live else "The run ended before its turn"


def _when(row: Row, own: StepState, timeline: Timeline) -> str:
    start = row.start or 0.0
    began = "Began at once" if start < _AT_ONCE else f"Began after {duration(start)}"
    took = duration(_so_far(row, timeline))
    if own.status == "running":
        return f"{began} and has been running for {took}"
    if own.status == "interrupted":
        return f"{began} and was interrupted"
    end = duration(row.end or 0.0)
    ended = {"failed": "failed", "cancelled": "was stopped"}.get(own.status, "ended")
    return f"{began}, {ended} after {end}, took {took}"


def _so_far(row: Row, timeline: Timeline) -> float:
    """Seconds of its call; up to the end of the timeline where it has no end."""
    end = timeline.seconds if row.end is None else row.end
    return max(0.0, end - (row.start or 0.0))


def _steps(steps: tuple[int, ...]) -> str:
    names = ", ".join(str(step + 1) for step in steps)
    return f"step {names}" if len(steps) == 1 else f"steps {names}"
