"""What of a pool can be examined: its Conductor and its workers, each with its endpoint.

Knows a pool's parts; sends no request.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from conductor.errors import PoolError
from conductor.values.messages import Sampling
from conductor.values.output import WorkerKind
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.worker import OpenAIWorker
from conductor.workers.keys.hosts import KeyHost
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.schema import ConductorEntry
from conductor.workers.protocol import Price, Worker


@dataclass(frozen=True)
class ProbeTarget:
    """A worker, or the Conductor, without its fallback. `context` is in tokens.

    `endpoint` is None for experts and fakes, `worker` for the Conductor. `unusable` is the reason why it
    cannot be called with the present settings, `offered`: it may be given a step all the same, because its
    fallback does it.
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
    unusable: str | None
    offered: bool

    @cached_property
    def mark(self) -> str:
        """Differs where another one, or the same in another place, is examined."""
        where = self.endpoint.model_dump_json() if self.endpoint else ""
        return "\x1f".join((self.role, self.name, self.model, self.sampling.model_dump_json(), where))


def targets(pool: Pool) -> tuple[ProbeTarget, ...]:
    """The Conductor, where the pool file names one, and the workers in order."""
    workers = tuple(map(_worker, pool.workers))
    return workers if pool.conductor is None else (_conductor(pool.conductor), *workers)


def unconfirmed(found: Iterable[ProbeTarget]) -> tuple[KeyHost, ...]:
    """The keys that are set and not confirmed for the host of their endpoint, each pair once.

    Keys that cannot be looked up are left out; each target's `unusable` gives the reason.
    """
    pairs: dict[KeyHost, None] = {}
    for target in found:
        with suppress(PoolError):
            if target.endpoint is not None and (pair := target.endpoint.unconfirmed) is not None:
                pairs[pair] = None
    return tuple(pairs)


def _worker(worker: Worker) -> ProbeTarget:
    card = worker.card
    asked = worker
    while isinstance(asked, FallbackWorker):
        asked = asked.first
    return ProbeTarget(
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
        unusable=asked.card.unusable,
        offered=card.unusable is None,
    )


def _conductor(entry: ConductorEntry) -> ProbeTarget:
    fault = entry.endpoint.key_fault()
    return ProbeTarget(
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
        unusable=fault,
        offered=entry.as_worker and fault is None,
    )
