"""Planning, changing a plan in words, running, and asking in one call: the library's own entry.

Joins the pool's Conductor, the planner and the engine, and folds their events. Knows no store: outputs to
reuse are given as the runs that made them. `plan`, `change`, `run` and `ask` block in any thread, also where
an event loop runs, as in a notebook, and call `on_event` in another one; `aplan`, `achange`, `arun` and
`aask` are coroutines, `stream` and `astream` iterators of events.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent import futures
from contextlib import aclosing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from inspect import isawaitable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from conductor.engine.known_outputs import KnownOutputs
from conductor.engine.meter import Meter
from conductor.errors import ConductorError, PlanError
from conductor.orchestration.recorder import MemoryRecorder
from conductor.orchestration.rounds import orchestrate, plan_request, plan_round
from conductor.orchestration.runtime import Runtime, runtime_of
from conductor.planner.planner import check_query, check_wish
from conductor.runs.events import Event
from conductor.runs.request import ChangeRequest, RequestState, RunRequest
from conductor.runs.state import RunState
from conductor.values.budget import NO_BUDGET, Budget
from conductor.values.presets import Settings
from conductor.waiting import result_of
from conductor.workers.pool.pool import Pool, configured_pool
from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import ValidPlan
from conductor.workflow.selection import with_own_settings

P = ParamSpec("P")
T = TypeVar("T")
OnEvent = Callable[[Event], Awaitable[None] | None]
"""Called with each event as it happens, in the loop of the work; a coroutine is awaited."""
AnyPool = Pool | Path | str
"""A pool, or the path of its file; or built-in, or orchard."""


async def aplan(
    query: str,
    *,
    pool: AnyPool | None = None,
    settings: Settings | None = None,
    on_event: OnEvent | None = None,
) -> ValidPlan:
    """Ask the pool's Conductor for a workflow that answers `query`; the report's `workflow` is the plan.

    Without a `pool` the configured one is used (`pool.toml`, else the built-in workers). Raises `PlanError`
    with the last attempt's reason where no valid plan came and for an unknown planner, `PoolError` and
    `QueryError`.
    """
    return await _plan(query, pool=pool, settings=settings, on_event=on_event)


async def _plan(
    query: str,
    *,
    pool: AnyPool | None,
    settings: Settings | None,
    on_event: OnEvent | None,
    change: ChangeRequest | None = None,
) -> ValidPlan:
    request = RunRequest(check_query(query), settings or Settings(), change=change)
    runtime = runtime_of(pool_of(pool))
    planning = plan_round(
        plan_request(request, pool=runtime.pool),
        request,
        conductor=runtime.planner_for(request.settings),
        meter=Meter(request.settings.budget),
        recorder=MemoryRecorder(),
    )
    with _live(on_event) as follow:
        state = (await _folded(planning, follow)).attempts[-1]
    if state.report is None or state.report.workflow is None:
        raise PlanError(_no_plan(state))
    return ValidPlan.model_validate(dict(state.report))


async def achange(
    workflow: Workflow,
    query: str,
    wish: str,
    *,
    pool: AnyPool | None = None,
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
    return plan_diff(workflow, with_own_settings(workflow, report.workflow))


async def arun(
    workflow: Workflow,
    query: str,
    *,
    pool: AnyPool | None = None,
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
    with _live(on_event) as follow:
        state = await answered_request(request, runtime_of(pool_of(pool)), after=after, on_event=follow)
    return state.runs[-1]


async def aask(
    query: str,
    *,
    pool: AnyPool | None = None,
    settings: Settings | None = None,
    on_event: OnEvent | None = None,
) -> RunState:
    """Plan and run `query`, in as many rounds as the settings allow; the last round's run.

    Raises `PlanError` where the first round gave no plan, `PoolError` and `QueryError`.
    """
    request = RunRequest(check_query(query), settings or Settings())
    with _live(on_event) as follow:
        state = await answered_request(request, runtime_of(pool_of(pool)), on_event=follow)
    if not state.runs:
        raise PlanError(_no_plan(state.attempts[-1]))
    return state.runs[-1]


async def astream(
    query: str,
    *,
    workflow: Workflow | None = None,
    pool: AnyPool | None = None,
    settings: Settings | None = None,
    after: RunState | Iterable[RunState] = (),
) -> AsyncGenerator[Event, None]:
    """The events of a run of `workflow` on `query`, without one of planning and all rounds, as they happen;
    `fold` makes the state of a run of them. To close the iterator stops the work.

    Raises as `arun` and `aask`, but for an answer without a plan, which is an event.
    """
    request = RunRequest(check_query(query), settings or Settings(), workflow=workflow)
    runtime, meter = runtime_of(pool_of(pool)), Meter(request.settings.budget)
    async with aclosing(_events(request, runtime, meter, after)) as events:
        async for event in events:
            yield event


def stream(
    query: str,
    *,
    workflow: Workflow | None = None,
    pool: AnyPool | None = None,
    settings: Settings | None = None,
    after: RunState | Iterable[RunState] = (),
) -> Iterator[Event]:
    """As `astream`, in any thread but that of the work."""
    events = astream(query, workflow=workflow, pool=pool, settings=settings, after=after)
    try:
        while (event := _LOOP.wait(lambda: _next(events), name="astream")) is not None:
            yield event
    finally:
        # Python collects a stream that nothing closed when it ends, after the loop has ended the work.
        if not _LOOP.is_closing:
            _LOOP.wait(events.aclose, name="astream")


async def _next(events: AsyncGenerator[Event, None]) -> Event | None:
    return await anext(events, None)


def _reusable(after: RunState | Iterable[RunState]) -> KnownOutputs:
    runs = (after,) if isinstance(after, RunState) else after
    return KnownOutputs.of(*reversed(tuple(runs)))


async def answered_request(
    request: RunRequest,
    runtime: Runtime,
    meter: Meter | None = None,
    *,
    after: RunState | Iterable[RunState] = (),
    on_event: OnEvent | None = None,
) -> RequestState:
    """The request at its end. `meter` counts for several requests; None: one of its own."""
    meter = meter or Meter(request.settings.budget)
    return await _folded(_events(request, runtime, meter, after), on_event)


def _events(
    request: RunRequest, runtime: Runtime, meter: Meter, after: RunState | Iterable[RunState]
) -> AsyncGenerator[Event, None]:
    return orchestrate(
        replace(request, attended=False),
        conductor=runtime.planner_for(request.settings),
        pool=runtime.pool_for(meter),
        meter=meter,
        recorder=MemoryRecorder(_reusable(after)),
    )


async def _folded(events: AsyncGenerator[Event, None], on_event: OnEvent | None) -> RequestState:
    state = RequestState()
    async with aclosing(events):
        async for event in events:
            state = state.advance(event)
            if on_event is not None and isawaitable(waiting := on_event(event)):
                await waiting
    return state


@contextmanager
def _live(on_event: OnEvent | None) -> Iterator[OnEvent | None]:
    """In the kernel of a notebook, work is drawn while it goes on, unless the caller reads its events."""
    python = sys.modules.get("IPython")
    shell = None if python is None else python.get_ipython()
    with outermost() as is_outermost:
        if not is_outermost or on_event is not None or getattr(shell, "kernel", None) is None:
            yield on_event
            return
        from IPython.display import display  # noqa: PLC0415 - loaded already

        from conductor.report.graph import live_display  # noqa: PLC0415 - for notebooks alone

        with live_display(display) as draw:
            yield draw


_INSIDE = ContextVar("inside", default=False)


@contextmanager
def outermost() -> Iterator[bool]:
    """Whether this call of the library is made by no other one, as by a worker or a scorer."""
    is_outermost, token = not _INSIDE.get(), _INSIDE.set(True)
    try:
        yield is_outermost
    finally:
        _INSIDE.reset(token)


def pool_of(pool: AnyPool | None) -> Pool:
    return pool if isinstance(pool, Pool) else configured_pool(None if pool is None else Path(pool))


def _no_plan(state: RunState) -> str:
    if state.planning_failure is None and state.no_plan is not None:
        return f"The Conductor's answer holds no valid plan. {state.no_plan}"
    return state.no_plan or "The Conductor gave no plan; ask again."


# -- waiting ---------------------------------------------------------------------------------------


def waited(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Waits for the coroutine's result. An interrupt, as of a notebook's kernel, cancels it.

    Raises `ConductorError` in the thread of the loop itself, as in `on_event` and in a worker's `stream`.
    """

    @wraps(work)
    def wait(*arguments: P.args, **options: P.kwargs) -> T:
        return _LOOP.wait(lambda: work(*arguments, **options), name=work.__name__)

    wait.__name__ = wait.__qualname__ = work.__name__.removeprefix("a")
    return wait


