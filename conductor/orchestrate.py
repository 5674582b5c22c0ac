"""From a query to an answer: plan, run, look back, plan again. One stream of events.

Knows the planner and the engine and joins them; knows no store and no page. What is spent is counted by
one meter through all rounds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from uuid import uuid4

from conductor.conversation import NOTHING_SAID, Conversation
from conductor.engine.assignment import Assignment
from conductor.engine.meter import Crossing, Meter
from conductor.engine.run import GRACE_SECONDS, WorkflowRun
from conductor.events import (
    AnswerKept,
    BudgetExceeded,
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
from conductor.planner.planner import STOPPED, PlanningEnd, plan
from conductor.run_state import RunState, advance
from conductor.workers.pool import Pool
from conductor.workers.protocol import WorkerCard


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
    """`plan`, counted by the meter.

    The end says so where the budget has no room for the call. Where a limit is crossed while the Conductor
    answers, it is stopped: `BudgetExceeded` says which limit, and `PlanningFailed` comes last.
    """
    run = new_id()
    if not meter.admit():
        crossing = meter.crossing
        limit = crossing.limit if crossing else "calls"
        message = f"The budget's limit of {limit} leaves no room for planning; raise it, then ask again."
        yield PlanningFailed(run=run, seq=0, at=time.time(), message=message)
        return
    seq = -1
    planning = plan(request, conductor=conductor, run=run)
    async with aclosing(_until_crossed(planning, meter)) as events:
        async for event in events:
            seq = event.seq
            yield event
            if isinstance(event, PlanningEnd):
                meter.add(usage_of(event))
                return
    crossing = meter.crossing
    assert crossing is not None, "planning ended without an end, and nothing was crossed"
    over = BudgetExceeded(
        run=run,
        seq=seq + 1,
        at=time.time(),
        limit=crossing.limit,
        used=crossing.used,
        allowed=crossing.allowed,
    )
    yield over
    message = f"{STOPPED} at the budget: {over.words} used. Raise the limit, then plan anew."
    yield PlanningFailed(run=run, seq=seq + 2, at=time.time(), message=message)


async def _until_crossed(events: AsyncGenerator[Event, None], meter: Meter) -> AsyncGenerator[Event, None]:
    """The events, as far as they come before a limit is crossed; who makes them is stopped then."""
    heard: asyncio.Queue[Event | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    async def hear() -> None:
        async with aclosing(events):
            async for event in events:
                heard.put_nowait(event)

    def stop(_: Crossing) -> None:
        hearing.cancel()
        # A Conductor that ignores its cancellation is not waited for.
        loop.call_later(GRACE_SECONDS, heard.put_nowait, None)

    hearing = asyncio.create_task(hear())
    hearing.add_done_callback(lambda _: heard.put_nowait(None))
    watched = meter.watch(stop)
    left = meter.seconds_left
    clock = None if left is None else loop.call_later(left, meter.check)
    try:
        while (event := await heard.get()) is not None:
            yield event
        if hearing.done() and not hearing.cancelled():
            hearing.result()
    finally:
        watched()
        if clock is not None:
            clock.cancel()
        hearing.cancel()
        await asyncio.wait({hearing}, timeout=GRACE_SECONDS)


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


def plan_request(
    query: str,
    *,
    pool: Pool,
    settings: Settings,
    after: RunState | None = None,
    conversation: Conversation = NOTHING_SAID,
) -> PlanRequest:
    """What the Conductor is asked for the first round, or for the one after the run `after`.

    Raises `PoolError` where the settings name a worker that the pool does not have.
    """
    return PlanRequest(
        query=query,
        workers=offered(pool, settings),
        max_steps=settings.max_steps,
        round=after.round + 1 if after else 1,
        previous=after.workflow if after else None,
        responses=responses_of(after),
        economical=settings.economical,
        conversation=conversation,
    )


def offered(pool: Pool, settings: Settings) -> tuple[WorkerCard, ...]:
    """The workers that the Conductor may use, in its order; where it is to be economical, the cheapest only.

    Raises `PoolError` where the settings name a worker that the pool does not have.
    """
    cards = tuple(pool[name].card for name in settings.workers or pool.names)
    return cheapest(cards) if settings.economical else cards


def cheapest(cards: Sequence[WorkerCard]) -> tuple[WorkerCard, ...]:
    """Those of the lowest known price, of a prompt and a completion of one length; all where none is known.

    What a Conductor's own workflow will cost is not known.
    """
    costs = [
        None if card.price is None or card.nested else card.price.prompt + card.price.completion
        for card in cards
    ]
    lowest = min((cost for cost in costs if cost is not None), default=None)
    return tuple(card for card, cost in zip(cards, costs, strict=True) if cost == lowest or lowest is None)


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
            by_hand=done.output.hand is not None,
        )
        for at, (step, done) in enumerate(zip(state.workflow.steps, state.steps, strict=True))
        if done.output is not None and not done.output.empty
    )
