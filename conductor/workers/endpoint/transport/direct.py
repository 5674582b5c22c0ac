"""httpx over aiohttp, without a proxy: half the processor time where many connections are open.

Knows aiohttp's errors and what httpx calls them; knows no loop and no endpoint.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import SimpleNamespace

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

_IDLE_SECONDS = 4.0
"""How long a connection stays open for the next request; uvicorn, and so vLLM, closes one after five."""

_reused: ContextVar[list[bool]] = ContextVar("_reused")
"""Filled where the request that is being sent got a connection that an earlier one had."""

_CLOSED = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientConnectionResetError)
"""Closed in order, by a reset, and known to be closed before the request was written."""


class DirectTransport(AiohttpTransport):
    """Requests without a proxy. Errors are httpx's own, and have its meanings.

    A server may close an idle connection at the moment at which a request is sent on it: that request is sent
    once more, on a new connection.
    """

    def __init__(self, trusted: ssl.SSLContext) -> None:
        super().__init__(verify=trusted, client=partial(_session, trusted))

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
        kind = _kind(error.__cause__)
        if kind is None:
            raise
        raise kind(_words(error.__cause__)) from error.__cause__
    except aiohttp.ClientError as error:
        raise (_kind(error) or httpx.RemoteProtocolError)(_words(error)) from error
    except OSError as error:
        raise httpx.ReadError(str(error)) from error


def _kind(cause: BaseException | None) -> type[httpx.TransportError] | None:
    """What httpx calls an error of aiohttp's; None if httpx-aiohttp knows."""
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


def _session(trusted: ssl.SSLContext) -> aiohttp.ClientSession:
    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(_note_reuse)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, ssl=trusted)
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trace_configs=[trace]
    )


async def _note_reuse(_session: object, _context: SimpleNamespace, _parameters: object) -> None:
    _reused.get().append(True)
