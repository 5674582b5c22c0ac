"""The state of a run is the fold of its events, and states what is unknown as unknown."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.planner.parsing.parse import parse
from conductor.runs.events import (
    EVENT,
    Event,
    PlanningDelta,
    PlanningFailed,
    PlanningStarted,
    RunFinished,
    RunStarted,
    StepBlocked,
    StepCancelled,
    StepDelta,
    StepFailed,
    StepFinished,
    StepReused,
    StepStarted,
    StepThought,
    WorkflowPlanned,
)
from conductor.runs.state import RunState, advance, fold, joined
from conductor.runs.step_state import StepState
from conductor.values.messages import Request, Usage
from conductor.values.output import Output
from tests.support.cases.property_cases import cases
from tests.support.runs.workflow_cases import workflow_of

USAGE = Usage(prompt_tokens=3, completion_tokens=4)


def stamp(seq: int) -> dict[str, Any]:
    return {"run": "r", "seq": seq, "at": 100.0 + seq}


def started() -> RunStarted:
    return RunStarted(**stamp(0), query="why?", workflow=workflow_of((), (0,)))


def step_start(step: int, *, seq: int) -> StepStarted:
    return StepStarted(
        **stamp(seq),
        step=step,
        worker="alpha",
        worker_kind="simulated",
        fingerprint="f",
        request=Request(messages=()),
    )


def output(text: str = "said", usage: Usage = USAGE) -> Output:
    return Output(
        fingerprint="f",
        text=text,
        worker="alpha",
        worker_kind="simulated",
        usage=usage,
        seconds=9.0,
        run="before",
        step=0,
    )


def ended(step: int, *, seq: int, usage: Usage = USAGE, text: str = "said") -> StepFinished:
    return StepFinished(**stamp(seq), step=step, output=output(text, usage))


def over(*, seq: int, outcome: Any = "finished") -> RunFinished:
    return RunFinished(**stamp(seq), outcome=outcome, answer="said", answer_step=1, warning="late")


def test_a_run_goes_from_waiting_to_finished() -> None:
    events: list[Event] = [started(), step_start(0, seq=1), StepDelta(**stamp(2), step=0, text="sa")]
    state = fold(events)
    assert [step.status for step in state.steps] == ["running", "waiting"]
    assert (state.live, state.seconds, state.steps[0].seconds, state.steps[0].text) == (
        True,
        None,
        None,
        "sa",
    )
    assert not state.steps[0].done
    state = fold([ended(0, seq=3), step_start(1, seq=4), ended(1, seq=6), over(seq=7)], state)
    assert [step.status for step in state.steps] == ["finished", "finished"]
    assert (state.status, state.answer, state.answer_step, state.warning) == ("finished", "said", 1, "late")
    assert (state.live, state.seconds, state.steps[1].seconds) == (False, 7.0, 2.0)
    assert (state.run, state.seq, state.usage.total) == ("r", 7, 14)


def test_a_run_of_reused_steps_costs_nothing() -> None:
    reused = StepReused(**stamp(1), step=0, output=output(), request=Request(messages=()))
    state = fold([started(), reused])
    assert state.steps[0] == StepState(
        status="finished",
        text="said",
        output=output(),
        reused=True,
        worker_kind="simulated",
        request=Request(messages=()),
    )
    assert (state.usage.total, state.steps[0].seconds) == (0, None)


@pytest.mark.parametrize(
    ("ends", "total"),
    [
        ([ended(0, seq=2)], 7),
        ([ended(0, seq=2, usage=Usage())], None),
        ([ended(0, seq=2), step_start(1, seq=3), ended(1, seq=4, usage=Usage(prompt_tokens=1))], None),
        ([StepFailed(**stamp(2), step=0, message="broke", usage=Usage(), seconds=1.0)], None),
        ([StepCancelled(**stamp(2), step=0, usage=Usage(), seconds=1.0)], None),
        ([StepCancelled(**stamp(2), step=0, usage=USAGE, seconds=1.0)], 7),
        ([over(seq=2, outcome="interrupted")], None),
    ],
)
def test_one_unknown_call_makes_the_sum_unknown(ends: list[Event], total: int | None) -> None:
    assert fold([started(), step_start(0, seq=1), *ends]).usage.total == total


def test_a_step_that_ran_when_its_process_died_reads_interrupted() -> None:
    state = fold([started(), step_start(0, seq=1), over(seq=2, outcome="interrupted")])
    assert [step.status for step in state.steps] == ["interrupted", "waiting"]
    assert (state.status, state.live, state.steps[0].seconds) == ("interrupted", False, None)


@pytest.mark.parametrize(("text", "status"), [("said", "finished"), ("", "empty"), (" \n", "empty")])
def test_an_output_of_white_space_is_an_empty_one(text: str, status: str) -> None:
    assert fold([started(), step_start(0, seq=1), ended(0, seq=2, text=text)]).steps[0].status == status


def declined(step: int, *, seq: int) -> StepFinished:
    event = ended(step, seq=seq)
    return event.model_copy(update={"output": event.output.model_copy(update={"finish_reason": "refused"})})


def test_a_step_whose_worker_declines_is_refused_and_its_text_counts() -> None:
    state = fold([started(), step_start(0, seq=1), declined(0, seq=2)])
    assert (state.steps[0].status, state.steps[0].text, state.steps[0].done) == ("refused", "said", True)


@pytest.mark.parametrize(
    ("end", "answered"),
    [
        (over(seq=2), True),
        (over(seq=2).model_copy(update={"answered": False}), False),
        (over(seq=2, outcome="failed"), False),
        (over(seq=2, outcome="cancelled"), False),
    ],
)
def test_a_run_states_whether_it_gave_what_it_was_for(end: RunFinished, *, answered: bool) -> None:
    assert not fold([started(), step_start(0, seq=1)]).answered
    assert fold([started(), step_start(0, seq=1), end]).answered is answered


def test_an_end_that_was_stored_before_answers_were_judged_counts_as_answered() -> None:
    stored = over(seq=2).model_dump(mode="json", exclude={"answered"})
    assert fold([started(), EVENT.validate_python(stored)]).answered


def test_a_failure_keeps_the_text_so_far_and_blocks_its_readers() -> None:
    failed = StepFailed(**stamp(3), step=0, message="broke", usage=Usage(), seconds=2.0)
    blocked = StepBlocked(**stamp(4), step=1, by=(0,))
    state = fold([started(), step_start(0, seq=1), StepDelta(**stamp(2), step=0, text="sa"), failed, blocked])
    assert (state.steps[0].status, state.steps[0].text, state.steps[0].message) == ("failed", "sa", "broke")
    assert (state.steps[1].status, state.steps[1].blocked_by) == ("blocked", (0,))
    assert all(step.done for step in state.steps)


def test_planning_and_running_may_share_one_stream() -> None:
    report = parse("model_id = [0]\nsubtasks = ['do']\naccess_list = [[]]", workers=["alpha"])
    writing = fold(
        [
            PlanningStarted(**stamp(0), query="why?", planner="rules", planner_kind="offline"),
            PlanningDelta(**stamp(1), text="so "),
            PlanningDelta(**stamp(2), text="it is"),
        ]
    )
    assert writing.planning_text == "so it is"
    state = advance(writing, WorkflowPlanned(**stamp(3), report=report, usage=Usage(), seconds=1.0))
    assert (state.query, state.planning_text, state.report, state.workflow) == (
        "why?",
        report.text,
        report,
        None,
    )
    assert advance(state, started()).started_at == 100.0


def test_a_planner_that_gave_nothing_is_remembered() -> None:
    assert fold([PlanningFailed(**stamp(0), message="gone")]).planning_failure == "gone"


@pytest.mark.parametrize("step", [-1, 2, 99])
def test_an_event_for_a_step_that_is_not_there_is_a_fault(step: int) -> None:
    with pytest.raises(ValueError, match=f"event 1 speaks of step {step}"):
        fold([started(), StepDelta(**stamp(1), step=step, text="a")])


def test_a_state_is_not_changed_by_what_follows() -> None:
    before = fold([started()])
    advance(before, step_start(0, seq=1))
    assert before.steps[0].status == "waiting"
    assert fold([]) == RunState()


@given(st.lists(st.tuples(st.sampled_from([StepDelta, StepThought, None]), st.sampled_from([0, 1]))))
@cases(100)
def test_pieces_of_texts_are_joined_up_to_the_next_event_and_fold_to_the_same_state(
    pieces: list[tuple[Any, int]],
) -> None:
    events: list[Event] = [started()]
    for seq, (kind, step) in enumerate(pieces, start=1):
        events.append(
            step_start(step, seq=seq) if kind is None else kind(**stamp(seq), step=step, text=f"{seq} ")
        )
    short = list(joined(events))
    assert reduce(advance, short, RunState()) == reduce(advance, events, RunState())
    assert [event.seq for event in short] == sorted(event.seq for event in short)
    assert all(
        len(short[at : at + 5]) < 5
        or any(not isinstance(event, StepDelta | StepThought) for event in short[at : at + 5])
        for at in range(len(short))
    )


def test_pieces_of_a_long_text_are_one_event() -> None:
    events = [started(), *(StepDelta(**stamp(seq), step=0, text="a") for seq in range(1, 1001))]
    assert [event.seq for event in joined(events)] == [0, 1000]
    assert fold(events).steps[0].text == "a" * 1000
