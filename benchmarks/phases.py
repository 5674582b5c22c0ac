"""Where the engine's time goes: the parts of a run done again one by one, without the run.

Knows the engine's parts by their public names; what they leave of a run's time is asyncio's and the
engine's own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

from benchmarks.contenders import workflow_run
from benchmarks.measure import Spread
from benchmarks.shapes import WORKER, simulated_pool
from conductor.engine.bound_workflow import BoundWorkflow
from conductor.runs.events import EVENT, StepFinished, StepStarted
from conductor.runs.state import fold
from conductor.values.messages import Request
from conductor.values.output import Output
from conductor.workers.protocol import Worker
from conductor.workflow.model import Workflow

Part = Callable[[], Awaitable[None]]


def phases(workflow: Workflow, *, rounds: int, repeats: int) -> dict[str, Spread]:
    """Seconds a step of each part of a run whose steps wait for nothing."""
    return asyncio.run(_phases(workflow, rounds=rounds, repeats=repeats))


async def _phases(workflow: Workflow, *, rounds: int, repeats: int) -> dict[str, Spread]:
    parts = await _parts(workflow)
    samples: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(rounds):
        for name, part in parts.items():
            start = time.perf_counter()
            for _ in range(repeats):
                await part()
            samples[name].append((time.perf_counter() - start) / repeats / len(workflow))
    return {name: Spread.of(seconds) for name, seconds in samples.items()}


async def _parts(workflow: Workflow) -> Mapping[str, Part]:
    pool = simulated_pool(0.0)
    run = workflow_run(workflow, pool, run="measured")
    events = [event async for event in run.events()]
    outputs = {event.step: event.output for event in events if isinstance(event, StepFinished)}
    requests = [event.request for event in events if isinstance(event, StepStarted)]
    bound = BoundWorkflow.of(workflow, query=requests[0].query, pool=pool)

    async def ask() -> None:
        _ask(bound, outputs)

    values = [(type(value), dict(value)) for value in (*outputs.values(), *events)]

    async def record() -> None:
        for kind, fields in values:
            kind(**fields)

    async def answer() -> None:
        await _answer(pool[WORKER], requests)

    async def fold_events() -> None:
        fold(events)

    async def write() -> None:
        for event in events:
            EVENT.dump_json(event)

    return {
        "fingerprints and requests": ask,
        "events and outputs": record,
        "simulated worker": answer,
        "fold (with a store)": fold_events,
        "JSON (with a store, in its thread)": write,
    }


def _ask(bound: BoundWorkflow, outputs: Mapping[int, Output]) -> None:
    for step in range(len(bound.workflow)):
        bound.call(step, outputs)


async def _answer(worker: Worker, requests: Iterable[Request]) -> None:
    for request in requests:
        async for _ in worker.stream(request):
            pass
