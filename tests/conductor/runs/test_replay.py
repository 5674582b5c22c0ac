"""A recording has the state at any second of a run, and a replay the second it has come to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.runs import replay
from conductor.runs.events import Event, RunFinished, RunStarted, StepDelta, StepStarted
from conductor.runs.replay import SPEEDS, Recording, Replay, as_of, first_speed, speeds_for
from conductor.runs.state import RunState, fold
from tests.support.runs import nested_run
from tests.support.runs.timed_run import timed_events, timed_workflow

DIAMOND = timed_workflow((), (0,), (0,), (1, 2))
NESTED = nested_run.events()


def long_run(count: int) -> list[Event]:
    """A run of one step that writes `count` words, a hundredth of a second apart, and never ends."""
    opening = [event for event in timed_events(timed_workflow(()), [1]) if event.seq < 2]
    assert [type(event) for event in opening] == [RunStarted, StepStarted]
    words = [StepDelta(run="r", seq=2 + i, at=i / 100, step=0, text=f"w{i} ") for i in range(count)]
    return [*opening, *words]


def test_at_the_end_the_state_is_that_of_the_whole_run():
    recording = Recording.of(NESTED)
    assert recording.at(recording.seconds) == fold(NESTED)
    assert recording.at(recording.seconds + 1_000) == fold(NESTED)


def test_before_the_first_event_there_is_nothing():
    assert Recording.of(NESTED).at(-1) == RunState()
    assert Recording.of(()).at(5) == RunState()
    assert Recording.of(()).seconds == 0


@given(st.floats(-1, 12))
def test_every_moment_is_the_fold_of_the_events_up_to_then(seconds):
    recording = Recording.of(NESTED)
    passed = [event for event in NESTED if event.at - NESTED[0].at <= seconds]
    assert recording.at(seconds) == fold(passed)


@pytest.mark.slow
@given(st.integers(0, 500), st.floats(0, 1))
def test_states_kept_in_between_change_nothing(count, share):
    events = long_run(count)
    recording = Recording.of(events)
    seconds = recording.seconds * share
    assert recording.at(seconds) == fold(event for event in events if event.at <= seconds)


@pytest.mark.slow
def test_a_moment_of_a_long_run_costs_the_fold_of_few_events(monkeypatch):
    recording = Recording.of(long_run(10_000))
    folded: list[int] = []
    advance = replay.advance
    monkeypatch.setattr(replay, "advance", lambda state, event: folded.append(1) or advance(state, event))
    for seconds in (0.0, 33.3, 50.0, 77.7, 99.98):
        recording.at(seconds)
    assert len(folded) <= 5 * 200


def test_a_step_inside_a_step_is_replayed_with_it():
    recording = Recording.of(NESTED)
    inside = [len(recording.at(at / 10).steps[1].inner) for at in range(int(recording.seconds * 10))]
    assert inside == sorted(inside)
    assert set(inside) == {0, 1, 2}


def test_until_the_end_a_run_reads_as_running():
    recording = Recording.of(timed_events(DIAMOND, [1, 2, 3, 1]))
    assert recording.seconds == 5
    assert [step.status for step in recording.at(2).steps] == ["finished", "running", "running", "waiting"]
    assert recording.at(4.999).status == "running"
    assert recording.at(5).status == "finished"


def test_the_time_until_an_interrupted_run_was_found_is_not_replayed():
    events = [event for event in timed_events(DIAMOND, [1, 2, 3, 1]) if event.at < 4]
    end = RunFinished(run="r", seq=99, at=90_000.0, outcome="interrupted", answer=None, answer_step=None)
    recording = Recording.of([*events, end])
    assert recording.seconds == 3
    assert recording.at(2.5).status == "running"
    assert recording.at(3).status == "interrupted"


def test_a_stream_that_lost_an_event_is_replayed_as_far_as_it_can_be_folded():
    lost = [event for event in NESTED if not isinstance(event, RunStarted)]
    assert Recording.of(lost).at(1.0) == RunState()
    stray = StepDelta(run="run", seq=99, at=NESTED[5].at, step=7, text="who?")
    broken = Recording.of([*NESTED[:5], stray, *NESTED[5:]])
    assert broken.at(99) == fold(NESTED[:5])


def test_a_clock_that_was_set_back_loses_no_event():
    events = [
        event.model_copy(update={"at": 1_000.0 - event.seq if event.seq == 5 else event.at})
        for event in NESTED
    ]
    recording = Recording.of(events)
    assert recording.at(recording.seconds) == fold(events)


REPLAY = Replay(run="r", revision="v", seconds=5.0)


@pytest.mark.parametrize(
    ("stands", "now", "at"),
    [
        (replace(REPLAY, position=1.2), 99.0, 1.2),
        (replace(REPLAY, position=1.0, playing_since=10.0), 12.0, 3.0),
        (replace(REPLAY, position=1.0, playing_since=10.0, speed=2.0), 11.5, 4.0),
        (replace(REPLAY, position=1.0, playing_since=10.0, speed=0.1), 20.0, 2.0),
        (replace(REPLAY, position=1.0, playing_since=10.0, speed=50.0), 11.0, 5.0),
        (replace(REPLAY, position=1.0, playing_since=10.0), 9.0, 1.0),
    ],
    ids=["stands still", "own pace", "twice", "slowly", "not past the end", "never backwards"],
)
def test_a_replay_goes_on_by_the_clock_at_its_speed(stands, now, at):
    assert stands.at(now) == pytest.approx(at)
    assert stands.over(now) == (at == 5.0)


def test_short_runs_may_be_slowed_down_and_begin_at_a_pace_that_can_be_followed():
    assert speeds_for(60) == SPEEDS
    assert speeds_for(1.0) == (0.1, *SPEEDS)
    assert speeds_for(0.05) == (0.01, 0.1, *SPEEDS)
    assert [first_speed(seconds) for seconds in (60, 2, 1.0, 0.2, 0.05, 0.001, 0.0)] == [
        1, 1, 0.1, 0.1, 0.01, 0.01, 0.01,
    ]  # fmt: skip


def test_a_state_moved_to_now_moves_all_times_and_nothing_else():
    state = fold(NESTED[:20])
    moved = as_of(state, moment=1_000.0, now=6_000.0)
    assert moved.started_at == state.started_at + 5_000
    step, before = moved.steps[0], state.steps[0]
    assert step.seconds == pytest.approx(before.seconds)
    assert step.retries[0].at == before.retries[0].at + 5_000
    inner, inner_before = moved.steps[1].inner[-1], state.steps[1].inner[-1]
    assert inner.started_at == inner_before.started_at + 5_000


def test_a_state_moved_to_now_and_back_is_the_same():
    state = Recording.of(timed_events(DIAMOND, [1, 2, 3, 1])).at(2)
    moved = as_of(state, moment=2.0, now=6_000.0)
    assert moved != state
    assert as_of(moved, moment=6_000.0, now=2.0) == state
