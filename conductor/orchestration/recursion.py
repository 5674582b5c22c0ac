"""The Conductor as its own worker: a step given to it is planned and run as an inner workflow.

Knows orchestration and the worker protocol. The pools limit the depth: the Conductor of the deepest level has
no Conductor in its pool.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from conductor.engine.meter import Meter
from conductor.errors import PoolError, WorkerError
from conductor.orchestration.rounds import orchestrate
from conductor.planner.conductor import Conductor
from conductor.runs.events import TextPiece
from conductor.runs.request import RequestState, RunRequest
from conductor.runs.state import RunState
from conductor.values.messages import Completion, Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Inner, StreamItem, WorkerCard
from conductor.workers.tools.tool_worker import without_tools

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
    """Answers a request by a workflow that `conductor` plans over `pool`."""

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
