"""From a query to an answer: plan, run, look back, plan again. One stream of events.

Knows the planner and the engine and joins them; knows no store and no page. What is spent is counted by
one meter through all rounds.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import uuid4

from conductor.engine.assignment import Assignment
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.events import (
    AnswerKept,
    Event,
    PlanningFailed,
    PlanRejected,
    StepCancelled,
    StepFailed,
    StepFinished,
    WorkflowPlanned,
)
from conductor.messages import NOTHING_USED, SeenResponse, Usage
from conductor.modes import Settings
from conductor.planner.conductor import Conductor, PlanRequest
from conductor.planner.planner import PlanningEnd, plan
from conductor.run_state import RunState, advance
from conductor.workers.pool import Pool


def new_id() -> str:
    """A fresh id for a run or a planning attempt."""
    return uuid4().hex[:16]


async def orchestrate(
    query: str, *, conductor: Conductor, pool: Pool, settings: Settings, meter: Meter
) -> AsyncGenerator[Event, None]:
    """Plan and run `query`, in as many rounds as the settings allow and the Conductor wants.

    Each round's events have ids of their own, and planning's begin with `PlanningStarted`. The stream ends
    when the Conductor keeps the answer, when a round gives no plan or does not finish, or after the last.
    """
    state: RunState | None = None
    for round in range(1, settings.rounds + 1):
        request = plan_request(query, pool=pool, settings=settings, after=state)
        end: PlanningEnd | None = None
        async with aclosing(
            plan_round(request, conductor=conductor, settings=settings, meter=meter)
        ) as planning:
            async for event in planning:
                yield event
                end = event if isinstance(event, PlanningEnd) else end
        if not isinstance(end, WorkflowPlanned) or end.report.workflow is None:
            return
        assignment = Assignment.of(end.report.workflow, query=query, pool=pool, previous=responses_of(state))
        run = WorkflowRun(
            assignment, pool, run=new_id(), parent=state.run if state else None, round=round, meter=meter
        )
        state = RunState()
        async with aclosing(run.events()) as events:
            async for event in events:
                yield event
                state = advance(state, event)
        if state.status != "finished":
            return


async def plan_round(
    request: PlanRequest, *, conductor: Conductor, settings: Settings, meter: Meter
) -> AsyncGenerator[Event, None]:
    """Ask for one round's plan, `settings.attempts` times at most; why one was rejected goes with the next.

    Each attempt has an id of its own. The last event is a `PlanningEnd`.
    """
    for left in reversed(range(settings.attempts)):
        end: PlanningEnd | None = None
        async with aclosing(metered_plan(request, conductor=conductor, meter=meter)) as planning:
            async for event in planning:
                yield event
                end = event if isinstance(event, PlanningEnd) else end
        if not isinstance(end, PlanRejected) or not left:
            return
        request = request.model_copy(update={"rejected": (*request.rejected, end.report)})


async def metered_plan(
    request: PlanRequest, *, conductor: Conductor, meter: Meter
) -> AsyncGenerator[Event, None]:
    """`plan`, counted by the meter; the end says so where the budget has no room for the call."""
    run = new_id()
    if not meter.admit():
        crossing = meter.crossing
        limit = crossing.limit if crossing else "calls"
        message = f"The budget's limit of {limit} leaves no room for planning; raise it, then ask again."
        yield PlanningFailed(run=run, seq=0, at=time.time(), message=message)
        return
    async with aclosing(plan(request, conductor=conductor, run=run)) as planning:
        async for event in planning:
            yield event
            if isinstance(event, PlanningEnd):
                meter.add(usage_of(event))


def usage_of(event: Event) -> Usage:
    """What the call used whose end this event tells; nothing for other events.

    A step's call inside of which others were made has no usage of its own.
    """
    match event:
        case WorkflowPlanned() | AnswerKept() | PlanRejected() | StepFailed() | StepCancelled():
            return event.usage
        case StepFinished():
            return event.output.usage
        case _:
            return NOTHING_USED


def plan_request(query: str, *, pool: Pool, settings: Settings, after: RunState | None = None) -> PlanRequest:
    """What the Conductor is asked for the first round, or for the one after the run `after`.

    Raises `PoolError` where the settings name a worker that the pool does not have.
    """
    return PlanRequest(
        query=query,
        workers=tuple(pool[name].card for name in settings.workers or pool.names),
        max_steps=settings.max_steps,
        round=after.round + 1 if after else 1,
        previous=after.workflow if after else None,
        responses=responses_of(after),
        economical=settings.economical,
    )


def responses_of(state: RunState | None) -> tuple[SeenResponse, ...]:
    """What a round's steps answered, as the next round sees it; steps that answered nothing are left out."""
    if state is None or state.workflow is None:
        return ()
    return tuple(
        SeenResponse(
            step=at,
            worker=step.worker,
            instruction=step.instruction,
            response=done.output.text,
            round=state.round,
        )
        for at, (step, done) in enumerate(zip(state.workflow.steps, state.steps, strict=True))
        if done.output is not None and not done.output.empty
    )
