"""A run that is cancelled ends as cancelled at once, whatever it was doing and whatever ends it as well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.errors import WorkerError
from conductor.runs.events import BudgetExceeded, Event, RunStarted, StepFinished, StepRetried, StepStarted
from conductor.runs.state import RunState, fold
from conductor.values.budget import Budget
from conductor.values.messages import Completion, Delta, Request
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Worker
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.simulated_time import in_simulated_time, now
from tests.support.runs.worker_cases import Gated, Named, Raising, Stubborn
from tests.support.runs.workflow_cases import workflow_of

OPEN = Budget()
ONE = workflow_of(())
TWO = workflow_of((), ())
CHAIN = workflow_of((), (0,), (1,))
ENDLESS = SimulatedWorker(name="alpha", latency=3600)


@dataclass
class Crashing(Named):
    """Raises an error of its own where it is cancelled."""

    name: str = "alpha"

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        yield Delta("so")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise RuntimeError("not now") from None
        yield Completion(text="so")


@dataclass
class Failing(Named):
    """Fails at its first call, and does not end another one."""

    name: str = "alpha"
    calls: int = 0

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        self.calls += 1
        if self.calls == 1:
            await asyncio.sleep(1)
            raise WorkerError("alpha is away.")
        await asyncio.Event().wait()
        yield Completion(text="")


def run_by(worker: Worker, workflow: Workflow, budget: Budget) -> tuple[WorkflowRun, Meter]:
    """A run, and the meter that is its own; made in the loop."""
    pool, meter = Pool(workers=(worker,)), Meter(budget, clock=now)
    bound = BoundWorkflow.of(workflow, query="why?", pool=pool)
    return WorkflowRun(bound, pool, run="r", meter=meter), meter


async def cancelled_at(run: WorkflowRun, kind: type[Event], number: int = 1) -> list[Event]:
    """The events of a run that is cancelled as soon as the `number`-th event of a kind is read."""
    seen: list[Event] = []
    async for event in run.events():
        seen.append(event)
        if isinstance(event, kind) and sum(isinstance(each, kind) for each in seen) == number:
            run.cancel()
    return seen


def cancelled_after(seconds: float, worker: Worker, workflow: Workflow, budget: Budget = OPEN) -> list[Event]:
    """The events of a run that is cancelled after so long, in simulated time."""

    async def events() -> list[Event]:
        run, _ = run_by(worker, workflow, budget)
        asyncio.get_running_loop().call_later(seconds, run.cancel)
        seen = [event async for event in run.events()]
        if isinstance(worker, Stubborn):
            worker.release.set()
            await asyncio.sleep(0)
        return seen

    return in_simulated_time(events())


def ended(events: list[Event]) -> tuple[str, list[str]]:
    state: RunState = fold(events)
    return state.status, [step.status for step in state.steps]


@pytest.mark.parametrize("number", [1, 2])
def test_a_step_that_has_not_had_its_first_turn_is_cancelled_at_once_and_gives_its_room_back(
    number: int,
) -> None:
    async def cancelled() -> None:
        worker = Gated()
        run, meter = run_by(worker, TWO, Budget(tokens=10_000))
        assert ended(await cancelled_at(run, StepStarted, number)) == ("cancelled", ["cancelled"] * 2)
        assert (worker.instructions, meter.used.tokens, now()) == ([], 0, 0)

    in_simulated_time(cancelled())


def test_the_room_of_such_a_step_is_given_back_where_the_reader_of_the_run_leaves() -> None:
    async def left() -> None:
        run, meter = run_by(Gated(), ONE, Budget(tokens=10_000))
        events = run.events()
        assert [type(await anext(events)) for _ in range(2)] == [RunStarted, StepStarted]
        assert meter.used.tokens
        await events.aclose()
        assert not meter.used.tokens

    in_simulated_time(left())


@pytest.mark.parametrize(
    ("happening", "number", "ends"),
    [
        (StepStarted, 1, ("cancelled", ["cancelled", "waiting", "waiting"])),
        (StepFinished, 1, ("cancelled", ["finished", "cancelled", "waiting"])),
        (StepStarted, 2, ("cancelled", ["finished", "cancelled", "waiting"])),
        # The answer was there before.
        (StepFinished, 3, ("finished", ["finished"] * 3)),
    ],
)
def test_between_two_steps_it_is_cancelled_and_after_the_last_one_it_is_not(
    happening: type[Event], number: int, ends: tuple[str, list[str]]
) -> None:
    async def cancelled() -> list[Event]:
        run, _ = run_by(SimulatedWorker(name="alpha", latency=1), CHAIN, OPEN)
        return await cancelled_at(run, happening, number)

    assert ended(in_simulated_time(cancelled())) == ends


def test_the_pause_before_another_call_is_cut_short() -> None:
    rule = OnFailure(retries=2, pause=600, output="Never mind.")
    workflow = Workflow.of([ONE.steps[0].model_copy(update={"on_failure": rule})])

    async def cancelled() -> None:
        run, _ = run_by(Raising(WorkerError("alpha is away.")), workflow, OPEN)
        assert ended(await cancelled_at(run, StepRetried)) == ("cancelled", ["cancelled"])
        assert now() < 1

    in_simulated_time(cancelled())


# -- beside another end ------------------------------------------------------------------------------


def test_a_limit_of_time_that_is_crossed_while_it_is_stopped_does_not_count() -> None:
    events = cancelled_after(0.8, Stubborn(), ONE, Budget(seconds=1))
    assert ended(events) == ("cancelled", ["cancelled"])
    assert not [event for event in events if isinstance(event, BudgetExceeded)]


def test_what_was_stopped_at_its_limit_before_stays_over_its_budget() -> None:
    events = cancelled_after(1.2, Stubborn(), ONE, Budget(seconds=1))
    assert ended(events) == ("over_budget", ["cancelled"])


@pytest.mark.parametrize(("seconds", "status"), [(0.999, "cancelled"), (1.001, "over_budget")])
def test_the_first_of_both_counts(seconds: float, status: str) -> None:
    assert ended(cancelled_after(seconds, ENDLESS, ONE, Budget(seconds=1))) == (status, ["cancelled"])


def test_a_call_that_the_budget_refuses_stops_nothing_so_a_run_can_be_cancelled_behind_it() -> None:
    events = cancelled_after(5, ENDLESS, TWO, Budget(calls=1))
    assert ended(events) == ("cancelled", ["cancelled", "waiting"])
    assert sum(isinstance(event, BudgetExceeded) for event in events) == 1


def test_a_worker_that_breaks_as_it_is_cancelled_has_not_failed(caplog: pytest.LogCaptureFixture) -> None:
    assert ended(cancelled_after(1, Crashing(), ONE)) == ("cancelled", ["cancelled"])
    assert "broke" in caplog.text


def test_what_had_failed_before_stays_failed() -> None:
    assert ended(cancelled_after(2, Failing(), ONE)) == ("failed", ["failed"])
    # The run goes on beside the failed step, and is cancelled there.
    ends = ended(cancelled_after(2, Failing(), workflow_of((), (), (0,))))
    assert ends == ("cancelled", ["failed", "cancelled", "blocked"])
