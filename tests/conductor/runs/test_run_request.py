"""The fold of a request: its attempts and runs, what came of them, and what all their calls used."""

from __future__ import annotations

from conductor.planner.parsing.parse import parse
from conductor.runs.events import (
    BudgetExceeded,
    Event,
    PlanningFailed,
    PlanningStarted,
    PlanRejected,
    RunFinished,
    RunStarted,
    StepCancelled,
    StepFinished,
    StepInner,
    StepStarted,
    WorkflowPlanned,
)
from conductor.runs.request import RequestState
from conductor.values.messages import Request, Usage
from conductor.values.output import Output, WorkerKind
from conductor.workflow.plan_report import PlanReport
from tests.support.runs.workflow_cases import workflow_of

SOME = Usage(prompt_tokens=5, completion_tokens=2, cost=0.25)
UNKNOWN = Usage()


def folded(*events: Event) -> RequestState:
    state = RequestState()
    for event in events:
        state = state.advance(event)
    return state


def planning(id: str, kind: WorkerKind = "model", *, round: int = 1) -> PlanningStarted:
    return PlanningStarted(run=id, seq=0, at=0, query="q", planner="c", planner_kind=kind, round=round)


def run_start(id: str, steps: int = 2, *, round: int = 1) -> RunStarted:
    workflow = workflow_of(*[()] * steps)
    return RunStarted(run=id, seq=0, at=0, query="q", workflow=workflow, round=round)


def started(id: str, at: int, kind: WorkerKind = "model") -> StepStarted:
    return StepStarted(
        run=id,
        seq=0,
        at=0,
        step=at,
        worker="w",
        worker_kind=kind,
        fingerprint="f",
        request=Request(messages=()),
    )


def finished(id: str, at: int, text: str = "x", usage: Usage = UNKNOWN) -> StepFinished:
    output = Output(
        fingerprint="f", text=text, worker="w", worker_kind="model", usage=usage, seconds=0, run=id, step=at
    )
    return StepFinished(run=id, seq=0, at=0, step=at, output=output)


def ended(id: str, answer: str | None = None, step: int | None = None) -> RunFinished:
    outcome = "finished" if answer is not None else "failed"
    return RunFinished(run=id, seq=0, at=0, outcome=outcome, answer=answer, answer_step=step)


def within(events: list[Event], *, step: int = 0) -> list[Event]:
    return [StepInner(run="r", seq=0, at=0, step=step, event=event) for event in events]


def test_each_attempt_begins_a_state_that_goes_on_with_its_run() -> None:
    bad, good = (
        PlanReport(text="no plan"),
        parse("model_id = [0]\nsubtasks = ['do']\naccess_list = [[]]", workers=["w"]),
    )
    state = folded(
        planning("p1"),
        PlanRejected(run="p1", seq=1, at=0, report=bad, usage=SOME, seconds=1),
        planning("p2"),
        WorkflowPlanned(run="p2", seq=1, at=0, report=good, usage=SOME, seconds=1),
        run_start("r1", 1),
        started("r1", 0),
        finished("r1", 0, "said", SOME),
        ended("r1", "said", 0),
        planning("p3", round=2),
    )
    assert [one.run for one in state.attempts] == ["p1", "r1", "p3"]
    assert [run.run for run in state.runs] == ["r1"]
    assert (state.answer, state.planned, state.failure) == ("said", True, None)
    assert state.output is not None
    assert state.output.text == "said"
    assert (state.calls, state.used.lower, state.usage) == (4, SOME + SOME + SOME, UNKNOWN)


def test_an_earlier_rounds_answer_counts_where_a_later_one_has_none() -> None:
    first = [run_start("r1", 1), started("r1", 0), finished("r1", 0, "one"), ended("r1", "one", 0)]
    state = folded(*first, planning("p", round=2), run_start("r2", 1, round=2), ended("r2"))
    assert (state.answer, state.run) == ("one", state.runs[0])
    assert [run.status for run in state.runs] == ["finished", "failed"]


def test_planning_without_room_in_the_budget_is_no_part_of_the_run_before() -> None:
    over = BudgetExceeded(run="p", seq=0, at=0, limit="calls", used=1, allowed=1, refused=True)
    failed = PlanningFailed(run="p", seq=1, at=0, message="no room")
    state = folded(run_start("r", 1), ended("r", "one", None), over, failed)
    assert (state.runs[0].crossing, state.runs[0].planning_failure) == (None, None)
    assert (state.failure, state.over_budget, state.calls) == ("no room", over, 0)


def test_a_call_that_was_stopped_makes_the_sum_unknown_but_not_what_is_known() -> None:
    stopped = StepCancelled(run="r", seq=0, at=0, step=1, usage=Usage(), seconds=1)
    state = folded(run_start("r"), started("r", 0), finished("r", 0, usage=SOME), started("r", 1), stopped)
    assert (state.usage.total, state.usage.cost, state.used.lower, state.calls) == (None, None, SOME, 2)


def test_calls_of_experts_and_rules_take_no_tokens() -> None:
    failed = PlanningFailed(run="p", seq=1, at=0, message="no")
    state = folded(
        planning("p", "offline"),
        failed,
        run_start("r"),
        started("r", 0, "offline"),
        finished("r", 0, "391"),
    )
    assert (state.usage.total, state.calls, state.called_a_model) == (0, 2, False)


def test_what_is_called_inside_of_a_step_is_counted_once() -> None:
    inner: list[Event] = [run_start("i"), started("i", 0), finished("i", 0, usage=SOME)]
    inner += [started("i", 1), finished("i", 1, usage=SOME)]
    state = folded(run_start("r"), started("r", 0), *within(inner), finished("r", 0, usage=SOME + SOME))
    assert (state.usage, state.calls) == (SOME + SOME, 2)


def test_plannings_at_the_same_time_inside_of_steps_are_all_counted() -> None:
    report = PlanReport(text="no plan")
    events: list[Event] = [run_start("r")]
    events += [event for at, id in enumerate("pq") for event in within([planning(id)], step=at)]
    ends = [PlanRejected(run=id, seq=1, at=0, report=report, usage=SOME, seconds=1) for id in "pq"]
    (first,), (second,) = (within([end], step=at) for at, end in enumerate(ends))
    assert folded(*events, first).usage == UNKNOWN
    state = folded(*events, first, second)
    assert (state.usage, state.calls) == (SOME + SOME, 2)
