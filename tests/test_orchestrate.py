"""A query is planned, run, looked at again: rounds, repeated attempts and one budget for all of it."""

from __future__ import annotations

from conductor_cases import BROKEN, KEEP, ScriptedConductor, plan_text

from conductor.budget import Budget
from conductor.engine.meter import Meter
from conductor.events import AnswerKept, Event, PlanningFailed, PlanRejected, RunFinished, RunStarted
from conductor.modes import Settings
from conductor.orchestrate import orchestrate
from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker

ONE = plan_text((0, "solve it", "[]"))
BETTER = plan_text((0, "look again", '"all"'), (1, "merge", "[0]"))


async def events_of(
    conductor: ScriptedConductor, pool: Pool | None = None, budget: Budget | None = None, **settings: int
) -> list[Event]:
    asked = Settings(**settings)
    stream = orchestrate(
        "why?",
        conductor=conductor,
        pool=pool or _pool(),
        settings=asked,
        meter=Meter(budget or Budget()),
    )
    return [event async for event in stream]


def _pool() -> Pool:
    return Pool(workers=tuple(SimulatedWorker(name=name, answer=f"{name} says") for name in ("a", "b")))


def _answers(events: list[Event]) -> list[str | None]:
    return [event.answer for event in events if isinstance(event, RunFinished)]


async def test_one_round_is_one_plan_and_one_run() -> None:
    conductor = ScriptedConductor([ONE])
    assert _answers(await events_of(conductor)) == ["a says"]
    assert len(conductor.requests) == 1


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
    kept = events[-1]
    assert isinstance(kept, AnswerKept)
    assert kept.reason == "It is good as it is."
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


async def test_an_invalid_plan_is_asked_for_again_with_all_that_was_rejected() -> None:
    conductor = ScriptedConductor([BROKEN, BROKEN, ONE])
    events = await events_of(conductor, attempts=3)
    assert [len(request.rejected) for request in conductor.requests] == [0, 1, 2]
    assert sum(isinstance(event, PlanRejected) for event in events) == 2
    assert _answers(events) == ["a says"]


async def test_attempts_are_limited_and_an_invalid_plan_never_runs() -> None:
    conductor = ScriptedConductor([BROKEN])
    events = await events_of(conductor, attempts=2)
    assert len(conductor.requests) == 2
    assert isinstance(events[-1], PlanRejected)
    assert _answers(events) == []


async def test_a_round_that_fails_is_the_last() -> None:
    failing = Pool(workers=(SimulatedWorker(name="a", fail_calls=frozenset({0})),))
    conductor = ScriptedConductor([ONE])
    events = await events_of(conductor, failing, rounds=3)
    assert len(conductor.requests) == 1
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "failed"


async def test_planning_counts_in_the_budget_of_all_rounds() -> None:
    conductor = ScriptedConductor([ONE, BETTER])
    events = await events_of(conductor, budget=Budget(calls=2), rounds=2)
    assert _answers(events) == ["a says"]
    end = events[-1]
    assert isinstance(end, PlanningFailed)
    assert "limit of calls" in end.message
    assert len(conductor.requests) == 1


async def test_a_run_says_what_was_used_before_it() -> None:
    events = await events_of(ScriptedConductor([ONE, BETTER]), budget=Budget(calls=9), rounds=2)
    used = [event.used for event in events if isinstance(event, RunStarted)]
    assert [taken.calls for taken in used] == [1, 3]
    assert used[0].tokens == 110
    assert used[0].cost == 0.5


async def test_a_subset_of_the_pool_is_numbered_in_the_chosen_order() -> None:
    conductor = ScriptedConductor([ONE])
    stream = orchestrate(
        "why?",
        conductor=conductor,
        pool=_pool(),
        settings=Settings(workers=("b", "a")),
        meter=Meter(Budget()),
    )
    answers = _answers([event async for event in stream])
    assert [card.name for card in conductor.requests[0].workers] == ["b", "a"]
    assert answers == ["b says"]
