"""A query is planned, run, looked at again: rounds, repeated attempts and one budget for all of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.errors import PoolError, WorkflowError
from conductor.orchestration.recorder import MemoryRecorder, RunHistory
from conductor.orchestration.rounds import (
    cheapest,
    metered_plan,
    offered,
    orchestrate,
    plan_request,
    workflow_run,
)
from conductor.orchestration.runtime import ConductorWorker
from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import PlanningEnd
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.events import (
    AnswerKept,
    BudgetExceeded,
    Event,
    PlanningDelta,
    PlanningFailed,
    PlanningRetried,
    RunFinished,
    RunStarted,
    StepDelta,
    StepFinished,
    StepReused,
    StepStarted,
    WorkflowPlanned,
)
from conductor.runs.request import RunRequest
from conductor.runs.scope import RunScope
from conductor.runs.state import fold
from conductor.values.budget import Budget
from conductor.values.messages import Completion, Delta, Retried, Thought, Usage
from conductor.values.presets import MODES, Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price, WorkerCard
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import MAX_STEPS, MAX_WRITTEN_STEPS, Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.charges import took
from tests.support.runs.conductor_cases import BROKEN, KEEP, ScriptedConductor, plan_text
from tests.support.runs.tool_cases import Caller, ScriptedTools, calling, contents, saying, with_tools

ONE = plan_text((0, "solve it", "[]"))
BETTER = plan_text((0, "look again", '"all"'), (1, "merge", "[0]"))


async def events_of(
    conductor: ScriptedConductor, pool: Pool | None = None, budget: Budget | None = None, **settings: int
) -> list[Event]:
    stream = orchestrate(
        RunRequest("why?", Settings(**settings)),
        conductor=conductor,
        pool=pool or _pool(),
        meter=Meter(budget or Budget()),
    )
    return [event async for event in stream]


def _pool() -> Pool:
    return Pool(workers=tuple(SimulatedWorker(name=name, answer=f"{name} says") for name in ("a", "b")))


def _answers(events: list[Event]) -> list[str | None]:
    return [event.answer for event in events if isinstance(event, RunFinished)]


async def test_the_next_round_sees_the_plan_and_the_responses() -> None:
    conductor = ScriptedConductor([ONE, BETTER, KEEP])
    events = await events_of(conductor, rounds=3)
    first, second, third = conductor.requests
    assert (first.round, first.previous, first.responses) == (1, None, ())
    assert second.round == 2
    assert second.previous is not None
    assert second.previous.steps[0].instruction == "solve it"
    assert [seen.response for seen in second.responses] == ["a says"]
    assert [seen.response for seen in third.responses] == ["a says", "b says"]
    decision = events[-1]
    assert isinstance(decision, AnswerKept)
    assert decision.reason == "It is good as it is."
    assert _answers(events) == ["a says", "b says"]


async def test_all_shows_the_round_before_as_well() -> None:
    pool = _pool()
    events = await events_of(ScriptedConductor([ONE, BETTER]), pool, rounds=2)
    started = [event for event in events if isinstance(event, RunStarted)]
    assert [step.sees_previous for step in started[1].workflow.steps] == [True, False]
    assert started[1].round == 2
    a, b = (worker for worker in pool.workers if isinstance(worker, SimulatedWorker))
    looked = a.requests[1].seen
    assert [(seen.round, seen.step, seen.instruction, seen.response) for seen in looked] == [
        (1, 0, "solve it", "a says")
    ]
    assert [(seen.round, seen.response) for seen in b.requests[0].seen] == [(None, "a says")]


@pytest.mark.parametrize(
    ("scope", "runs", "written"), [(RunScope(allows=("*",)), 2, 2), (RunScope(recorded="only"), 1, 0)]
)
async def test_what_tools_may_do_in_a_run_holds_for_its_further_rounds(
    scope: RunScope, runs: int, written: int
) -> None:
    tools = ScriptedTools(contents)
    writes = calling("files__write")
    model = Caller([writes, saying("one"), writes, saying("two")], name="a")
    pool = Pool(workers=(with_tools(model, tools),))
    request = RunRequest("why?", Settings(rounds=2))
    workflow = Workflow.of([Step(instruction="solve it", worker="a")])
    started = workflow_run(request, workflow, pool, meter=Meter(Budget()), history=RunHistory(), scope=scope)
    stream = orchestrate(
        request,
        conductor=ScriptedConductor([plan_text((0, "write it down", "[]"))]),
        pool=pool,
        meter=Meter(Budget()),
        started=started,
    )
    ends = [event.outcome async for event in stream if isinstance(event, RunFinished)]
    assert (ends, len(tools.log)) == (["finished"] * runs, written)


async def test_planning_counts_in_the_budget_of_all_rounds() -> None:
    conductor = ScriptedConductor([ONE, BETTER])
    events = await events_of(conductor, budget=Budget(calls=2), rounds=2)
    assert _answers(events) == ["a says"]
    end = events[-1]
    assert isinstance(end, PlanningFailed)
    assert "limit of calls" in end.message
    assert len(conductor.requests) == 1


async def test_a_run_states_what_was_used_before_it() -> None:
    events = await events_of(ScriptedConductor([ONE, BETTER]), budget=Budget(calls=9), rounds=2)
    used = [event.used for event in events if isinstance(event, RunStarted)]
    assert [usage.calls for usage in used] == [1, 3]
    assert used[0].tokens == 110
    assert used[0].cost == 0.5


async def test_a_subset_of_the_pool_is_numbered_in_the_chosen_order() -> None:
    conductor = ScriptedConductor([ONE])
    stream = orchestrate(
        RunRequest("why?", Settings(workers=("b", "a"))),
        conductor=conductor,
        pool=_pool(),
        meter=Meter(Budget()),
    )
    answers = _answers([event async for event in stream])
    assert [card.name for card in conductor.requests[0].workers] == ["b", "a"]
    assert answers == ["b says"]


@dataclass
class SlowConductor(ScriptedConductor):
    """Thinks and writes a little, then waits until it is stopped; heeds that only where `obedient`."""

    obedient: bool = True
    stopped: bool = False

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Thought | Completion]:
        """See `Conductor.stream`."""
        self.requests.append(request)
        yield Thought(text="Hm.")
        yield Delta(text="First, ")
        for _ in range(1 if self.obedient else 2):
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.stopped = True
                if self.obedient:
                    raise


@pytest.mark.slow
@pytest.mark.parametrize("obedient", [True, False])
async def test_a_limit_of_time_stops_a_planning_call_and_keeps_what_was_written(
    obedient: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.planner.planner.GRACE_SECONDS", 0.05)
    conductor = SlowConductor([], obedient=obedient)
    events = await asyncio.wait_for(events_of(conductor, budget=Budget(seconds=0.05)), 60)
    assert conductor.stopped
    start, crossing, end = events[0], events[-2], events[-1]
    assert isinstance(crossing, BudgetExceeded)
    assert crossing.limit == "seconds"
    assert isinstance(end, PlanningFailed)
    assert end.message.startswith("Planning was stopped at the budget: ")
    assert "of 0.05 seconds used" in end.message
    assert [event.seq for event in events] == list(range(len(events)))
    assert {event.run for event in events} == {start.run}
    state = fold(events)
    assert (state.planning_thought, state.planning_text) == ("Hm.", "First, ")


def test_a_model_is_asked_for_a_hundred_steps_at_most() -> None:
    request = plan_request(RunRequest("why?", Settings(max_steps=MAX_STEPS)), pool=_pool())
    assert request.max_steps == MAX_WRITTEN_STEPS == 100


async def test_what_another_call_spends_stops_the_planning_beside_it() -> None:
    conductor, meter = SlowConductor([]), Meter(Budget(tokens=100_000))
    events: list[Event] = []
    request = plan_request(RunRequest("why?"), pool=_pool())
    async for event in metered_plan(request, conductor=conductor, meter=meter):
        events.append(event)
        if isinstance(event, PlanningDelta):
            (charge,) = took(Usage(prompt_tokens=90_000, completion_tokens=20_000))
            meter.count(charge)
    assert isinstance(events[-1], PlanningFailed)
    assert "of 100,000 tokens used" in events[-1].message


async def test_a_plan_that_crosses_the_budget_by_itself_is_kept() -> None:
    request = plan_request(RunRequest("why?"), pool=_pool())
    meter = Meter(Budget(tokens=2_000))
    conductor = ScriptedConductor([ONE], usage=Usage(prompt_tokens=2_000, completion_tokens=10))
    events = [event async for event in metered_plan(request, conductor=conductor, meter=meter)]
    assert isinstance(events[-1], WorkflowPlanned)
    assert meter.crossing is not None


async def test_a_plan_for_which_no_tokens_are_left_is_not_asked_for() -> None:
    conductor = ScriptedConductor([ONE])
    events = await events_of(conductor, budget=Budget(tokens=1))
    over, end = events
    assert conductor.requests == []
    assert isinstance(over, BudgetExceeded)
    assert (over.limit, over.refused) == ("tokens", True)
    assert isinstance(end, PlanningFailed)
    assert "0 of 1 tokens used, and the next call takes at least about" in end.message


@dataclass
class Busy(ScriptedConductor):
    """Its endpoint is called twice before it answers."""

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Retried | Completion]:  # type: ignore[override]
        """See `Conductor.stream`."""
        yield Retried(attempt=1, message="Busy.", seconds=0)
        yield Delta("Fir")
        yield Retried(attempt=2, message="Broke.", seconds=0, withdrawn=3)
        async for item in super().stream(request):
            yield item


@pytest.mark.parametrize(("allowed", "calls"), [(9, 3), (3, 3), (2, 2), (1, 1)])
async def test_each_try_of_a_planning_call_is_a_call(allowed: int, calls: int) -> None:
    request = plan_request(RunRequest("why?"), pool=_pool())
    conductor, meter = Busy([ONE]), Meter(Budget(calls=allowed))
    events = [event async for event in metered_plan(request, conductor=conductor, meter=meter)]
    assert meter.calls == calls
    assert (events[-1].type == "workflow_planned") == (allowed >= 3)
    if allowed >= 3:
        assert fold(events).calls == calls
    else:
        assert isinstance(events[-1], PlanningFailed)
        assert f"{allowed} of {allowed} calls used" in events[-1].message
        assert sum(isinstance(event, PlanningRetried) for event in events) == calls


class LoggingRecorder(MemoryRecorder):
    """Notes what it is called with, in order, beside what its reader has read."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    async def begin_plan(self, request: PlanRequest, *, planner: WorkerCard) -> None:
        await super().begin_plan(request, planner=planner)
        self.log.append(f"begin attempt {len(request.rejected) + 1} of round {request.round}")

    async def write_plan(self, request: PlanRequest, end: PlanningEnd, *rest: Any) -> None:
        await super().write_plan(request, end, *rest)
        self.log.append(f"write {end.type}")

    async def start_run(self, run: WorkflowRun) -> None:
        await super().start_run(run)
        self.log.append(f"start round {run.round}")


