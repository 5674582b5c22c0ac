"""Times the requests of an endpoint: its queue, pauses and deadlines.

Entries of one model at one endpoint with one key share their traffic: each request is held to the limits of
its own entry, and requests of the others count. Traffic is counted for the whole process, in every event loop
and through every reading of the pool. Where requests wait, the people who ask take turns, and so do the
sessions of each; requests of one session begin in the order in which they came.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import Awaitable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

from conductor.values.messages import NOTHING_USED, Retried
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.failures import EndpointFailure, Failures

T = TypeVar("T")

# -- the queue ---------------------------------------------------------------------------------------

MINUTE = 60.0

IDLE_SECONDS = 3600.0
"""Traffic without a request in this time is forgotten, unless a limit still looks back to it."""


CALLERS: ContextVar[tuple[str, ...]] = ContextVar("CALLERS", default=("",))
"""For whom requests are made in this context: a person or token, then a session. They take turns at each of
these levels.
"""


@dataclass(eq=False)
class _Waiting:
    """A request in the queue. `called` is set when it may look again whether it may begin."""

    concurrency: int | None
    per_minute: float | None
    askers: tuple[tuple[str, ...], ...]
    """Who asks, at each level with those above it."""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    called: asyncio.Event = field(default_factory=asyncio.Event)


class Traffic:
    """Requests to one model at one endpoint with one key, in every event loop. Safe in several threads."""

    def __init__(self) -> None:
        self.used_at = 0.0
        self._lock = threading.Lock()
        self._queue: list[_Waiting] = []
        # Of each asker the number of their last turn, as long as any request waits.
        self._turns: dict[tuple[str, ...], int] = {}
        self._turn = 0
        self._under_way: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
        self._starts: deque[float] = deque()
        self._longest = MINUTE

    async def enter(self, *, concurrency: int | None = None, per_minute: float | None = None) -> None:
        """Wait until another request may begin: fewer than `concurrency` are under way, and fewer than
        `per_minute` began in the last minute. None: no limit.
        """
        names = CALLERS.get()
        askers = tuple(names[: level + 1] for level in range(len(names)))
        waiting = _Waiting(concurrency, per_minute, askers)
        with self._lock:
            self._queue.append(waiting)
        try:
            while (pause := self._begin(waiting)) != 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await waiting.called.wait()
                waiting.called.clear()
        except BaseException:
            with self._lock, suppress(ValueError):
                self._queue.remove(waiting)
                self._call_next()
            raise

    def leave(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            self._under_way[loop] -= 1
            self._call_next()

    @property
    def waiting(self) -> int:
        """Requests that have not begun."""
        return len(self._queue)

    def idle(self, now: float) -> bool:
        """Whether it was not used for long, no request is left, and no limit looks back to an earlier one."""
        with self._lock:
            recent = self._starts and self._starts[-1] > now - self._longest
            return self.used_at <= now - IDLE_SECONDS and not (self._queue or self._count() or recent)

    def _begin(self, waiting: _Waiting) -> float | None:
        """0 when the request has begun, else the seconds to wait before the next look; None: until called."""
        now = waiting.loop.time()
        with self._lock:
            number = len(self._queue)
            if self._next() is not waiting:
                if len(self._queue) < number:
                    self._call_next()
                return None
            if waiting.concurrency is not None and self._count() >= waiting.concurrency:
                return None
            pause = self._pause(waiting.per_minute, now)
            if pause > 0:
                return pause
            self._leave_queue(waiting)
            self._under_way[waiting.loop] = self._under_way.get(waiting.loop, 0) + 1
            self._starts.append(now)
            while self._starts[0] <= now - self._longest:
                self._starts.popleft()
            self._call_next()
            return 0

    def _next(self) -> _Waiting:
        """Whose turn it is: the request whose askers' last turns are longest ago, level by level. Drops the
        ones before it whose loops are closed.
        """
        while (waiting := min(self._queue, key=self._last_turns)).loop.is_closed():
            self._queue.remove(waiting)
        return waiting

    def _last_turns(self, waiting: _Waiting) -> list[int]:
        return [self._turns.get(asker, 0) for asker in waiting.askers]

    def _leave_queue(self, waiting: _Waiting) -> None:
        self._queue.remove(waiting)
        self._turn += 1
        self._turns.update(dict.fromkeys(waiting.askers, self._turn))
        if not self._queue:
            self._turns.clear()

    def _pause(self, per_minute: float | None, now: float) -> float:
        if per_minute is None:
            return 0
        # Less than one request a minute widens the window.
        burst = max(1, int(per_minute))
        window = MINUTE * burst / per_minute
        self._longest = max(self._longest, window)
        return self._starts[-burst] + window - now if len(self._starts) >= burst else 0

    def _count(self) -> int:
        """Requests under way; those of a loop that was closed without ending them are over."""
        return sum(count for loop, count in self._under_way.items() if not loop.is_closed())

    def _call_next(self) -> None:
        if self._queue:
            waiting = self._next()
            # A loop that was closed in this very moment has no request that waits.
            with suppress(RuntimeError):
                waiting.loop.call_soon_threadsafe(waiting.called.set)


_traffic: dict[tuple[str, str | None, str], Traffic] = {}
"""By address, key variable and model."""

_finding = threading.Lock()


def traffic_of(endpoint: Endpoint) -> Traffic:
    """The traffic to which the endpoint's requests belong, the same as long as it is in use."""
    address = (str(endpoint.url("")), endpoint.api_key_env, endpoint.model)
    now = time.monotonic()
    with _finding:
        for other, traffic in tuple(_traffic.items()):
            if other != address and traffic.idle(now):
                del _traffic[other]
        own_traffic = _traffic.setdefault(address, Traffic())
        own_traffic.used_at = now
    return own_traffic


