"""What the engine asks of a worker: a card, and an async stream of deltas ending in a completion.

Knows messages only. A worker raises `WorkerError` for whatever keeps it from answering; it is
stopped by closing its stream, and frees what it holds then.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from conductor.messages import Completion, Delta, Request, Sampling, Value
from conductor.output import WorkerKind


class WorkerCard(Value):
    """What is known of a worker without asking it anything.

    `strengths` is the one line a Conductor reads. `model` is the served model's name, for an expert or a
    fake its kind of skill. `takes_sampling` says whether sampling parameters mean anything to it.
    """

    name: str
    kind: WorkerKind
    strengths: str
    model: str
    sampling: Sampling = Sampling()
    takes_sampling: bool = False

    @property
    def identity(self) -> str:
        """Text that differs where two workers may answer the same request differently."""
        return "\x1f".join((self.kind, self.model, self.name, self.sampling.model_dump_json()))


class Worker(Protocol):
    """A worker of the pool."""

    @property
    def card(self) -> WorkerCard:
        """Who this is."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """Answer `request`: any number of deltas, then one completion with the whole text.

        Raises `WorkerError` when there is no answer.
        """
        ...