async def test_everything_is_recorded_before_it_is_passed_on() -> None:
    conductor, recorder = ScriptedConductor([BROKEN, ONE, KEEP]), LoggingRecorder()
    request = RunRequest("why?", Settings(rounds=2))
    async for event in orchestrate(
        request, conductor=conductor, pool=_pool(), meter=Meter(Budget()), recorder=recorder
    ):
        if not isinstance(event, PlanningDelta | StepDelta | StepStarted | StepFinished):
            recorder.log.append(event.type)
    assert recorder.log == [
        "begin attempt 1 of round 1",
        "planning_started",
        "write plan_rejected",
        "plan_rejected",
        "begin attempt 2 of round 1",
        "planning_started",
        "write workflow_planned",
        "workflow_planned",
        "start round 1",
        "run_started",
        "run_finished",
        "begin attempt 1 of round 2",
        "planning_started",
        "write answer_kept",
        "answer_kept",
    ]


async def test_a_round_reuses_what_an_earlier_one_gave() -> None:
    events = await events_of(ScriptedConductor([ONE, ONE]), rounds=2)
    assert [event.type for event in events if isinstance(event, StepFinished | StepReused)] == [
        "step_finished",
        "step_reused",
    ]
    first, second = (event for event in events if isinstance(event, RunStarted))
    assert second.parent == first.run