def waiting_calls() -> int:
    """Requests of this process that wait in the queues of all endpoints."""
    with _finding:
        return sum(traffic.waiting for traffic in _traffic.values())


# -- deadlines ---------------------------------------------------------------------------------------

TAIL_SECONDS = 5.0
"""How long the usage and the end of the stream may take once the answer is whole."""


class Deadlines:
    """The deadlines of one attempt, which begins now: its first token, the next one, the end of all attempts.

    `until` is the loop time at which all attempts together end, None if this is the only one.
    """

    def __init__(self, endpoint: Endpoint, failures: Failures, *, until: float | None = None) -> None:
        now = asyncio.get_running_loop().time()
        self._patience = endpoint.patience
        self._failures = failures
        self._until = now + self._patience.total if until is None else until
        self._began = False
        self._next = now + self._patience.first_token

    def whole(self) -> None:
        """The answer comes at once: it may take all the time that there is."""
        self._next = self._until

    def token(self) -> None:
        self._began = True
        self._next = asyncio.get_running_loop().time() + self._patience.between_tokens

    def tail(self) -> None:
        tail = min(TAIL_SECONDS, self._patience.between_tokens)
        self._next = asyncio.get_running_loop().time() + tail

    async def within(self, awaited: Awaitable[T]) -> T:
        """Its result. Raises `TimeoutError` at the nearest deadline."""
        async with asyncio.timeout_at(min(self._next, self._until)):
            return await awaited

    def late(self, characters: int) -> EndpointFailure:
        """Which deadline it was, after so many characters."""
        if self._until <= self._next:
            return self._failures.too_slow()
        return self._failures.stalled(characters) if self._began else self._failures.no_first_token()


# -- the attempts of a call --------------------------------------------------------------------------

_JITTER = 0.1


class Call:
    """One call: each attempt enters the queue, and leaves it.

    There are at most 1 + `endpoint.retries` attempts, apart from those for which the request was adapted. All
    together may take `patience.total` seconds, without the wait for the first one.
    """

    def __init__(self, endpoint: Endpoint, failures: Failures) -> None:
        self.attempt = 0
        self._endpoint = endpoint
        self._failures = failures
        self._traffic = traffic_of(endpoint)
        self._pauses = 0
        self._until: float | None = None

    async def enter(self) -> Deadlines:
        """Wait until the next attempt may begin. Raises `EndpointFailure` when the call's time is over."""
        limits = self._endpoint
        try:
            async with asyncio.timeout_at(self._until):
                await self._traffic.enter(
                    concurrency=limits.concurrency, per_minute=limits.requests_per_minute
                )
        except TimeoutError:
            failure = self._failures.too_slow()
            failure.used = NOTHING_USED
            raise failure from None
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + limits.patience.total
        self.attempt += 1
        return Deadlines(self._endpoint, self._failures, until=self._until)

    def leave(self) -> None:
        self._traffic.leave()

    def retry(self, failure: EndpointFailure, *, withdrawn: int) -> Retried:
        """The announcement of the next attempt. Raises `EndpointFailure` if no attempt is left."""
        if not failure.transient or self._pauses == self._endpoint.retries:
            raise failure.after(self.attempt) from failure.__cause__
        self._pauses += 1
        wait = failure.retry_after
        # Callers that were refused together should not come back together.
        seconds = _backoff(self._pauses) if wait is None else wait * random.uniform(1, 1 + _JITTER)  # noqa: S311 - no secret
        if self._left() <= seconds:
            raise self._failures.no_time_to_wait(failure, seconds) from failure.__cause__
        message = f"{failure.reason}."
        return Retried(attempt=self.attempt, message=message, seconds=seconds, withdrawn=withdrawn)

    def _left(self) -> float:
        """Seconds of the time for all attempts."""
        if self._until is None:
            return self._endpoint.patience.total
        return self._until - asyncio.get_running_loop().time()


def _backoff(pause: int) -> float:
    """The seconds of this pause (from 1), where the server asks for none."""
    return random.uniform(0.1, min(0.5 * 2 ** (pause - 1), 8.0))  # noqa: S311 - no secret
