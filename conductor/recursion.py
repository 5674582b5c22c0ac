"""The Conductor as its own worker: a step given to it is planned and run as a workflow of its own.

Knows orchestration and the worker protocol. How deep this may go is decided by the pools: the Conductor
of the deepest level finds no Conductor in its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from conductor.engine.meter import Meter
from conductor.errors import WorkerError
from conductor.events import Event, PlanningFailed, PlanRejected, RunFinished, StepFailed
from conductor.messages import NOTHING_USED, Completion, Request, Usage
from conductor.modes import Settings
from conductor.orchestrate import orchestrate, usage_of
from conductor.planner.conductor import Conductor
from conductor.workers.pool import Pool
from conductor.workers.protocol import Inner, StreamItem, WorkerCard

MAX_DEPTH = 2
"""How many workflows may stand inside one another, below the first."""


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
        inside = "\x1e".join(card.identity for card in self.pool.cards.values())
        settings = self.settings.model_dump_json(exclude={"budget"})
        return self.conductor.card.model_copy(
            update={
                "strengths": "hard parts that need a plan of their own",
                "parameters": sha256(f"{inside}\x1e{settings}".encode()).hexdigest()[:16],
                "nested": True,
            }
        )

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Every event of the workflow inside, then its answer. Raises `WorkerError` where it gives none."""
        told = _Told()
        inside = orchestrate(
            "\n\n".join(message.content for message in request.messages),
            conductor=self.conductor,
            pool=self.pool,
            settings=self.settings,
            meter=self.meter,
        )
        async with aclosing(inside) as events:
            async for event in events:
                told.hear(event)
                yield Inner(event=event)
        if told.answer is None:
            raise WorkerError(f"{self.card.name} found no answer by a workflow of its own: {told.reason}")
        yield Completion(text=told.answer, usage=told.usage)


class _Told:
    """What the events of all rounds come to: the last answer, what it cost, and why there is none."""

    def __init__(self) -> None:
        self.answer: str | None = None
        self.usage: Usage = NOTHING_USED
        self.reason = "it wrote no plan."

    def hear(self, event: Event) -> None:
        match event:
            case RunFinished():
                self.answer = event.answer if event.answer is not None else self.answer
            case StepFailed():
                self.reason = event.message
            case PlanningFailed():
                self.reason = event.message
            case PlanRejected():
                self.reason = " ".join(problem.message for problem in event.report.problems)
        self.usage += usage_of(event)
