"""The attempts of one call: their deadlines, the pauses between them, and what they share.

Knows the running loop's time, failures and an endpoint's limits; knows nothing of requests.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from conductor.workers.endpoint.config import Patience
from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.endpoint.rate_limits import Limits
from conductor.workers.keys.mask import NO_KEYS, Mask

# -- deadlines ---------------------------------------------------------------------------------------

T = TypeVar("T")

TAIL_SECONDS = 5.0
"""How long the usage and the end of the stream may take once the answer is whole."""


class Deadlines:
    """The deadlines of one attempt, which begins now: its first token, the next one, the end of all attempts.

    `until` is the loop time at which all attempts together end.
    """

    def __init__(self, patience: Patience, *, until: float) -> None:
        self._patience = patience
        self._until = until
        self._began = False
        self._next = asyncio.get_running_loop().time() + patience.first_token

    def token(self) -> None:
        """A part of the answer came."""
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


# -- pauses ------------------------------------------------------------------------------------------

LONGEST_PAUSE = 60.0
"""Seconds; after a longer `retry-after` too, the next attempt starts when these are over."""

_BACKOFF = wait_random_exponential(multiplier=0.5, min=0.1, max=8)
_JITTER = 0.1


class Retries:
    """The attempts of one call, of which there are at most 1 + `retries`."""

    def __init__(self, retries: int) -> None:
        self._retrying = Retrying(
            stop=stop_after_attempt(retries + 1),
            wait=_pause,
            retry=retry_if_exception(_may_pass),
            reraise=True,
        )
        self._retrying.begin()
        self._call = RetryCallState(self._retrying, fn=None, args=(), kwargs={})

    def pause(self, failure: EndpointFailure) -> float:
        """The seconds before the next attempt. Raises `failure` where there is none."""
        self._call.set_exception((type(failure), failure, failure.__traceback__))
        self._retrying.iter(self._call)
        seconds = self._call.upcoming_sleep
        self._call.prepare_for_next_attempt()
        return seconds


def pause_note(failure: EndpointFailure) -> str:
    """The clause for a server that requested a longer pause than it gets, "" for others."""
    if failure.retry_after is None or failure.retry_after <= LONGEST_PAUSE:
        return ""
    return f"; it asks for {failure.retry_after:,.0f} seconds, of which {LONGEST_PAUSE:.0f} are waited"


def _pause(call: RetryCallState) -> float:
    failure = call.outcome.exception() if call.outcome is not None else None
    if not isinstance(failure, EndpointFailure) or failure.retry_after is None:
        return _BACKOFF(call)
    requested = min(failure.retry_after, LONGEST_PAUSE)
    # Callers that were refused together should not come back together.
    return requested + random.uniform(0, requested * _JITTER)  # noqa: S311 - no secret


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, EndpointFailure) and error.transient


# -- a call ------------------------------------------------------------------------------------------


@dataclass
class Call:
    """One call. All its attempts together may take `total` seconds, without the wait for the first one.

    `until` is the loop time at which they end, None before the first.
    """

    limits: Limits
    retries: Retries
    total: float
    key: str | None = field(default=None, repr=False)
    mask: Mask = NO_KEYS
    until: float | None = None

    async def enter(self) -> float:
        """Wait until an attempt may begin; `until`. Raises `TimeoutError` when that is past."""
        async with asyncio.timeout_at(self.until):
            await self.limits.enter()
        if self.until is None:
            self.until = asyncio.get_running_loop().time() + self.total
        return self.until

    def leave(self) -> None:
        """The attempt has ended."""
        self.limits.leave()

    def can_wait(self, seconds: float) -> bool:
        """Whether another attempt could begin after this pause."""
        return self.until is None or asyncio.get_running_loop().time() + seconds < self.until
