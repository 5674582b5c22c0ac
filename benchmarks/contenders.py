"""Who runs a workflow: the floor, one step after another, the engine, the engine with a store, a request.

Each contender prepares its runs outside of the clock and gives back coroutines, one for each run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from benchmarks.shapes import QUERY, simulated_pool
from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.orchestration.rounds import new_id
from conductor.runs.request import RunRequest
from conductor.workers.pool.pool import Pool
from conductor.workflow.model import Workflow
from storage import SessionStore
from storage.records import RequestSession
from studio.sessions.background_runs import LiveRun


@dataclass(frozen=True)
class Load:
    """`runs` runs of `workflow`; each step waits `latency` seconds."""

    workflow: Workflow
    latency: float
    runs: int


Runs = list[Coroutine[Any, Any, None]]
Contender = Callable[[Load, SessionStore], Runs]


def floor(load: Load, _store: SessionStore) -> Runs:
    """A bare `asyncio.TaskGroup`: the same waiting in the same order, and nothing else."""
    return [_task_group(load) for _ in range(load.runs)]


async def _task_group(load: Load) -> None:
    tasks: list[asyncio.Task[None]] = []
    async with asyncio.TaskGroup() as group:
        for step in load.workflow.steps:
            reads = [tasks[read] for read in step.access]
            tasks.append(group.create_task(_wait(reads, load.latency)))


async def _wait(reads: list[asyncio.Task[None]], latency: float) -> None:
    for read in reads:
        await read
    await asyncio.sleep(latency)


def one_after_another(load: Load, _store: SessionStore) -> Runs:
    """What a program does that knows no order but the list's: wait for each step in turn."""
    return [_in_turn(load) for _ in range(load.runs)]


async def _in_turn(load: Load) -> None:
    for _ in load.workflow.steps:
        await asyncio.sleep(load.latency)


def workflow_run(workflow: Workflow, pool: Pool, *, run: str) -> WorkflowRun:
    """A run of `workflow` that has not started."""
    return WorkflowRun(BoundWorkflow.of(workflow, query=QUERY, pool=pool), pool, run=run)


def engine(load: Load, _store: SessionStore) -> Runs:
    """The engine on simulated workers; its events are read and dropped."""
    return [_drop(load.workflow, _own_pool(load)) for _ in range(load.runs)]


def _own_pool(load: Load) -> Pool:
    """A pool for one run, because the simulated worker remembers its requests as long as it lives.

    As the app's pool, which serves every run, it has worked out beforehand who is in it.
    """
    pool = simulated_pool(load.latency)
    for step in load.workflow.steps:
        pool.identities[pool[step.worker].card.name]
    return pool


async def _drop(workflow: Workflow, pool: Pool) -> None:
    async for _ in workflow_run(workflow, pool, run="measured").events():
        pass


def durable_engine(load: Load, store: SessionStore) -> Runs:
    """The engine as the app runs it: events folded and appended; the end waits for the last commit.

    The runs are started in the store beforehand; see `start_runs`.
    """
    started = start_runs(load, store)
    return [_keep(load.workflow, _own_pool(load), run=run, store=store) for run in started]


async def _keep(
    workflow: Workflow, pool: Pool, *, run: str, store: SessionStore, beginning: Future[None] | None = None
) -> None:
    live = LiveRun(workflow_run(workflow, pool, run=run), store.runs, start_write=beginning)
    async for _ in live.events():
        pass
    if live.unsaved is not None:
        raise RuntimeError(f"The measured run was not kept: {live.unsaved}")


def start_runs(load: Load, store: SessionStore) -> list[str]:
    """Ids of new runs, each in a session of its own and started in the store by its own durable write."""
    return [_start_run(load, store) for _ in range(load.runs)]


def _start_run(load: Load, store: SessionStore) -> str:
    session = store.sessions.create(QUERY).id
    revision = store.revisions.add(session, load.workflow, origin="human").id
    return store.runs.start(run=uuid4().hex, session=session, revision=revision).id


def durable_request(load: Load, store: SessionStore) -> Runs:
    """The engine as the API runs it: a new session, its revision and its run are written while it runs."""
    return [_request(load.workflow, _own_pool(load), store) for _ in range(load.runs)]


async def _request(workflow: Workflow, pool: Pool, store: SessionStore) -> None:
    run = new_id()
    request = RunRequest(query=QUERY, workflow=workflow)
    beginning = store.requests.begin(request, session=new_id(), stored_as=RequestSession(), run=run)
    await _keep(workflow, pool, run=run, store=store, beginning=beginning)


CONTENDERS: Mapping[str, Contender] = {
    "task group": floor,
    "one after another": one_after_another,
    "engine": engine,
    "engine, durable": durable_engine,
    "engine, durable, with its session": durable_request,
}
FLOOR = "task group"
