"""How many requests may be under way at a time, and how many a minute may begin.

Entries of one model at one endpoint with one key share their traffic: each request is held to the limits of
its own entry, and requests of the others count. Traffic is counted for the whole process, in every event loop
and through every reading of the pool. Requests begin in the order in which they came.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from conductor.workers.endpoint.config import Endpoint

MINUTE = 60.0

IDLE_SECONDS = 3600.0
"""Traffic without a request in this time is forgotten, unless a limit still looks back to it."""


@dataclass(frozen=True)
class Rate:
    """At most `burst` beginnings in any `window` seconds; less than one a minute widens the window."""

    burst: int
    window: float

    @classmethod
    def of(cls, per_minute: float) -> Rate:
        """So many a minute."""
        burst = max(1, int(per_minute))
        return cls(burst=burst, window=MINUTE * burst / per_minute)


@dataclass(eq=False)
class _Waiting:
    """A request in the queue. `called` is set when it may look again whether it may begin."""

    concurrency: int | None
    rate: Rate | None
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    called: asyncio.Event = field(default_factory=asyncio.Event)


class Traffic:
    """Requests to one model at one endpoint with one key, in every event loop. Safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[_Waiting] = deque()
        self._under_way: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
        self._begun: deque[float] = deque()
        self._longest = MINUTE

    async def enter(self, *, concurrency: int | None, rate: Rate | None) -> None:
        """Wait until another request may begin: fewer than `concurrency` under way, and by its `rate`."""
        waiting = _Waiting(concurrency, rate)
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
                self._call_first()
            raise

    def leave(self) -> None:
        """Count a request of the running loop as ended."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._under_way[loop] -= 1
            self._call_first()

    def quiet(self) -> bool:
        """Whether no request waits or is under way, and none was begun to which a limit looks back."""
        with self._lock:
            recent = self._begun and self._begun[-1] > time.monotonic() - self._longest
            return not (self._queue or self._count() or recent)

    def _begin(self, waiting: _Waiting) -> float | None:
        """0 when the request has begun, else the seconds to wait before the next look; None: until called."""
        now = waiting.loop.time()
        with self._lock:
            if self._drop_dead():
                self._call_first()
            if self._queue[0] is not waiting:
                return None
            if waiting.concurrency is not None and self._count() >= waiting.concurrency:
                return None
            pause = self._pause(waiting.rate, now)
            if pause > 0:
                return pause
            self._queue.popleft()
            self._under_way[waiting.loop] = self._under_way.get(waiting.loop, 0) + 1
            self._note(now)
            self._call_first()
            return 0

    def _pause(self, rate: Rate | None, now: float) -> float:
        if rate is None:
            return 0
        self._longest = max(self._longest, rate.window)
        if len(self._begun) < rate.burst:
            return 0
        return self._begun[-rate.burst] + rate.window - now

    def _note(self, now: float) -> None:
        self._begun.append(now)
        while self._begun[0] <= now - self._longest:
            self._begun.popleft()

    def _count(self) -> int:
        """Requests under way; those of a loop that was closed without ending them are over."""
        return sum(count for loop, count in self._under_way.items() if not loop.is_closed())

    def _call_first(self) -> None:
        self._drop_dead()
        if self._queue:
            first = self._queue[0]
            # A loop that was closed in this very moment has no request that waits.
            with suppress(RuntimeError):
                first.loop.call_soon_threadsafe(first.called.set)

    def _drop_dead(self) -> bool:
        """Drop the first ones as far as their loops are closed; whether there were any."""
        before = len(self._queue)
        while self._queue and self._queue[0].loop.is_closed():
            self._queue.popleft()
        return len(self._queue) < before


@dataclass
class _Found:
    traffic: Traffic
    used_at: float


_found: dict[tuple[str, str | None, str], _Found] = {}
"""By address, key variable and model, the least recently used first."""

_finding = threading.Lock()


def traffic_of(endpoint: Endpoint) -> Traffic:
    """The traffic to which the endpoint's requests belong, the same as long as it is in use."""
    address = (str(endpoint.url("")), endpoint.api_key_env, endpoint.model)
    now = time.monotonic()
    with _finding:
        found = _found.pop(address, None) or _Found(Traffic(), now)
        found.used_at = now
        # Last, as the most recently used.
        _found[address] = found
        for other, old in tuple(_found.items()):
            if old.used_at > now - IDLE_SECONDS:
                break
            if old.traffic.quiet():
                del _found[other]
    return found.traffic


class Limits:
    """A place in the queue: `enter` waits for it, `leave` gives it back. None: no limit."""

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        requests_per_minute: float | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        self._concurrency = concurrency
        self._rate = None if requests_per_minute is None else Rate.of(requests_per_minute)
        self._traffic = traffic or Traffic()

    @classmethod
    def of(cls, endpoint: Endpoint) -> Limits:
        """An endpoint's own limits on the traffic that it shares."""
        return cls(
            concurrency=endpoint.concurrency,
            requests_per_minute=endpoint.requests_per_minute,
            traffic=traffic_of(endpoint),
        )

    async def enter(self) -> None:
        """Wait until another request may begin."""
        await self._traffic.enter(concurrency=self._concurrency, rate=self._rate)

    def leave(self) -> None:
        """Count a request as ended."""
        self._traffic.leave()
