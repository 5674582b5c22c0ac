"""What a replay of a report shows: at its end the run as it ended, before that what had happened by then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conductor.report.page import Frame, frames_of
from conductor.runs.events import Event, RunFinished, StepDelta
from conductor.runs.replay import Recording
from conductor.runs.state import fold
from tests.support.runs.nested_run import events as nested_events
from tests.support.runs.timed_run import timed_events, timed_workflow
from tests.support.runs.tool_cases import tool_events

States = list[tuple[str, int, str]]


def at(frames: Sequence[Frame], moment: float, *, steps: int) -> States:
    """Each step's state, retries and text, put together as the page does it."""
    states: States = [("waiting", 0, "")] * steps
    for frame in frames:
        if frame.at <= moment:
            before = states[frame.step][2] if frame.grows else ""
            states[frame.step] = (frame.status, frame.retries, before + frame.text)
    return states


RUNS: dict[str, list[Event]] = {
    "side by side": timed_events(timed_workflow((), (), (0, 1)), [1.0, 2.0, 0.5]),
    "failed": timed_events(timed_workflow((), (0,)), [1.0, 1.0], fail=[0]),
    "stopped": timed_events(timed_workflow((), (0,)), [1.0, 5.0], stop_after=2.0),
    "nested, with retries": list(nested_events()),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_replay_is_the_run_as_it_was_at_any_moment_and_as_it_ended(name: str) -> None:
    events, recording = RUNS[name], Recording.of(RUNS[name])
    frames = frames_of(events, seconds=recording.seconds)
    steps = len(fold(events).steps)
    for moment in (recording.seconds / 3, recording.seconds / 2, recording.seconds):
        state = recording.at(moment)
        # Text is put together for a while too short to be seen.
        states = at(frames, moment, steps=steps)
        assert [(status, retries) for status, retries, _ in states] == [
            (step.status, len(step.retries)) for step in state.steps
        ]
    assert [text for _, _, text in states] == [step.text for step in fold(events).steps]


def test_a_text_that_streams_quickly_has_a_bounded_number_of_frames() -> None:
    events = timed_events(timed_workflow(()), [1.0])
    start, *_, finish, end = events
    begins = events.index(next(event for event in events if event.type == "step_started"))
    pieces = [
        StepDelta(run=start.run, seq=0, at=start.at + piece / 10_000, step=0, text="a ")
        for piece in range(9_000)
    ]
    frames = frames_of([*events[: begins + 1], *pieces, finish, end], seconds=1.0)
    assert 100 < len(frames) < 620
    assert at(frames, 0.9, steps=1) == [("running", 0, "a " * 9_000)]


def test_an_interruption_that_was_noticed_late_is_at_the_end_of_the_replay() -> None:
    first, *_ = events = timed_events(timed_workflow(()), [1.0])
    late = RunFinished(
        run=first.run, seq=99, at=first.at + 9_999, outcome="interrupted", answer=None, answer_step=None
    )
    started = [event for event in events if event.type in ("run_started", "step_started")]
    frames = frames_of([*started, late], seconds=1.0)
    assert [(frame.at, frame.status) for frame in frames] == [(0.0, "running"), (1.0, "interrupted")]


def test_calls_of_tools_that_are_under_way_are_named_until_they_are_answered() -> None:
    frames = frames_of(tool_events("a.txt"), seconds=6.0)
    assert [(frame.at, frame.doing) for frame in frames if frame.at in (1, 4)] == [
        (1, 'files:read {"path": "a.txt"}, files:a.txt a.txt'),
        (4, ""),
    ]