async def test_what_a_request_makes_of_a_plan_is_recorded_and_run() -> None:
    recorded: list[Workflow | None] = []

    class Recorder(MemoryRecorder):
        async def write_plan(self, request: PlanRequest, end: PlanningEnd, *rest: Any) -> None:
            await super().write_plan(request, end, *rest)
            recorded.append(rest[0])

    request = RunRequest("why?", finish=lambda planned: planned.with_worker(0, "b"))
    stream = orchestrate(
        request, conductor=ScriptedConductor([ONE]), pool=_pool(), meter=Meter(Budget()), recorder=Recorder()
    )
    (ran,) = [event.workflow async for event in stream if isinstance(event, RunStarted)]
    assert ran.steps[0].worker == "b"
    assert recorded == [ran]


async def test_planning_whose_reader_is_cancelled_is_recorded_as_stopped_and_reported() -> None:
    recorder, events, writing = LoggingRecorder(), list[Event](), asyncio.Event()

    async def read() -> None:
        async for event in orchestrate(
            RunRequest("why?"),
            conductor=SlowConductor([]),
            pool=_pool(),
            meter=Meter(Budget()),
            recorder=recorder,
        ):
            events.append(event)
            if isinstance(event, PlanningDelta):
                writing.set()

    reading = asyncio.create_task(read())
    await writing.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert recorder.log == ["begin attempt 1 of round 1", "write planning_failed"]
    assert isinstance(events[-1], PlanningFailed)
    assert (events[-1].message, events[-1].stopped) == ("Planning was stopped.", True)


