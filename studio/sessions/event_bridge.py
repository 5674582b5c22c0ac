"""The events of a run, handed from the background loop's thread to a reader in another event loop.

Knows events and when the last one came; knows no session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import suppress

from conductor.runs.events import Event


class EventBridge:
    """Iterates in `loop` over the events that another thread puts in, until the run has ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._ended = False

    def put(self, event: Event) -> None:
        """Add an event; called in the background loop's thread."""
        self._put(event)

    def ends_with(self, ended: Future[None]) -> None:
        """End the iteration behind the events that came before `ended` is done."""
        ended.add_done_callback(lambda _: self._put(None))

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._ended:
            raise StopAsyncIteration
        event = await self._events.get()
        if event is None:
            self._ended = True
            raise StopAsyncIteration
        return event

    def _put(self, event: Event | None) -> None:
        # A server may stop at any moment; its closed loop takes no event.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)
