"""Connections to an endpoint: httpx over aiohttp, which needs half the processor time where many are open.

Knows event loops, pools of connections and what their errors are called; knows no request.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import SimpleNamespace
from urllib.request import getproxies
from weakref import WeakKeyDictionary

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from conductor.workers.endpoint.config import Endpoint

_HEADERS = {
    "Accept": "text/event-stream, application/json",
    # Compressing proxies hold events back until a block is full.
    "Accept-Encoding": "identity",
    "User-Agent": "conductor-studio",
}

_IDLE_SECONDS = 4.0
"""How long a connection stays open for the next request; uvicorn, and so vLLM, closes one after five."""

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
        self._opened: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, _Closer]] = (
            WeakKeyDictionary()
        )

    async def client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client, _ = self._opened.get(loop, (None, None))
        if client is None or client.is_closed:
            client = httpx.AsyncClient(
                headers=_HEADERS,
                verify=_trusted(),
                timeout=httpx.Timeout(None, connect=self._connect_seconds),
                # For proxies alone; few stay idle, because httpx looks at all of them for each request.
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=_IDLE),
                # Of the settings of proxies httpx knows more kinds, and those of single hosts.
                transport=None if getproxies().keys() - {"no"} else DirectTransport(),
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


@cache
def _trusted() -> ssl.SSLContext:
    """Reading the certificates takes as long as a hundred calls."""
    return httpx.create_ssl_context()


# -- aiohttp under httpx -----------------------------------------------------------------------------

_reused: ContextVar[list[bool]] = ContextVar("_reused")
"""Filled where the request that is being sent got a connection that an earlier one had."""

_CLOSED = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientConnectionResetError)
"""Closed in order, by a reset, and known to be closed before the request was written."""


class DirectTransport(AiohttpTransport):
    """Requests without a proxy. Errors are httpx's own, and have its meanings.

    A server may close an idle connection at the moment at which a request is sent on it: that request is sent
    once more, on a new connection.
    """

    def __init__(self) -> None:
        super().__init__(verify=_trusted(), client=_session)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        reused: list[bool] = []
        _reused.set(reused)
        with _named_errors():
            try:
                response = await super().handle_async_request(request)
            except httpx.TransportError as error:
                if not (reused and isinstance(error.__cause__, _CLOSED)):
                    raise
                response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Body(response.stream)
        return response


class _Body(httpx.AsyncByteStream):
    """The bytes of a response."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _named_errors():
            async for part in self._stream:
                yield part

    async def aclose(self) -> None:
        with _named_errors():
            await self._stream.aclose()


@contextmanager
def _named_errors() -> Iterator[None]:
    """Raises what httpx itself would: httpx-aiohttp names some errors as others, and leaves some out."""
    try:
        yield
    except httpx.TransportError as error:
        named = _kind(error.__cause__)
        if named is None:
            raise
        raise named(_words(error.__cause__)) from error.__cause__
    except aiohttp.ClientError as error:
        raise (_kind(error) or httpx.RemoteProtocolError)(_words(error)) from error
    except OSError as error:
        raise httpx.ReadError(str(error)) from error


def _kind(cause: BaseException | None) -> type[httpx.TransportError] | None:
    """What httpx calls an error of aiohttp's; None where httpx-aiohttp knows."""
    match cause:
        case aiohttp.ConnectionTimeoutError():
            return httpx.ConnectTimeout
        case aiohttp.ClientConnectorError():
            return httpx.ConnectError
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | aiohttp.ClientOSError():
            return httpx.ReadError
        case aiohttp.ClientResponseError() | aiohttp.ClientConnectionError():
            return httpx.RemoteProtocolError
        case _:
            return None


def _words(error: BaseException | None) -> str:
    """What went wrong, without the address, which messages name themselves."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if not isinstance(cause, OSError):
        return str(cause)
    # asyncio repeats the address in its own; the numbers of name services are negative.
    number = cause.errno or 0
    return os.strerror(number) if number > 0 else cause.strerror or str(cause)


def _session() -> aiohttp.ClientSession:
    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(_note_reuse)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, ssl=_trusted())
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trace_configs=[trace]
    )


async def _note_reuse(_session: object, _context: SimpleNamespace, _parameters: object) -> None:
    _reused.get().append(True)
