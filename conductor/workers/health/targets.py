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
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.worker import OpenAIWorker
from conductor.workers.keys.hosts import KeyHost
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Worker, WorkerCard


@dataclass(frozen=True)
class ProbeTarget:
    """A worker, or the Conductor, without its fallback.

    `offered`: it may be given a step, perhaps because its fallback does it.
    """

    role: Literal["conductor", "worker"]
    worker: Worker
    offered: bool

    @property
    def card(self) -> WorkerCard:
        """Its own card, also where its fallback makes it usable."""
        return self.worker.card

    @property
    def name(self) -> str:
        """What steps call it."""
        return self.card.name

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it is served; None for experts and simulated workers."""
        return self.worker.client.endpoint if isinstance(self.worker, OpenAIWorker) else None

    @cached_property
    def mark(self) -> str:
        """Differs where another one, or the same in another place, is examined."""
        where = self.endpoint.model_dump_json() if self.endpoint else ""
        card = self.card
        return "\x1f".join((self.role, card.name, card.model, card.sampling.model_dump_json(), where))


def targets(pool: Pool) -> tuple[ProbeTarget, ...]:
    """The Conductor, where the pool file names one, and the workers in order."""
    workers = tuple(map(_worker, pool.workers))
    if pool.conductor is None:
        return workers
    conductor = pool.conductor.build()
    offered = pool.conductor.as_worker and conductor.card.unusable is None
    return (ProbeTarget("conductor", conductor, offered), *workers)


def unconfirmed(found: Iterable[ProbeTarget]) -> tuple[KeyHost, ...]:
    """The keys that are set and not confirmed for the host of their endpoint, each pair once.

    Keys that cannot be looked up are left out; the card's `unusable` gives the reason.
    """
    pairs: dict[KeyHost, None] = {}
    for target in found:
        with suppress(PoolError):
            if target.endpoint is not None and (pair := target.endpoint.unconfirmed) is not None:
                pairs[pair] = None
    return tuple(pairs)


def _worker(worker: Worker) -> ProbeTarget:
    own = worker.first if isinstance(worker, FallbackWorker) else worker
    return ProbeTarget("worker", own, offered=worker.card.unusable is None)
