"""The planner and the workers: a pool and the Conductor that writes workflows for it.

A frozen value, so that what has begun continues with the same ones, whatever is configured meanwhile.
Knows neither files nor sessions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TypeVar

from conductor.baselines.named import planner_named
from conductor.baselines.planner_file.file_planner import PREFIX, FilePlanner
from conductor.engine.meter import Meter
from conductor.errors import FormatError, PoolError, WorkerError
from conductor.orchestration.rounds import orchestrate
from conductor.planner.conductor import Conductor
from conductor.planner.model_planner import ModelConductor
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.events import TextPiece
from conductor.runs.request import RequestState, RunRequest
from conductor.runs.state import RunState
from conductor.values.budget import NO_BUDGET
from conductor.values.messages import Completion, Request
from conductor.values.presets import Settings
from conductor.workers.endpoint.batches.batch_client import PRICE_SHARE, BatchClient
from conductor.workers.endpoint.batches.batch_queue import Batches
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.kinds import ConductorEntry
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.schema import LocalConductorTable
from conductor.workers.pool.table import PlannerTable, built
from conductor.workers.protocol import Inner, StreamItem, Worker, WorkerCard
from conductor.workers.tools.tool_worker import ToolWorker, without_tools


@dataclass(frozen=True)
class Runtime:
    """`nests`: the Conductor is one more worker of its own pool, in addition to `workers`."""

    workers: Pool
    conductor: Conductor
    nests: bool = False

    @cached_property
    def pool(self) -> Pool:
        return self.pool_for(Meter(NO_BUDGET))

    def card_of(self, name: str) -> WorkerCard | None:
        """What is known of the worker of this name, or of the Conductor; None if it is neither."""
        own = self.conductor.card
        return self.workers.cards.get(name, own if own.name == name else None)

    def planner_for(self, settings: Settings) -> Conductor:
        """Who plans with these settings. Raises `PlanError` where they name a planner that does not exist."""
        if settings.planner is None:
            return self.conductor
        return planner_named(settings.planner, self.workers, base=self.conductor)

    def pool_for(self, meter: Meter) -> Pool:
        """The pool of a run whose spending `meter` counts."""
        if not self.nests:
            return self.workers
        # A step's inner workflow is planned by the Conductor that the step names.
        own = self.conductor.base if isinstance(self.conductor, FilePlanner) else self.conductor
        return with_conductor(self.workers, own, settings=Settings(), meter=meter)

    def batched(self, batches: Batches) -> Runtime:
        """The same, whose served models are called in batches at the price of these. Raises `PoolError`
        where no model of an endpoint is among them.
        """
        conductor = self.conductor
        models = [worker for worker in self.workers.workers if worker.card.kind == "model"]
        if not models and not isinstance(conductor, ModelConductor):
            raise PoolError("No worker of the pool is a model of an endpoint, so nothing is sent in batches.")
        replacements: dict[int, Worker] = {}
        workers = tuple(_batched(worker, batches, replacements) for worker in self.workers.workers)
        if isinstance(conductor, FilePlanner) and isinstance(conductor.base, ModelConductor):
            conductor = replace(conductor, base=_in_batches(conductor.base, batches))
        elif isinstance(conductor, ModelConductor):
            conductor = _in_batches(conductor, batches)
        return replace(self, workers=replace(self.workers, workers=workers), conductor=conductor)


Called = TypeVar("Called", OpenAIWorker, ModelConductor)


def _in_batches(called: Called, batches: Batches) -> Called:
    other = copy(called)
    other.client = BatchClient(called.client.endpoint, name=called.card.name, batches=batches)
    price = called.card.price
    halved = None if price is None else price.times(PRICE_SHARE)
    other.card = called.card.model_copy(update={"price": halved})
    return other


def _batched(worker: Worker, batches: Batches, replacements: dict[int, Worker]) -> Worker:
    """The worker in batches; each object once, also where it is another's fallback."""
    if id(worker) not in replacements:
        other = worker
        if isinstance(worker, FallbackWorker):
            other = FallbackWorker(
                *(_batched(each, batches, replacements) for each in (worker.first, worker.second))
            )
        elif isinstance(worker, ToolWorker):
            other = replace(worker, worker=_batched(worker.worker, batches, replacements))
        elif isinstance(worker, OpenAIWorker):
            other = _in_batches(worker, batches)
        replacements[id(worker)] = other
    return replacements[id(worker)]


Runtimes = Callable[[], Runtime]
"""The runtime for what begins now. Raises `PoolError` while what is configured cannot be read."""