class _Loop:
    """The loop in which all waited calls run: connections and computing processes outlive a call. One in a
    process, and another one in a process that was forked, which has no thread of the first.
    """

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.is_closing = False

    def wait(self, work: Callable[[], Coroutine[Any, Any, T]], *, name: str) -> T:
        loop = self._started()
        if threading.current_thread() is self._thread:
            raise ConductorError(
                f"{name.removeprefix('a')} waits for the loop that it is called in, as by on_event or a "
                f"worker; write `await {name}(...)` in a coroutine in its place."
            )
        if self.is_closing and not threading.current_thread().daemon:
            raise ConductorError(
                f"Python ends, and the loop of {name.removeprefix('a')} is closed; call it earlier."
            )
        try:
            future = asyncio.run_coroutine_threadsafe(_awaited(work), loop)
            try:
                return result_of(future)
            except BaseException:
                future.cancel()
                raise
        except (futures.CancelledError, RuntimeError):
            if self.is_closing:
                # A daemon thread while Python ends, which nothing waits for.
                threading.Event().wait()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._making:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="conductor-library", daemon=True
                )
                self._thread.start()
                atexit.register(self._close, os.getpid())
            return self._loop

    def _close(self, process: int) -> None:
        """Let all work end, and what it opened be closed, before Python ends."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or process != os.getpid():
            return
        self.is_closing = True
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(_cleared(loop), loop).result(timeout=_CLOSING_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=_CLOSING_SECONDS)
        if not thread.is_alive():
            loop.close()


async def _awaited(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    # Made inside of the loop: where that takes no more work, no coroutine is left without an end.
    return await work()


async def _cleared(loop: asyncio.AbstractEventLoop) -> None:
    while left := asyncio.all_tasks(loop) - {asyncio.current_task()}:
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    await loop.shutdown_asyncgens()


_CLOSING_SECONDS = 2.0

_LOOP = _Loop()


def _forget_loop() -> None:
    """In a forked process: the loop's thread is not there, and another one may have held its lock."""
    global _LOOP, _PARENT
    _PARENT, _LOOP = _LOOP, _Loop()


_PARENT: _Loop | None = None
"""The loop of the process that this one was forked from; never collected, which would use its connections."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)


plan = waited(aplan)
change = waited(achange)
run = waited(arun)
ask = waited(aask)
