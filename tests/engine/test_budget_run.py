"""A run that crosses its budget stops, keeps what it has, and says which limit it was."""

from __future__ import annotations

import pytest
from workflow_cases import workflow_of

from conductor.budget import Budget
from conductor.engine.assignment import Assignment
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.events import BudgetExceeded, Event, RunFinished
from conductor.messages import Usage
from conductor.run_state import RunState, fold
from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow import Workflow

FAST = SimulatedWorker(name="alpha", answer="one two three")
SLOW = SimulatedWorker(name="slow", latency=60)


async def run(workflow: Workflow, budget: Budget, *workers: SimulatedWorker) -> tuple[RunState, list[Event]]:
    pool = Pool(workers=workers or (FAST,))
    meter = Meter(budget)
    going = WorkflowRun(Assignment.of(workflow, query="why?", pool=pool), pool, run="r", meter=meter)
    events = [event async for event in going.events()]
    return fold(events), events


@pytest.mark.parametrize(
    ("budget", "limit", "done"),
    [(Budget(calls=2), "calls", 2), (Budget(tokens=10), "tokens", 1)],
)
async def test_a_crossed_limit_keeps_what_is_finished_and_calls_nobody_else(
    budget: Budget, limit: str, done: int
) -> None:
    state, events = await run(workflow_of((), (0,), (1,), (2,)), budget)
    assert state.status == "over_budget"
    assert [step.status for step in state.steps] == ["finished"] * done + ["waiting"] * (4 - done)
    assert state.crossing is not None
    assert (state.crossing.limit, state.answer) == (limit, None)
    assert sum(isinstance(event, BudgetExceeded) for event in events) == 1
    assert state.budget == budget


async def test_running_steps_are_stopped_when_another_crosses_the_limit() -> None:
    workflow = workflow_of((), (), (0, 1)).with_worker(0, "slow")
    state, _ = await run(workflow, Budget(tokens=1), FAST, SLOW)
    assert [step.status for step in state.steps] == ["cancelled", "finished", "waiting"]
    assert state.status == "over_budget"


async def test_the_clock_alone_stops_a_run() -> None:
    state, events = await run(workflow_of((), worker="slow"), Budget(seconds=0.01), SLOW)
    assert (state.status, state.steps[0].status) == ("over_budget", "cancelled")
    assert state.crossing is not None
    assert state.crossing.limit == "seconds"
    assert isinstance(events[-1], RunFinished)


async def test_an_answer_that_crosses_the_limit_at_the_end_is_an_answer() -> None:
    state, _ = await run(workflow_of(()), Budget(tokens=1))
    assert (state.status, state.answer) == ("finished", "one two three")
    assert state.crossing is not None


async def test_reused_steps_cost_nothing() -> None:
    workflow = workflow_of((), (0,))
    pool = Pool(workers=(FAST,))
    first = WorkflowRun(Assignment.of(workflow, query="why?", pool=pool), pool, run="a")
    finished = fold([event async for event in first.events()])
    known = {step.output.fingerprint: step.output for step in finished.steps if step.output}
    meter = Meter(Budget(calls=1, tokens=1))
    again = WorkflowRun(
        Assignment.of(workflow, query="why?", pool=pool), pool, run="b", outputs=known, meter=meter
    )
    state = fold([event async for event in again.events()])
    assert (state.status, meter.calls, state.crossing) == ("finished", 0, None)


async def test_a_budget_that_planning_has_used_up_is_said_to_be_the_reason() -> None:
    pool = Pool(workers=(FAST,))
    meter = Meter(Budget(tokens=10))
    meter.add(Usage(prompt_tokens=11, completion_tokens=0))
    assignment = Assignment.of(workflow_of(()), query="why?", pool=pool)
    state = fold([event async for event in WorkflowRun(assignment, pool, run="r", meter=meter).events()])
    assert (state.status, state.steps[0].status) == ("over_budget", "waiting")
    assert state.crossing is not None
    assert (state.crossing.limit, state.crossing.used) == ("tokens", 11)
