"""A run's events that are not read yet, in order, each with its number and time.

Knows asyncio and one reader; knows nothing of steps.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any, TypeVar

from conductor.runs.events import Event

E = TypeVar("E", bound=Event)


class Record:
    """Filled and read in one event loop. The events are numbered from 0, without gaps."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._unread: deque[Event] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._seq = -1
        self.closed = False
        # Monotonic between events, and still Unix time.
        self._epoch = time.time() - time.perf_counter()

    def now(self) -> float:
        """Unix time that never goes back."""
        return self._epoch + time.perf_counter()

    def emit(self, kind: type[E], *, at: float | None = None, **fields: Any) -> E:
        """Add the next event, of `kind`, which happens now or at `at`; returns it."""
        self._seq += 1
        event = kind(run=self._run, seq=self._seq, at=self.now() if at is None else at, **fields)
        self._unread.append(event)
        if self._reader is not None:
            self._wake()
        return event

    def close(self) -> None:
        """Nothing more is added: a waiting reader continues."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        # A cancelled reader's future is done before the reader itself runs again.
        if reader is not None and not reader.done():
            reader.set_result(None)

    def take(self) -> Event | None:
        """The oldest event that was not read yet, or None."""
        return self._unread.popleft() if self._unread else None

    async def all_read(self) -> None:
        """Wait until every event so far was taken."""
        while self._unread:  # noqa: ASYNC110 - for a turn of the loop, as a rule
            await asyncio.sleep(0.001)

    async def more(self) -> None:
        """Wait for the next event, after `take` gave None."""
        # A bare future: an asyncio.Event costs three times as much, and a step fills it twice.
        self._reader = asyncio.get_running_loop().create_future()
        await self._reader
