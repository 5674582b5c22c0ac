"""A worker's connections, of which each event loop has its own, made when they are first needed.

Knows httpx's client. The connections of a loop are closed with the loop, or when their worker is dropped.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import cache
from weakref import WeakKeyDictionary, finalize

import httpx

from conductor.workers.endpoint.config import Endpoint

_IDLE = 100
"""Connections to an endpoint beyond which none stays open for the next request."""

_HEADERS = {
    "Accept": "text/event-stream, application/json",
    # Compressing proxies hold events back until a block is full.
    "Accept-Encoding": "identity",
    "User-Agent": "conductor-studio",
}


@dataclass(frozen=True)
class _Opened:
    """The client of one event loop.

    Closing `closer` closes the client; `finalizer` does so when the worker is dropped.
    """

    client: httpx.AsyncClient
    closer: AsyncGenerator[None, None]
    finalizer: finalize[..., Connections]


_OpenedByLoop = WeakKeyDictionary[asyncio.AbstractEventLoop, _Opened]


class Connections:
    """One client with pooled connections for each event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._opened: _OpenedByLoop = WeakKeyDictionary()

    async def client(self) -> httpx.AsyncClient:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        opened = self._opened.get(loop)
        if opened is None:
            opened = self._opened[loop] = self._open(loop)
            # Begun here, it is closed when this loop shuts down its generators.
            await anext(opened.closer)
        return opened.client

    async def aclose(self) -> None:
        """Close the running loop's client now."""
        opened = self._opened.get(asyncio.get_running_loop())
        if opened is not None:
            await opened.closer.aclose()

    def _open(self, loop: asyncio.AbstractEventLoop) -> _Opened:
        client = httpx.AsyncClient(
            headers=_HEADERS,
            verify=_trusted(),
            timeout=httpx.Timeout(None, connect=self._endpoint.patience.connect),
            # The worker's own limit sets how many are open. Few stay idle, because httpx looks at all of them
            # whenever it opens or ends one.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=_IDLE),
        )
        closer = _close_at_end(client, self._opened)
        finalizer = finalize(self, _close_in, loop, closer)
        finalizer.atexit = False
        return _Opened(client=client, closer=closer, finalizer=finalizer)


async def _close_at_end(client: httpx.AsyncClient, by_loop: _OpenedByLoop) -> AsyncGenerator[None, None]:
    """Wait until this generator is closed, then close the client."""
    try:
        yield
    finally:
        opened = by_loop.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            opened.finalizer.detach()
        await client.aclose()


def _close_in(loop: asyncio.AbstractEventLoop, closer: AsyncGenerator[None, None]) -> None:
    """Have the loop close what a dropped worker leaves; called in any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: loop.create_task(closer.aclose()))


@cache
def _trusted() -> ssl.SSLContext:
    """Reading the certificates takes as long as a hundred calls."""
    return httpx.create_ssl_context()
