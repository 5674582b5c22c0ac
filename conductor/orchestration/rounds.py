"""Answers a query: plans, runs, looks back, plans again. The only loop of rounds.

Knows the planner and the engine and joins them; knows no store and no page. What happens is written by a
recorder before it is passed on. What is spent is counted by one meter through all rounds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from uuid import uuid4

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.meter import Meter, Requests
from conductor.engine.run import WorkflowRun
from conductor.errors import ConductorError, PoolError
from conductor.orchestration.recorder import MemoryRecorder, Recorder, RunHistory
from conductor.planner.conductor import Conductor, PlanRequest
from conductor.planner.planner import STOPPED, PlanningEnd, messages_for, plan
from conductor.runs.events import (
    BudgetExceeded,
    Event,
    PlanningFailed,
    PlanningRetried,
    PlanRejected,
    TextPiece,
    WorkflowPlanned,
)
from conductor.runs.request import RunRequest
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState, advance
from conductor.values.budget import Crossing
from conductor.values.charge import Charge
from conductor.values.messages import SeenResponse
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import MAX_WRITTEN_STEPS, Workflow

_BROKE = "Planning failed because of a fault in this program; see its log, then plan again."


def new_id() -> str:
    """A fresh id for a run or a planning attempt."""
    return uuid4().hex[:16]


async def orchestrate(
    request: RunRequest,
    *,
    conductor: Conductor,
    pool: Pool,
    meter: Meter,
    recorder: Recorder | None = None,
    after: RunState | None = None,
    started: WorkflowRun | None = None,
) -> AsyncGenerator[Event, None]:
    """Plan and run a request, in as many rounds as its settings allow and the Conductor wants.

    It begins with the round after the run `after` (None: the first), or with a run that the recorder has
    `started` already. Each plan's and each run's events have ids of their own, and planning's begin with
    `PlanningStarted`. The stream ends when the Conductor keeps the answer, when a round gives no plan, does
    not finish, covers a part of the workflow only or calls tools, or after the last round. Without a
    `recorder` outputs are remembered until the stream ends.
    """
    recorder = recorder or MemoryRecorder()
    run = started
    first = request.workflow if after is None else None
    scope = EDITED if after is None else EDITED.with_grants(after.scope.grants)
    while True:
        if run is None:
            workflow = first
            if workflow is None:
                round_request = plan_request(request, pool=pool, after=after)
                planning = plan_round(
                    round_request, request, conductor=conductor, meter=meter, recorder=recorder
                )
                async with aclosing(planning) as events:
                    async for event in events:
                        yield event
                        if isinstance(event, WorkflowPlanned):
                            workflow = event.report.workflow
                if workflow is None:
                    return
                workflow = request.runnable(workflow)
            history = await recorder.history()
            run = workflow_run(
                request, workflow, pool, meter=meter, after=after, history=history, scope=scope
            )
            await recorder.start_run(run)
        state = RunState()
        last = run.round >= request.settings.rounds
        async with aclosing(recorder.events(run)) as events:
            async for event in events:
                yield event
                # The next round reads outputs, not the pieces of their texts.
                if not last and not isinstance(event, TextPiece):
                    state = advance(state, event)
        # A replay calls no tool, and what a further round called would be real.
        over = state.status != "finished" or not state.whole or state.scope.recorded == "only"
        if last or over or state.calls_tools:
            return
        after, run, first = state, None, None
        scope = RunScope(allows=state.scope.allows, grants=state.scope.grants)


def workflow_run(
    request: RunRequest,
    workflow: Workflow,
    pool: Pool,
    *,
    meter: Meter,
    history: RunHistory,
    after: RunState | None = None,
    scope: RunScope = EDITED,
    preloaded: Mapping[int, Output] | None = None,
) -> WorkflowRun:
    """A run of `workflow`, not yet started: of the round after the run `after`, or of the first round.

    See `WorkflowRun` for `scope`, `preloaded` and the errors.
    """
    round = 1 if after is None else after.round + 1
    if request.recorded:
        scope = scope.model_copy(update={"recorded": "first"})
    bound, pool = bound_to(request, workflow, pool, after=after)
    return WorkflowRun(
        bound,
        pool,
        run=new_id(),
        reusable=history.reusable,
        scope=scope,
        preloaded=preloaded,
        parent=history.latest,
        round=round,
        meter=meter,
        # The answer of an earlier round is not sent on: another one may take its place.
        sent_on=request.sent_on and round >= request.settings.rounds,
    )


def bound_to(
    request: RunRequest, workflow: Workflow, pool: Pool, *, after: RunState | None
) -> tuple[BoundWorkflow, Pool]:
    """The workflow as the request runs it after the run `after`, and the pool as far as the request may use
    it. Raises `PoolError` and `WorkflowError` where that cannot run it.
    """
    if request.may_call is not None:
        pool = pool.only(request.may_call)
    if request.tool_limit is not None:
        pool = pool.with_tools(request.tool_limit)
    if not request.attended:
        pool = pool.unattended
    bound = BoundWorkflow.of(
        workflow,
        query=request.query,
        pool=pool,
        previous=responses_of(after),
        conversation=request.conversation,
    )
    return bound, pool


async def plan_round(
    round_request: PlanRequest, request: RunRequest, *, conductor: Conductor, meter: Meter, recorder: Recorder
) -> AsyncGenerator[Event, None]:
    """Request one round's plan, as often as the request's settings allow; after an invalid plan, the next
    request gives the reasons why it is invalid.

    Each attempt has its own id. The last event is a `PlanningEnd`.
    """
    for left in reversed(range(request.settings.attempts)):
        end: PlanningEnd | None = None
        attempt = recorded_plan(round_request, request, conductor=conductor, meter=meter, recorder=recorder)
        async with aclosing(attempt) as planning:
            async for event in planning:
                yield event
                end = event if isinstance(event, PlanningEnd) else end
        if not isinstance(end, PlanRejected) or not left:
            return
        round_request = round_request.model_copy(update={"rejected": (*round_request.rejected, end.report)})


async def recorded_plan(
    round_request: PlanRequest, request: RunRequest, *, conductor: Conductor, meter: Meter, recorder: Recorder
) -> AsyncGenerator[Event, None]:
    """`metered_plan`, written by the recorder: its beginning before the Conductor is called, its end before
    that is passed on.

    Where the reader is cancelled, the attempt is written as stopped, and its end is still passed on.
    """
    event: Event | None = None
    passed_on = False
    requests: Requests | None = None
    charges: list[Charge] = []
    try:
        await recorder.begin_plan(round_request, planner=conductor.card)
        requests = _requests(round_request, conductor, meter)
        planning = metered_plan(round_request, conductor=conductor, meter=meter, requests=requests)
        async with aclosing(planning) as events:
            async for event in events:
                if isinstance(event, PlanningRetried | PlanningEnd) and event.charge is not None:
                    charges.append(event.charge)
                if isinstance(event, PlanningEnd):
                    await _write_end(round_request, request, event, recorder, charges)
                    passed_on = True
                yield event
    except asyncio.CancelledError:
        if not isinstance(event, PlanningEnd):
            event = _failure(f"{STOPPED}.", behind=event, requests=requests, stopped=True)
            await recorder.write_plan(round_request, event, None, _all_of(charges, event))
        if not passed_on:
            yield event
        raise
    except ConductorError:
        raise
    except (Exception, GeneratorExit):
        if event is not None and not isinstance(event, PlanningEnd):
            event = _failure(_BROKE, behind=event, requests=requests)
            await recorder.write_plan(round_request, event, None, _all_of(charges, event))
        raise


def _all_of(charges: Sequence[Charge], end: PlanningFailed) -> Sequence[Charge]:
    return charges if end.charge is None else [*charges, end.charge]


async def _write_end(
    round_request: PlanRequest,
    request: RunRequest,
    end: PlanningEnd,
    recorder: Recorder,
    charges: Sequence[Charge],
) -> None:
    """Write the end of an attempt with the workflow that is to be run; also where that cannot be made."""
    workflow = None
    try:
        if isinstance(end, WorkflowPlanned) and end.report.workflow is not None:
            workflow = request.runnable(end.report.workflow)
    finally:
        await recorder.write_plan(round_request, end, workflow, charges)


def _failure(
    message: str, *, behind: Event | None, requests: Requests | None, stopped: bool = False
) -> PlanningFailed:
    """The end of an attempt whose last event is `behind`, and of the one of its `requests` under way."""
    run, seq = (new_id(), 0) if behind is None else (behind.run, behind.seq + 1)
    charge = None if requests is None else requests.end(stopped=True)
    return PlanningFailed(run=run, seq=seq, at=time.time(), message=message, stopped=stopped, charge=charge)


async def metered_plan(
    request: PlanRequest, *, conductor: Conductor, meter: Meter, requests: Requests | None = None
) -> AsyncGenerator[Event, None]:
    """`plan`, whose requests the meter counts: those of `requests`, with the first one admitted.

    Where the budget has no room for the call, or a limit is crossed while the Conductor answers, which stops
    it, `BudgetExceeded` has the limit, and `PlanningFailed` comes last.
    """
    run = new_id()
    requests = requests or _requests(request, conductor, meter)
    if requests.refused:
        over = _crossing_event(meter, run=run, seq=0)
        yield over
        message = (
            f"The budget's limit of {over.limit} leaves no room for planning: {over.words}. Raise it, then "
            "ask again."
        )
        yield PlanningFailed(run=run, seq=1, at=time.time(), message=message)
        return
    seq = -1
    with _crossing(meter) as crossed:
        planning = plan(request, conductor=conductor, run=run, requests=requests, stop=crossed)
        async with aclosing(planning) as events:
            async for event in events:
                # Not at once: events come later than what they report, and have what the requests took.
                if requests.refused and isinstance(event, PlanningEnd):
                    break
                seq = event.seq
                yield event
                if isinstance(event, PlanningEnd):
                    return
    charge = requests.end(stopped=True)
    if meter.crossing is None:
        message = f"{STOPPED}: {conductor.card.name}'s call was cancelled. Plan again."
        yield PlanningFailed(
            run=run, seq=seq + 1, at=time.time(), message=message, stopped=True, charge=charge
        )
        return
    over = _crossing_event(meter, run=run, seq=seq + 1)
    yield over
    message = f"{STOPPED} at the budget: {over.words}. Raise the limit, then plan again."
    yield PlanningFailed(run=run, seq=seq + 2, at=time.time(), message=message, charge=charge)


def _crossing_event(meter: Meter, *, run: str, seq: int) -> BudgetExceeded:
    crossing = meter.crossing
    assert crossing is not None, "asked only where a limit is crossed"
    return BudgetExceeded(run=run, seq=seq, at=time.time(), **dict(crossing))


def _requests(request: PlanRequest, conductor: Conductor, meter: Meter) -> Requests:
    """The requests to a Conductor for one attempt; the first is admitted, or refused."""
    return Requests(
        meter,
        conductor.card,
        lambda: (message.content for message in messages_for(request, conductor)),
        purpose="plan",
    )


@contextmanager
def _crossing(meter: Meter) -> Iterator[asyncio.Future[None]]:
    """A future that is done once a limit of the meter is crossed within the block."""
    loop = asyncio.get_running_loop()
    crossed = loop.create_future()

    def cross(_: Crossing) -> None:
        if not crossed.done():
            crossed.set_result(None)

    unwatch = meter.watch(cross)
    left = meter.seconds_left
    clock = None if left is None else loop.call_later(left, meter.check)
    try:
        yield crossed
    finally:
        unwatch()
        if clock is not None:
            clock.cancel()


def plan_request(request: RunRequest, *, pool: Pool, after: RunState | None = None) -> PlanRequest:
    """What the Conductor is sent for the first round, or for the one after the run `after`.

    Raises `PoolError` where the settings name a worker that the pool does not have.
    """
    settings = request.settings
    return PlanRequest(
        query=request.query,
        workers=offered(pool, settings),
        max_steps=min(settings.max_steps, MAX_WRITTEN_STEPS),
        round=after.round + 1 if after else 1,
        previous=after.workflow if after else None,
        responses=responses_of(after),
        economical=settings.economical,
        conversation=request.conversation,
        tools=request.tools,
        change=request.change if after is None else None,
        strict=settings.strict_form,
    )


def offered(pool: Pool, settings: Settings) -> tuple[WorkerCard, ...]:
    """The workers that the Conductor may use, in its order; where it is to be economical, the cheapest only.

    Those that cannot be used are left out. Raises `PoolError` if no worker is left, and if the settings name
    a worker that the pool does not have.
    """
    chosen = tuple(pool[name].card for name in settings.workers or pool.names)
    cards = tuple(card for card in chosen if card.unusable is None)
    if not cards:
        raise PoolError(" ".join(f"{card.name} cannot be used: {card.unusable}" for card in chosen))
    return cheapest(cards) if settings.economical else cards


def cheapest(cards: Sequence[WorkerCard]) -> tuple[WorkerCard, ...]:
    """Those of the lowest known price, of a prompt and a completion of one length; all if no price is known.

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
            worker=done.output.worker,
            instruction=step.instruction,
            response=done.output.text,
            round=state.round,
            by_hand=done.output.hand is not None,
        )
        for at, (step, done) in enumerate(zip(state.workflow.steps, state.steps, strict=True))
        if done.output is not None and not done.output.empty
    )
