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


@dataclass(frozen=True)
class Caller:
    """Who asks. `name` and `token` are the token's name and id, None where none is needed.

    `workers` are the pool's workers that they may have, None for all; `budget` is the most that one request
    of theirs may spend, None where nothing is limited. A request may ask for less, never for more. `headers`
    are to go out with the answer, such as how many requests are left.
    """

    name: str | None = None
    token: str | None = None
    workers: tuple[str, ...] | None = None
    budget: Budget | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def may_have(self, card: WorkerCard) -> bool:
        """Whether that worker is theirs to use. A Conductor as a worker calls any of the pool, so it is only
        for those who may have them all.
        """
        return self.workers is None or (card.name in self.workers and not card.nested)


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


class OpenGate:
    """Lets everybody in: for tests, and for a server that only its own machine reaches."""

    async def admit(self, headers: Mapping[str, str], client: str | None) -> Caller:  # noqa: ARG002
        """See `Gate.admit`."""
        return Caller()

    async def spent(self, caller: Caller, usage: Usage) -> None:
        """Nothing is counted."""