@dataclass
class WordyConductor(ScriptedConductor):
    """Writes word after word, without an end."""

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta]:  # type: ignore[override]
        """See `Conductor.stream`."""
        self.requests.append(request)
        while True:
            yield Delta(text="and ")
            await asyncio.sleep(0)


@pytest.mark.slow
async def test_a_plan_is_cut_where_its_text_reaches_the_limit() -> None:
    request = plan_request(RunRequest("why?"), pool=_pool())
    meter = Meter(Budget(tokens=2_000))
    planning = metered_plan(request, conductor=WordyConductor([]), meter=meter)
    events = await asyncio.wait_for(_all(planning), 60)
    over, end = events[-2:]
    assert isinstance(over, BudgetExceeded)
    assert (over.used, over.estimated) == (2_001, True)
    assert isinstance(end, PlanningFailed)
    assert meter.used.tokens >= 2_001


async def _all(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


@pytest.mark.slow
async def test_a_limit_of_time_stops_the_planning_inside_of_a_step() -> None:
    meter = Meter(Budget(seconds=0.2))
    inside = ConductorWorker(conductor=SlowConductor([]), pool=_pool(), settings=Settings(), meter=meter)
    workflow = Workflow.of([Step(instruction="Work it out.", worker="conductor")])
    pool = Pool(workers=(inside,))
    run = WorkflowRun(BoundWorkflow.of(workflow, query="why?", pool=pool), pool, run="outer", meter=meter)
    events = [event async for event in run.events()]
    end = events[-1]
    assert isinstance(end, RunFinished)
    assert end.outcome == "over_budget"
    inner = fold(events).steps[0].inner[0]
    assert inner.planning_failure is not None
    assert inner.planning_failure.startswith("Planning was stopped at the budget: ")
    assert inner.planning_text == "First, "


async def test_planning_that_no_one_follows_any_more_is_stopped() -> None:
    conductor = SlowConductor([])
    request = plan_request(RunRequest("why?"), pool=_pool())
    planning = metered_plan(request, conductor=conductor, meter=Meter(Budget()))
    async with aclosing(planning) as events:
        async for event in events:
            if isinstance(event, PlanningDelta):
                break
    assert conductor.stopped


def _priced(name: str, prompt: float | None, completion: float = 0.0) -> SimulatedWorker:
    worker = SimulatedWorker(name=name, answer=f"{name} says")
    price = None if prompt is None else Price(prompt=prompt, completion=completion)
    worker.card = worker.card.model_copy(update={"price": price})
    return worker


@pytest.mark.parametrize(
    ("prices", "left"),
    [
        ({"a": 2.0, "b": 1.0, "c": 1.0}, ["b", "c"]),
        ({"a": None, "b": 3.0}, ["b"]),
        ({"a": 0.0, "b": None}, ["a"]),
        ({"a": None, "b": None}, ["a", "b"]),
    ],
    ids=["lowest", "unknown is not nothing", "free", "none known"],
)
@pytest.mark.parametrize("conductor", [ScriptedConductor([ONE]), OfflineConductor()], ids=["model", "rules"])
async def test_economy_leaves_only_workers_of_the_lowest_known_price(
    prices: dict[str, float | None], left: list[str], conductor: ScriptedConductor | OfflineConductor
) -> None:
    pool = Pool(workers=tuple(_priced(name, price) for name, price in prices.items()))
    request = plan_request(RunRequest("why?", MODES["mini"]), pool=pool)
    assert [card.name for card in request.workers] == left
    assert [card.name for card in plan_request(RunRequest("why?"), pool=pool).workers] == [*prices]
    stream = orchestrate(
        RunRequest("why?", MODES["mini"]), conductor=conductor, pool=pool, meter=Meter(Budget())
    )
    events = [event async for event in stream]
    (run,) = (event for event in events if isinstance(event, RunStarted))
    assert {step.worker for step in run.workflow.steps} <= set(left)


def test_a_prompt_and_a_completion_count_alike_and_a_workflow_inside_has_no_known_price() -> None:
    dear, cheap = _priced("dear", 0.1, 9.0).card, _priced("cheap", 2.0, 2.0).card
    nested = _priced("nested", 0.1, 0.1).card.model_copy(update={"nested": True})
    assert cheapest([dear, nested, cheap]) == (cheap,)
    assert cheapest([nested]) == (nested,)


class _Unusable(SimulatedWorker):
    """A worker that cannot be asked as the program is set up."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.card = self.card.model_copy(update={"unusable": f"{name.upper()}_API_KEY is not set."})


def test_a_worker_that_cannot_be_used_is_not_offered() -> None:
    pool = Pool(workers=(_Unusable("a"), SimulatedWorker(name="b"), SimulatedWorker(name="c")))
    assert [card.name for card in offered(pool, Settings())] == ["b", "c"]
    assert [card.name for card in offered(pool, Settings(workers=("c", "a")))] == ["c"]
    with pytest.raises(PoolError, match=r"^a cannot be used: A_API_KEY is not set\.$"):
        offered(pool, Settings(workers=("a",)))


@pytest.mark.parametrize(
    "step",
    [
        Step(instruction="Say it.", worker="beta"),
        Step(instruction="Say it.", worker="alpha", on_failure=OnFailure(fallback="beta")),
    ],
    ids=["worker", "fallback"],
)
def test_a_request_runs_no_workflow_with_a_worker_that_it_may_not_call(step: Step) -> None:
    pool = Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")))
    request = RunRequest(query="Which?", workflow=Workflow.of([step]), may_call=frozenset({"alpha"}))
    assert request.workflow is not None
    with pytest.raises(WorkflowError, match="'beta', which the pool does not have; choose one of: alpha"):
        workflow_run(request, request.workflow, pool, meter=Meter(Budget()), history=RunHistory())
