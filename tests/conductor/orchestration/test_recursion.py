"""A step given to the Conductor is a workflow of its own, counted, shown and limited in depth."""

from __future__ import annotations

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.orchestration.runtime import with_conductor
from conductor.runs.events import StepInner
from conductor.runs.state import RunState, fold
from conductor.values.budget import Budget
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from tests.support.runs.conductor_cases import BROKEN, ScriptedConductor, plan_text
from tests.support.runs.worker_cases import Declining, played

INSIDE = plan_text((0, "half one", "[]"), (0, "half two", "[0]"))
OUTER = Workflow.of([Step(instruction="the hard part", worker="conductor")])


async def run(conductor: ScriptedConductor, budget: Budget | None = None) -> tuple[RunState, Meter]:
    meter = Meter(budget or Budget())
    plain = Pool(workers=(SimulatedWorker(name="a", answer="said so"),))
    pool = with_conductor(plain, conductor, settings=Settings(), meter=meter)
    going = WorkflowRun(BoundWorkflow.of(OUTER, query="why?", pool=pool), pool, run="outer", meter=meter)
    return fold([event async for event in going.events()]), meter


async def test_a_nested_workflow_answers_its_step() -> None:
    state, meter = await run(ScriptedConductor([INSIDE]))
    step = state.steps[0]
    assert (state.answer, step.status) == ("said so", "finished")
    [inner] = step.inner
    assert inner.workflow is not None
    assert [done.text for done in inner.steps] == ["said so", "said so"]
    assert inner.steps[1].request is not None
    assert "the hard part" in inner.query
    # One plan and two steps; the outer step itself is no call.
    assert (meter.calls, state.calls) == (3, 3)


async def test_a_step_whose_workflow_inside_has_no_answer_has_none() -> None:
    pool = with_conductor(
        Pool(workers=(Declining("a"),)),
        ScriptedConductor([INSIDE]),
        settings=Settings(),
        meter=Meter(Budget()),
    )
    state = await played(OUTER, pool)
    assert [inner.answered for inner in state.steps[0].inner] == [False]
    assert (state.steps[0].status, state.answered) == ("refused", False)


async def test_what_is_spent_inside_is_the_steps_usage_and_counted_once() -> None:
    state, _ = await run(ScriptedConductor([INSIDE]))
    inner = state.steps[0].inner[0]
    assert state.steps[0].used == inner.used == state.used
    assert {charge.purpose for charge in inner.charges} == {"plan", "step"}
    assert inner.used.tokens


async def test_a_budget_holds_for_the_whole_tree() -> None:
    state, meter = await run(ScriptedConductor([INSIDE]), Budget(calls=2))
    assert (state.status, meter.calls) == ("over_budget", 2)
    assert state.crossing is not None
    assert state.crossing.limit == "calls"
    assert state.steps[0].inner[0].steps[0].status == "finished"


async def test_no_plan_inside_fails_the_step_with_its_reasons() -> None:
    state, _ = await run(ScriptedConductor([BROKEN]))
    assert state.steps[0].status == "failed"
    assert "worker 9" in (state.steps[0].message or "")
    assert len(state.steps[0].inner) == Settings().attempts


async def test_depth_ends_where_the_pool_has_no_conductor() -> None:
    deeper = plan_text((1, "go deeper", "[]"))
    conductor = ScriptedConductor([deeper])
    state, _ = await run(conductor)
    offered = [[card.name for card in request.workers] for request in conductor.requests]
    assert offered[:2] == [["a", "conductor"], ["a"]]
    assert state.status == "failed"


async def test_nested_events_are_events_of_the_outer_run() -> None:
    meter = Meter(Budget())
    plain = Pool(workers=(SimulatedWorker(name="a", answer="said so"),))
    pool = with_conductor(plain, ScriptedConductor([INSIDE]), settings=Settings(), meter=meter)
    going = WorkflowRun(BoundWorkflow.of(OUTER, query="why?", pool=pool), pool, run="outer", meter=meter)
    events = [event async for event in going.events()]
    assert [event.seq for event in events] == list(range(len(events)))
    inner = [event.event for event in events if isinstance(event, StepInner)]
    assert [event.type for event in inner][:3] == ["planning_started", "workflow_planned", "run_started"]
    assert {event.run for event in events} == {"outer"}
