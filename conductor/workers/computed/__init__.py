"""Workers that compute from the responses they see and call no model: a vote, and a selection.

Every pool has them, without a number: a Conductor is not offered them, and any step may name them.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor.workers.computed.select import SelectWorker
from conductor.workers.computed.vote import VoteWorker
from conductor.workers.protocol import Worker, WorkerCard

COMPUTED_WORKERS: Mapping[str, Worker] = {
    worker.card.name: worker for worker in (VoteWorker(), SelectWorker())
}
"""By name. A pool's own worker of such a name takes its place."""


def is_computed(card: WorkerCard) -> bool:
    """Whether the worker is one of these."""
    known = COMPUTED_WORKERS.get(card.name)
    return known is not None and known.card == card
