"""The deadlines of one attempt: the first token, the next one, and the end of all attempts.

Knows the running loop's time and an endpoint's patience.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from conductor.workers.endpoint import Patience
from conductor.workers.failures import EndpointFailure, Failures

T = TypeVar("T")

TAIL_SECONDS = 5.0
"""How long the usage and the end of the stream may take once the answer is whole."""


class Clock:
    """Runs from when it is made. `until` is the loop time at which all attempts together end."""

    def __init__(self, patience: Patience, *, until: float) -> None:
        self._patience = patience
        self._until = until
        self._began = False
        self._next = asyncio.get_running_loop().time() + patience.first_token

    def token(self) -> None:
        """Something of the answer came."""
        self._began = True
        self._next = asyncio.get_running_loop().time() + self._patience.between_tokens

    def tail(self) -> None:
        """The answer is whole."""
        tail = min(TAIL_SECONDS, self._patience.between_tokens)
        self._next = asyncio.get_running_loop().time() + tail

    async def within(self, awaited: Awaitable[T]) -> T:
        """Its result. Raises `TimeoutError` at the nearest deadline."""
        async with asyncio.timeout_at(min(self._next, self._until)):
            return await awaited

    def late(self, failures: Failures, characters: int) -> EndpointFailure:
        """Which deadline it was, after so many characters."""
        if self._until <= self._next:
            return failures.too_slow()
        return failures.stalled(characters) if self._began else failures.no_first_token()
