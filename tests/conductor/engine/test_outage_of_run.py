"""Which outage left a run without an answer, and when a step's own fault did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conductor.engine.meter import Meter
from conductor.errors import WorkerError
from conductor.orchestration.runtime import with_conductor
from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import plan
from conductor.runs.events import EVENT, PlanningFailed, StepFailed
from conductor.values.budget import Budget
from conductor.values.presets import Settings
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Worker
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text
from tests.support.runs.worker_cases import Raising, card_of, played
from tests.support.runs.workflow_cases import workflow_of

DOWN, WRONG, LATE = WorkerError("It is down.", outage="503"), WorkerError("Too long."), TimeoutError()
WORKERS: dict[str, Worker] = {
    "ok": SimulatedWorker("ok", answer="blue"),
    "down": Raising(DOWN, name="down", pieces=()),
    "wrong": Raising(WRONG, name="wrong", pieces=()),
    "small": Raising(WRONG, name="small", pieces=()),
    "late": Raising(LATE, name="late", pieces=()),
}
POOL = Pool(workers=tuple(WORKERS.values()))


def done_by(*steps: tuple[str, tuple[int, ...]]) -> Workflow:
    return Workflow.of(
        Step(instruction=f"task {at}", worker=worker, access=access)
        for at, (worker, access) in enumerate(steps, start=1)
    )


@pytest.mark.parametrize(
    ("workflow", "status", "outage"),
    [
        (done_by(("down", ())), "failed", "503"),
        (done_by(("late", ())), "failed", "timed out"),
        (done_by(("wrong", ())), "failed", None),
        # The step that the answer reads is lost, or only one that nothing reads.
        (done_by(("down", ()), ("ok", (0,))), "failed", "503"),
        (done_by(("down", ()), ("ok", (0,)), ("ok", (1,))), "failed", "503"),
        (done_by(("down", ()), ("ok", ())), "finished", None),
        # A fault that would have left no answer without the outage, too.
        (done_by(("down", ()), ("wrong", ()), ("ok", (0, 1))), "failed", None),
        (done_by(("down", ()), ("wrong", ()), ("ok", (0,))), "failed", "503"),
        (done_by(("down", ()), ("ok", ())).with_on_failure(0, OnFailure(output="-")), "finished", None),
        (done_by(("down", ())).with_on_failure(0, OnFailure(fallback="ok")), "finished", None),
        (done_by(("down", ())).with_on_failure(0, OnFailure(fallback="wrong")), "failed", "503"),
        (done_by(("wrong", ())).with_on_failure(0, OnFailure(fallback="down")), "failed", "503"),
        (done_by(("late", ())).with_on_failure(0, OnFailure(retries=1, pause=0)), "failed", "timed out"),
    ],
)
async def test_a_run_without_an_answer_has_an_outage_where_nothing_else_is_to_blame(
    workflow: Workflow, status: str, outage: str | None
) -> None:
    state = await played(workflow, POOL)
    assert (state.status, state.outage) == (status, outage)


@pytest.mark.parametrize(
    ("first", "second", "outage"),
    [("down", "wrong", "503"), ("wrong", "down", "503"), ("wrong", "small", None)],
)
async def test_a_worker_with_a_fallback_has_the_outage_of_either(
    first: str, second: str, outage: str | None
) -> None:
    worker = FallbackWorker(WORKERS[first], WORKERS[second])
    state = await played(workflow_of((), worker=first), Pool(workers=(worker, WORKERS[second])))
    assert (state.status, state.outage) == ("failed", outage)


@pytest.mark.parametrize(("worker", "outage"), [("down", "503"), ("wrong", None)])
async def test_the_outage_inside_a_step_is_the_steps(worker: str, outage: str | None) -> None:
    inside = ScriptedConductor([plan_text((0, "half one", "[]"), (0, "half two", "[0]"))])
    pool = with_conductor(
        Pool(workers=(WORKERS[worker],)), inside, settings=Settings(), meter=Meter(Budget())
    )
    state = await played(workflow_of((), worker="conductor"), pool)
    assert (state.status, state.outage) == ("failed", outage)


class FailingConductor(ScriptedConductor):
    """Raises in the place of a plan."""

    def __init__(self, error: Exception) -> None:
        super().__init__(["none"])
        self.error = error

    async def stream(self, request: PlanRequest):  # type: ignore[no-untyped-def]
        async for item in super().stream(request):
            raise self.error
            yield item


@pytest.mark.parametrize(("error", "outage"), [(DOWN, "503"), (LATE, "timed out"), (WRONG, None)])
async def test_a_conductor_that_is_not_reached_leaves_no_plan_by_an_outage(
    error: Exception, outage: str | None
) -> None:
    request = PlanRequest(query="why?", workers=(card_of("ok"),))
    events = [event async for event in plan(request, conductor=FailingConductor(error), run="p")]
    failed = events[-1]
    assert isinstance(failed, PlanningFailed)
    assert failed.outage == outage


async def test_an_event_without_an_outage_is_written_as_before() -> None:
    state = await played(done_by(("down", ())), POOL)
    assert state.steps[0].outage == "503"
    failed = StepFailed(run="r", seq=0, at=0.0, step=0, message="m", usage=state.usage, seconds=1.0)
    assert "outage" not in failed.model_dump_json()
    named = failed.model_copy(update={"outage": "503"})
    assert EVENT.validate_json(named.model_dump_json()) == named
    assert replace(state.steps[0], outage=None).message == "It is down."
