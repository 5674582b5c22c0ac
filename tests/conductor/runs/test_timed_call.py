"""When each request and each call of a tool of a step began and ended."""

from __future__ import annotations

import pytest

from conductor.runs.events import Event, StepFailed, StepFellBack, StepRetried
from conductor.runs.replay import Recording, as_of
from conductor.runs.state import fold
from conductor.runs.timed_call import TimedCall
from conductor.runs.timeline import timeline_of
from tests.support.runs.nested_run import Teller
from tests.support.runs.tool_cases import tool_events


def times(calls: tuple[TimedCall, ...]) -> list[tuple[str, float, float | None, int, bool]]:
    return [(call.name, call.started_at, call.ended_at, call.lane, call.failed) for call in calls]


ANSWERED = [
    ("alpha", 0, 1, 0, False),
    ("files:read", 1, 1.5, 0, False),
    ("files:write", 1, 2.5, 1, True),
]


def test_requests_and_calls_of_tools_follow_one_another_and_those_of_one_answer_run_at_once() -> None:
    timeline = timeline_of(fold(tool_events("write")), now=0)
    assert times(timeline.rows[0].calls) == [*ANSWERED, ("alpha", 4, 6, 0, False)]
    assert timeline.rows[0].lanes == 2


def test_a_call_without_a_result_ends_with_its_step_and_is_named() -> None:
    state = fold(tool_events("write", end="cancelled"))
    row = timeline_of(state, now=0).rows[0]
    assert times(row.calls)[3:] == [("alpha", 4, 5, 0, False), ("files:read", 5, 6, 0, False)]
    assert [call.name for call in state.steps[0].unanswered] == ["files:read"]
    assert row.calls[-1].line(6).endswith("1.0 s, no result")


def test_while_tools_are_called_their_calls_have_no_end() -> None:
    state = fold(tool_events("write")[:3])
    row = timeline_of(state, now=1_003).rows[0]
    assert times(row.calls)[1:] == [("files:read", 1, None, 0, False), ("files:write", 1, None, 1, False)]
    assert row.calls[1].line(3) == 'files:read {"path": "write"}, 2.0 s, under way'


def test_a_replay_has_the_calls_of_its_moment_as_if_it_were_now() -> None:
    recording = Recording.of(tool_events("write"))
    step = as_of(recording.at(2), moment=recording.began + 2, now=5_000).steps[0]
    assert [call.started_at for call in step.unanswered] == [4_999, 4_999]
    assert not recording.at(6).steps[0].unanswered


def test_a_step_without_tools_has_no_calls_below_its_bar() -> None:
    teller = Teller("r")
    state = fold([tool_events()[0], teller.started(0, "alpha"), teller.finished(0, "alpha", "so")])
    assert len(state.steps[0].timed_calls) == 1
    assert timeline_of(state, now=0).rows[0].lanes == 0


def retried(teller: Teller, **more: bool) -> Event:
    event: Event = teller.tell(StepRetried, step=0, attempt=1, message="503", seconds=0.5, **more)
    return event


@pytest.mark.parametrize(
    ("kind", "names", "failed"),
    [
        ("again", ["alpha", "alpha"], [True, True]),
        ("no more", ["alpha"], [True]),
        ("fallback", ["alpha", "beta"], [True, True]),
    ],
)
def test_a_request_that_failed_is_marked(kind: str, names: list[str], failed: list[bool]) -> None:
    teller = Teller("r")
    events = [tool_events()[0], teller.started(0, "alpha")]
    if kind == "fallback":
        events.append(teller.tell(StepFellBack, step=0, worker="beta", worker_kind="model", message="503"))
    else:
        events.append(retried(teller, again=kind == "again"))
    events.append(teller.tell(StepFailed, step=0, message="no", seconds=1))
    calls = fold(events).steps[0].timed_calls
    assert [call.name for call in calls] == names
    assert [call.failed for call in calls] == failed
    assert all(call.ended_at is not None and call.ended_at >= call.started_at for call in calls)
