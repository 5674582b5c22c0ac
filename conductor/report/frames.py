"""The frames of a report's replay: states and texts of its steps by time. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from conductor.runs.events import Event
from conductor.runs.state import RunState, advance
from conductor.runs.step_state import StepState, StepStatus
from conductor.text.formatting import named

_FINEST = 600
"""A step's text grows at most so often in a replay: more cannot be seen, and would be in the file."""


class Frame(NamedTuple):
    """A step (from 0) `at` seconds into its run. `retries` counts the tries that failed before, `doing` are
    the calls of tools that it waits for.

    `text` is added to the step's text so far where `grows`, else it is all of it.
    """

    at: float
    step: int
    status: StepStatus
    retries: int
    grows: bool
    text: str
    doing: str


def frames_of(events: Iterable[Event], *, seconds: float) -> tuple[Frame, ...]:
    """The frames of a run of so many `seconds`, in order, as far as its events can be folded."""
    frames: list[Frame] = []
    state, latest = RunState(), 0.0
    # Each step as it was, and the place of its newest frame.
    before: dict[int, tuple[StepState, int]] = {}
    for event in events:
        try:
            state = advance(state, event)
        except ValueError:
            break
        # A clock that was set back does not undo what had happened; an interruption is noticed long after it.
        if state.started_at is not None:
            latest = min(seconds, max(latest, event.at - state.started_at))
        for step, own in enumerate(state.steps):
            old, place = before.get(step, (StepState(), -1))
            if own is old or _seen(own) == _seen(old):
                continue
            grows = own.text.startswith(old.text)
            frame = Frame(
                round(latest, 4),
                step,
                own.status,
                len(own.retries),
                grows,
                own.text.removeprefix(old.text) if grows else own.text,
                _doing(own),
            )
            if place >= 0 and grows and _is_soon(frames[place], frame, seconds / _FINEST):
                frames[place] = frames[place]._replace(text=frames[place].text + frame.text)
            else:
                place = len(frames)
                frames.append(frame)
            before[step] = own, place
    return tuple(frames)


def _seen(step: StepState) -> tuple[StepStatus, int, str, str]:
    return step.status, len(step.retries), step.text, _doing(step)


def _doing(step: StepState) -> str:
    return "" if step.done else named([call.tool.line for call in step.unanswered if call.tool], cut=120)


def _is_soon(last: Frame, frame: Frame, gap: float) -> bool:
    """Whether nothing but a little text came since the step's last frame."""
    same = (last.status, last.retries, last.doing) == (frame.status, frame.retries, frame.doing)
    return same and frame.at - last.at < gap
