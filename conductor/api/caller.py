"""Who asks, and what they may: the protocol between the API and whoever keeps its gate.

Values and a protocol; knows neither tokens nor how they are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from conductor.budget import Budget
from conductor.messages import Usage
from conductor.workers.protocol import WorkerCard
from conductor.workflow import Workflow


@dataclass(frozen=True)
class Caller:
    """Who asks. `token` is the id of their token, None where none is needed.

    `workers` are the pool's workers that they may have, None for all; `budget` is the most that one request
    of theirs may spend, None where nothing is limited. A request may ask for less, never for more. `headers`
    are to go out with the answer, such as how many requests are left.
    """

    token: str | None = None
    workers: tuple[str, ...] | None = None
    budget: Budget | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def may_have(self, card: WorkerCard) -> bool:
        """Whether that worker is theirs to use. A Conductor as a worker calls any of the pool, so it is only
        for those who may have them all.
        """
        return self.workers is None or (card.name in self.workers and not card.nested)

    def may_run(self, workflow: Workflow, cards: Mapping[str, WorkerCard]) -> bool:
        """Whether all workers of the workflow are theirs; `cards` are the pool's."""
        return self.workers is None or all(
            name in cards and self.may_have(cards[name]) for name in workflow.workers()
        )


class Gate(Protocol):
    """Lets requests in, before anything of them but their headers is read."""

    async def admit(self, headers: Mapping[str, str], client: str | None) -> Caller:
        """Who sends a request with these `headers` (names in lower case) from the address `client`.

        Raises `ApiError` where they may not.
        """
        ...

    async def spent(self, caller: Caller, usage: Usage) -> None:
        """What a request of the caller's used in the end, also where it was stopped."""
        ...
