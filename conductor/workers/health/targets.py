"""Who of a pool can be examined: its Conductor and its workers, each with its endpoint.

Knows a pool's parts; asks nobody anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from conductor.messages import Sampling
from conductor.output import WorkerKind
from conductor.workers.endpoint import Endpoint
from conductor.workers.entries import ConductorEntry
from conductor.workers.fallback import FallbackWorker
from conductor.workers.openai import OpenAIWorker
from conductor.workers.pool import Pool
from conductor.workers.protocol import Price, Worker


@dataclass(frozen=True)
class Subject:
    """A worker, or the Conductor; who stands in for a worker is left out. `context` is in tokens.

    `endpoint` is None for experts and fakes, `worker` for the Conductor.
    """

    role: Literal["conductor", "worker"]
    name: str
    kind: WorkerKind
    model: str
    strengths: str
    sampling: Sampling
    price: Price | None
    context: int | None
    fallback: str | None
    endpoint: Endpoint | None
    worker: Worker | None

    @cached_property
    def mark(self) -> str:
        """Differs where another one, or the same in another place, is examined."""
        where = self.endpoint.model_dump_json() if self.endpoint else ""
        return "\x1f".join((self.role, self.name, self.model, self.sampling.model_dump_json(), where))


def subjects(pool: Pool) -> tuple[Subject, ...]:
    """The Conductor, where the pool file names one, and the workers in order."""
    workers = tuple(map(_worker, pool.workers))
    return workers if pool.conductor is None else (_conductor(pool.conductor), *workers)


def _worker(worker: Worker) -> Subject:
    card = worker.card
    asked = worker
    while isinstance(asked, FallbackWorker):
        asked = asked.first
    return Subject(
        role="worker",
        name=card.name,
        kind=card.kind,
        model=card.model,
        strengths=card.strengths,
        sampling=card.sampling,
        price=card.price,
        context=card.context,
        fallback=card.fallback,
        endpoint=asked.client.endpoint if isinstance(asked, OpenAIWorker) else None,
        worker=asked,
    )


def _conductor(entry: ConductorEntry) -> Subject:
    return Subject(
        role="conductor",
        name=entry.name,
        kind="model",
        model=entry.endpoint.model,
        strengths=entry.strengths or "",
        sampling=entry.sampling,
        price=entry.price,
        context=entry.context,
        fallback=None,
        endpoint=entry.endpoint,
        worker=None,
    )
