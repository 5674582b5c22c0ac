"""Events on their way to whoever asked for them, from the background loop's thread into another loop.

Knows events and when nothing more follows; knows no session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import suppress

from conductor.events import Event


class Heard:
    """Events on their way from the background loop's thread into `loop`, until what goes on has ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._ended = False

    def hear(self, event: Event) -> None:
        """Called in the background loop's thread."""
        self._put(event)

    def ends_with(self, going: Future[None]) -> None:
        """Nothing more comes behind the end of `going`."""
        going.add_done_callback(lambda _: self._put(None))

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
        # A server that has stopped hears nothing more, and may stop at any moment.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)
