"""Connections to an endpoint: one client for each event loop. Knows loops; knows no request."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from importlib import import_module
from weakref import WeakKeyDictionary

import httpx

from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.transport.route import DIRECT, Route, client_options, route_to

_HEADERS = {
    "Accept": "text/event-stream, application/json",
    # Compressing proxies hold events back until a block is full.
    "Accept-Encoding": "identity",
    "User-Agent": "conductor-studio",
}

_DIRECT = "conductor.workers.endpoint.transport.direct"

_IDLE = 100
"""Connections through a proxy beyond which none stays open for the next request."""

_Closer = AsyncGenerator[None, None]

_open: set[httpx.AsyncClient] = set()
"""Collected together with its worker, a connection would be gone before it is closed."""


class Connections:
    """One client with pooled connections for each event loop, made when it is first needed.

    It closes with its loop, and in its loop where the worker is dropped. The worker's own limit sets how many
    connections are open.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._connect_seconds = endpoint.patience.connect
        self._address = httpx.URL(endpoint.base_url)
        self.route: Route = DIRECT
        """The way that the last client goes."""
        self._opened: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, _Closer]] = (
            WeakKeyDictionary()
        )

    async def client(self) -> httpx.AsyncClient:
        """The client of this loop. Raises `PoolError` where a variable that it needs is faulty."""
        loop = asyncio.get_running_loop()
        client, _ = self._opened.get(loop, (None, None))
        if client is None or client.is_closed:
            options, self.route = client_options(self._address), route_to(self._address)
            client = httpx.AsyncClient(
                headers=_HEADERS,
                timeout=httpx.Timeout(None, connect=self._connect_seconds),
                # For proxies alone; few stay idle, because httpx looks at all of them for each request.
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=_IDLE),
                transport=_direct(options["verify"]) if self.route == DIRECT else None,
                **options,
            )
            closer = _closing(client)
            self._opened[loop] = client, closer
            # Begun here, it is closed when this loop shuts down its generators, or when it is collected.
            await anext(closer)
        return client

    async def aclose(self) -> None:
        _, closer = self._opened.pop(asyncio.get_running_loop(), (None, None))
        if closer is not None:
            await closer.aclose()


async def _closing(client: httpx.AsyncClient) -> _Closer:
    _open.add(client)
    try:
        yield
    finally:
        _open.discard(client)
        await client.aclose()


def load_transport() -> None:
    """Load aiohttp, which takes as long as ten calls: in a server the first would hold up all others."""
    import_module(_DIRECT)


def _direct(trusted: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    transport: httpx.AsyncBaseTransport = import_module(_DIRECT).DirectTransport(trusted)
    return transport
