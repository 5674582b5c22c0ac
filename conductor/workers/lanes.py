"""A worker's connections and limits in one event loop, made when they are first needed.

Knows httpx's client. A lane is closed with its loop, or when its worker is dropped.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import cache
from weakref import WeakKeyDictionary, finalize

import httpx

from conductor.workers.endpoint import Endpoint
from conductor.workers.limits import Limits

_RESTING = 100
"""Connections to an endpoint beyond which none is kept for the next request."""

_HEADERS = {
    "Accept": "text/event-stream, application/json",
    # Compressing proxies hold events back until a block is full.
    "Accept-Encoding": "identity",
    "User-Agent": "conductor-studio",
}


@dataclass(frozen=True)
class Lane:
    """A client with its pooled connections, and the limits of one worker.

    `keeper` closes the client when it is closed itself; `farewell` closes it when the worker is dropped.
    """

    client: httpx.AsyncClient
    limits: Limits
    keeper: AsyncGenerator[None, None]
    farewell: finalize[..., Lanes]


_Opened = WeakKeyDictionary[asyncio.AbstractEventLoop, Lane]


class Lanes:
    """One lane an event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._opened: _Opened = WeakKeyDictionary()

    async def here(self) -> Lane:
        """The running loop's lane."""
        loop = asyncio.get_running_loop()
        lane = self._opened.get(loop)
        if lane is None:
            lane = self._opened[loop] = self._open(loop)
            # Begun here, it is closed when this loop shuts down its generators.
            await anext(lane.keeper)
        return lane

    async def aclose(self) -> None:
        """Close the running loop's lane now."""
        lane = self._opened.get(asyncio.get_running_loop())
        if lane is not None:
            await lane.keeper.aclose()

    def _open(self, loop: asyncio.AbstractEventLoop) -> Lane:
        client = httpx.AsyncClient(
            headers=_HEADERS,
            verify=_trusted(),
            timeout=httpx.Timeout(None, connect=self._endpoint.patience.connect),
            # How many are open is the worker's own limit to set. Few rest, because httpx looks at all of them
            # whenever it opens or ends one.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=_RESTING),
        )
        limits = Limits(
            concurrency=self._endpoint.concurrency, requests_per_minute=self._endpoint.requests_per_minute
        )
        keeper = _keep(client, self._opened)
        farewell = finalize(self, _close_in, loop, keeper)
        farewell.atexit = False
        return Lane(client=client, limits=limits, keeper=keeper, farewell=farewell)


async def _keep(client: httpx.AsyncClient, opened: _Opened) -> AsyncGenerator[None, None]:
    """Wait for the end, then close the client."""
    try:
        yield
    finally:
        lane = opened.pop(asyncio.get_running_loop(), None)
        if lane is not None:
            lane.farewell.detach()
        await client.aclose()


def _close_in(loop: asyncio.AbstractEventLoop, keeper: AsyncGenerator[None, None]) -> None:
    """Have the loop close what a dropped worker leaves; called in any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: loop.create_task(keeper.aclose()))


@cache
def _trusted() -> ssl.SSLContext:
    """Reading the certificates takes as long as a hundred calls."""
    return httpx.create_ssl_context()
