"""The Conductor as the planner sees it: a card, a dialect, and a stream of text for a planning request.

Knows neither how a completion is read (parse) nor who writes it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from conductor.messages import Completion, Delta, Value
from conductor.plan import Dialect
from conductor.workers.protocol import WorkerCard

MAX_PLANNED_STEPS = 5
"""The published Conductor's limit on the steps of a plan."""


class PlanRequest(Value):
    """What a Conductor is asked: the query, the numbered pool (from 0) and the limit on steps."""

    query: str
    workers: tuple[WorkerCard, ...]
    max_steps: int = MAX_PLANNED_STEPS


class Conductor(Protocol):
    """Whoever writes workflows."""

    @property
    def card(self) -> WorkerCard:
        """Who this is."""
        ...

    @property
    def dialect(self) -> Dialect:
        """How its access lists are to be read."""
        ...

    def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        """Write a completion for `request`; raises `WorkerError` when there is none."""
        ...