def runtime_of(pool: Pool) -> Runtime:
    """The pool with the Conductor that plans for it: the model that its file names, else the rules.

    A planner that learnt is on top of either, if the file chooses one. Raises `PoolError` where the card of a
    local Conductor or the file of a planner cannot be read.
    """
    entry = pool.conductor
    conductor = _conductor(entry)
    if pool.planner is not None:
        try:
            conductor = planner_named(f"{PREFIX}{pool.planner}", pool, base=conductor)
        except FormatError as error:
            raise PoolError(f"[planners] of the pool file: {error}") from error
    return Runtime(workers=pool, conductor=conductor, nests=entry is not None and entry.as_worker)


def _conductor(entry: ConductorEntry | None) -> Conductor:
    if entry is None:
        return OfflineConductor()
    if isinstance(entry, LocalConductorTable):
        # Here, because most pools have no local model and need not wait for numpy.
        from conductor.planner.local.local_conductor import LocalConductor  # noqa: PLC0415

        return LocalConductor(entry)
    if isinstance(entry, PlannerTable):
        planner: Conductor = built(entry)
        return planner
    return ModelConductor(entry)


MAX_DEPTH = 2
"""How many workflows may be inside one another, below the first."""


def with_conductor(
    pool: Pool, conductor: Conductor, *, settings: Settings, meter: Meter, depth: int = MAX_DEPTH
) -> Pool:
    """`pool` with the Conductor as its last worker, `depth` levels deep; `meter` counts what all spend."""
    inside = pool
    for _ in range(depth):
        nested = ConductorWorker(conductor=conductor, pool=inside, settings=settings, meter=meter)
        inside = replace(pool, workers=(*pool.workers, nested))
    return inside


@dataclass(frozen=True)
class ConductorWorker:
    """Answers a request by a workflow that `conductor` plans over `pool`.

    The pools limit the depth: the Conductor of the deepest level has no Conductor in its pool.
    """

    conductor: Conductor
    pool: Pool
    settings: Settings
    meter: Meter

    @cached_property
    def card(self) -> WorkerCard:
        """The Conductor's, for a worker whose answers depend on its whole pool."""
        inside = "\x1e".join(worker.card.identity for worker in self.pool.workers)
        settings = self.settings.model_dump_json(exclude={"budget"})
        return self.conductor.card.model_copy(
            update={
                "strengths": "hard parts that need a plan of their own",
                "parameters": sha256(f"{inside}\x1e{settings}".encode()).hexdigest()[:16],
                "nested": True,
            }
        )

    def only(self, names: Collection[str]) -> ConductorWorker:
        """The same over a pool of these workers. Raises `PoolError` if no other is left."""
        others = [worker.card.name for worker in self.pool.workers if worker.card.name != self.card.name]
        if not any(name in names for name in others):
            raise PoolError(
                f"{self.card.name} runs its own workflow for a step but may call no other worker: allow "
                f"{', '.join(others)}."
            )
        return replace(self, pool=self.pool.only(names))

    def without_tools(self) -> ConductorWorker:
        """See `RunsWorkflows`."""
        return replace(self, pool=replace(self.pool, workers=tuple(map(without_tools, self.pool.workers))))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Every event of the workflow inside, then its answer. Raises `WorkerError` where it gives none."""
        state = RequestState()
        query = "\n\n".join(message.content for message in request.messages)
        inside = orchestrate(
            RunRequest(query, settings=self.settings, attended=False),
            conductor=self.conductor,
            pool=self.pool,
            meter=self.meter,
        )
        async with aclosing(inside) as events:
            async for event in events:
                if not isinstance(event, TextPiece):
                    state = state.advance(event)
                yield Inner(event=event)
        answered = [run for run in state.runs if run.answer is not None]
        if not answered:
            raise WorkerError(
                f"{self.card.name} found no answer by a workflow of its own: {_reason(state)}",
                outage=state.attempts[-1].outage if state.attempts else None,
            )
        last = answered[-1]
        output = None if last.answer_step is None else last.steps[last.answer_step].output
        is_answer = output is not None and not output.empty and not output.refused
        yield Completion(
            text=last.answer or "", usage=state.used.usage, finish_reason="stop" if is_answer else "refused"
        )


def _reason(state: RequestState) -> str:
    last = state.attempts[-1] if state.attempts else RunState()
    failed = [step for step in last.steps if step.message is not None]
    if last.no_plan is None and failed:
        return max(failed, key=lambda step: step.finished_at or 0.0).message or ""
    return last.no_plan or "it wrote no plan."
