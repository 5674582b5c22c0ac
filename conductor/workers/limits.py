"""How many requests of one worker may be under way, and how many a minute may begin.

Belongs to one event loop. Whoever came first goes first.
"""

from __future__ import annotations

import asyncio
from collections import deque

_MINUTE = 60.0


class Limits:
    """A place in the queue: `enter` waits for it, `leave` gives it back."""

    def __init__(self, *, concurrency: int | None = None, requests_per_minute: float | None = None) -> None:
        self._places = None if concurrency is None else asyncio.Semaphore(concurrency)
        self._rate = None if requests_per_minute is None else _Rate(requests_per_minute)

    async def enter(self) -> None:
        """Wait until another request may begin."""
        if self._places is not None:
            await self._places.acquire()
        if self._rate is not None:
            try:
                await self._rate.turn()
            except BaseException:
                self.leave()
                raise

    def leave(self) -> None:
        """Say that a request has ended."""
        if self._places is not None:
            self._places.release()


class _Rate:
    """At most `burst` beginnings in any `window` seconds; less than one a minute widens the window."""

    def __init__(self, per_minute: float) -> None:
        burst = max(1, int(per_minute))
        self._window = _MINUTE * burst / per_minute
        self._begun: deque[float] = deque(maxlen=burst)
        self._gate = asyncio.Lock()

    async def turn(self) -> None:
        async with self._gate:
            loop = asyncio.get_running_loop()
            if len(self._begun) == self._begun.maxlen:
                await asyncio.sleep(self._begun[0] + self._window - loop.time())
            self._begun.append(loop.time())
