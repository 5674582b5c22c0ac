"""Planning, changing a plan in words, running, and asking in one call: the library's own entry.

Joins the pool's Conductor, the planner and the engine, and folds their events. Knows no store: outputs to
reuse are given as the runs that made them. `plan`, `change`, `run` and `ask` block in any thread, also where
an event loop runs, as in a notebook, and call `on_event` in another one; `aplan`, `achange`, `arun` and
`aask` are coroutines.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import aclosing
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from conductor.engine.known_outputs import KnownOutputs
from conductor.engine.meter import Meter
from conductor.errors import PlanError
from conductor.orchestration.recorder import MemoryRecorder
from conductor.orchestration.rounds import orchestrate, plan_request, plan_round
from conductor.orchestration.runtime import runtime_of
from conductor.planner.planner import check_query, check_wish
from conductor.runs.events import Event
from conductor.runs.request import RequestState, RunRequest
from conductor.runs.state import RunState
from conductor.values.budget import NO_BUDGET, Budget
from conductor.values.presets import Settings
from conductor.waiting import result_of
from conductor.workers.pool.pool import Pool, configured_pool
from conductor.workflow.change_request import ChangeRequest
from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport
from conductor.workflow.selection import with_own_settings

P = ParamSpec("P")
T = TypeVar("T")
OnEvent = Callable[[Event], None]


async def aplan(
    query: str, *, pool: Pool | None = None, settings: Settings | None = None, on_event: OnEvent | None = None
) -> PlanReport:
    """Ask the pool's Conductor for a workflow that answers `query`; the report's `workflow` is the plan.

    Without a `pool` the configured one is used (`pool.toml`, else the built-in workers). Raises `PlanError`
    with the last attempt's reason where no valid plan came and for an unknown planner, `PoolError` and
    `QueryError`.
    """
    return await _plan(query, pool=pool, settings=settings, on_event=on_event)


async def _plan(
    query: str,
    *,
    pool: Pool | None,
    settings: Settings | None,
    on_event: OnEvent | None,
    change: ChangeRequest | None = None,
) -> PlanReport:
    request = RunRequest(check_query(query), settings or Settings(), change=change)
    runtime = runtime_of(pool or configured_pool())
    planning = plan_round(
        plan_request(request, pool=runtime.pool),
        request,
        conductor=runtime.planner_for(request.settings),
        meter=Meter(request.settings.budget),
        recorder=MemoryRecorder(),
    )
    state = (await _folded(planning, on_event)).attempts[-1]
    if state.report is None or state.report.workflow is None:
        raise PlanError(_no_plan(state))
    return state.report


async def achange(
    workflow: Workflow,
    query: str,
    wish: str,
    *,
    pool: Pool | None = None,
    settings: Settings | None = None,
    on_event: OnEvent | None = None,
) -> PlanDiff:
    """Ask the pool's Conductor to change `workflow`, a plan for `query`, as described in `wish`.

    The diff's `new` is the changed plan; `take_rows` takes a part of it, and `workflow` is as it was. A plan
    with more steps than the settings allow may keep as many. Raises `PlanError` where no valid plan came and
    for a planner that cannot do that, such as the rules; `PoolError`, and `QueryError` for a bad
    query or wish.
    """
    run_settings = settings or Settings()
    run_settings = run_settings.model_copy(update={"max_steps": max(run_settings.max_steps, len(workflow))})
    change = ChangeRequest(workflow=workflow, wish=check_wish(wish))
    report = await _plan(query, pool=pool, settings=run_settings, on_event=on_event, change=change)
    assert report.workflow is not None, "a report without a workflow is no plan"
    return plan_diff(workflow, with_own_settings(workflow, report.workflow))


async def arun(
    workflow: Workflow,
    query: str,
    *,
    pool: Pool | None = None,
    after: RunState | Iterable[RunState] = (),
    budget: Budget = NO_BUDGET,
    on_event: OnEvent | None = None,
) -> RunState:
    """Run `workflow` on `query` and return its fold, with the `answer` and the `outputs`.

    `after` is one or more earlier runs, the newest last: a step keeps the output that it had there, and is
    not called, as long as its request is the same. A failed step raises nothing: the state's `status` and
    steps show it. Raises `WorkflowError` where a step names a worker that the pool does not have, `PoolError`
    and `QueryError`.
    """
    request = RunRequest(check_query(query), Settings(budget=budget), workflow=workflow)
    runs = (after,) if isinstance(after, RunState) else after
    reusable = KnownOutputs.of(*reversed(tuple(runs)))
    state = await _folded(_events(request, pool, MemoryRecorder(reusable)), on_event)
    return state.runs[-1]


async def aask(
    query: str, *, pool: Pool | None = None, settings: Settings | None = None, on_event: OnEvent | None = None
) -> RunState:
    """Plan and run `query`, in as many rounds as the settings allow; the last round's run.

    Raises `PlanError` where the first round gave no plan, `PoolError` and `QueryError`.
    """
    request = RunRequest(check_query(query), settings or Settings())
    state = await _folded(_events(request, pool, MemoryRecorder()), on_event)
    if not state.runs:
        raise PlanError(_no_plan(state.attempts[-1]))
    return state.runs[-1]


def _events(request: RunRequest, pool: Pool | None, recorder: MemoryRecorder) -> AsyncGenerator[Event, None]:
    meter = Meter(request.settings.budget)
    runtime = runtime_of(pool or configured_pool())
    return orchestrate(
        request,
        conductor=runtime.planner_for(request.settings),
        pool=runtime.pool_for(meter),
        meter=meter,
        recorder=recorder,
    )


async def _folded(events: AsyncGenerator[Event, None], on_event: OnEvent | None) -> RequestState:
    state = RequestState()
    async with aclosing(events):
        async for event in events:
            state = state.advance(event)
            if on_event is not None:
                on_event(event)
    return state


def _no_plan(state: RunState) -> str:
    if state.planning_failure is None and state.no_plan is not None:
        return f"The Conductor's answer holds no valid plan. {state.no_plan}"
    return state.no_plan or "The Conductor gave no plan; ask again."


# -- waiting ---------------------------------------------------------------------------------------


def _waited(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Waits for the coroutine's result. An interrupt, as of a notebook's kernel, cancels it."""

    @wraps(work)
    def wait(*arguments: P.args, **options: P.kwargs) -> T:
        future = asyncio.run_coroutine_threadsafe(work(*arguments, **options), _loop())
        try:
            return result_of(future)
        except BaseException:
            future.cancel()
            raise

    wait.__name__ = wait.__qualname__ = work.__name__.removeprefix("a")
    return wait


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop in which all waited calls run: connections and computing processes outlive a call."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="conductor-library", daemon=True)
    thread.start()

    def close() -> None:
        asyncio.run_coroutine_threadsafe(loop.shutdown_asyncgens(), loop).result(timeout=2)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=2)
        loop.close()

    atexit.register(close)
    return loop


plan = _waited(aplan)
change = _waited(achange)
run = _waited(arun)
ask = _waited(aask)
