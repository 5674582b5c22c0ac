"""One request and what comes back: an event stream, or one JSON document, read as chunks.

Knows HTTP and server-sent events; knows neither answers nor retries. Memory stays bounded, whatever a
server sends.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

import httpx
from httpx_sse import EventSource, ServerSentEvent

from conductor.workers.chunks import Chunk, read_chunk
from conductor.workers.clock import Clock
from conductor.workers.failures import Failures

_DONE = "[DONE]"
_ERROR_BYTES = 65_536
_BYTES_A_CHARACTER = 6
_SPARE_BYTES = 65_536


@dataclass(frozen=True)
class Reader:
    """How an answer is read: by which deadlines, and with how many characters (`most`) in one event.

    `key` is masked where the server repeats it in an error.
    """

    clock: Clock
    failures: Failures
    most: int
    key: str | None = field(repr=False)


async def chunks(
    client: httpx.AsyncClient, request: httpx.Request, reader: Reader
) -> AsyncGenerator[Chunk | None, None]:
    """The chunks of the answer to `request`; None where the server says that it is whole.

    Raises `EndpointFailure`, `TimeoutError` at a deadline, and what httpx raises when the connection breaks.
    """
    response = await reader.clock.within(client.send(request, stream=True))
    try:
        await _check_status(response, reader)
        bounded = _Bounded(response, reader)
        content_type = _content_type(response)
        if content_type == "text/event-stream":
            async with aclosing(_events(response, bounded, reader.clock)) as events:
                async for data in events:
                    yield None if data == _DONE else _chunk(data, reader.failures)
        elif content_type == "application/json":
            yield _chunk(await reader.clock.within(response.aread()), reader.failures)
            yield None
        else:
            raise reader.failures.wrong_type(content_type)
    finally:
        await response.aclose()


async def document(client: httpx.AsyncClient, request: httpx.Request, reader: Reader) -> bytes:
    """The JSON document that answers `request`. Raises as `chunks`."""
    response = await reader.clock.within(client.send(request, stream=True))
    try:
        await _check_status(response, reader)
        _Bounded(response, reader)
        return await reader.clock.within(response.aread())
    finally:
        await response.aclose()


async def _check_status(response: httpx.Response, reader: Reader) -> None:
    if not response.is_success:
        body = await reader.clock.within(_beginning(response))
        raise reader.failures.status(response, body, reader.key)


def _content_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


class _Bounded(httpx.AsyncByteStream):
    """A response's bytes, of which only so many may come until `clear` is called."""

    def __init__(self, response: httpx.Response, reader: Reader) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._stream = response.stream
        self._most = reader.most * _BYTES_A_CHARACTER + _SPARE_BYTES
        self._failures = reader.failures
        self._bytes = 0
        response.stream = self

    def clear(self) -> None:
        self._bytes = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._bytes += len(part)
            if self._bytes > self._most:
                raise self._failures.too_long()
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _events(response: httpx.Response, bounded: _Bounded, clock: Clock) -> AsyncGenerator[str, None]:
    """The data of each event up to the last. Comments, by which servers keep a connection open, are none."""
    response.encoding = "utf-8"
    done = False
    async with aclosing(EventSource(response).aiter_sse()) as events:
        while True:
            event: ServerSentEvent | None = await clock.within(anext(events, None))
            if event is None:
                return
            bounded.clear()
            # What follows the last event is read all the same, so that the connection can be used again.
            if event.data and not done:
                done = event.data == _DONE
                yield event.data


async def _beginning(response: httpx.Response) -> bytes:
    """As much of the body as an error's own words can take."""
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) >= _ERROR_BYTES:
            break
    return body[:_ERROR_BYTES]


def _chunk(data: str | bytes, failures: Failures) -> Chunk:
    try:
        return read_chunk(data)
    except ValueError as error:
        raise failures.malformed(str(error)) from None
