"""One request and what comes back: an event stream, or one JSON document, read as chunks.

Knows HTTP and server-sent events; knows neither answers nor retries. Memory stays bounded, whatever a
server sends: nothing compressed is read.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import httpx
from httpx_sse import EventSource, ServerSentEvent

from conductor.workers.endpoint.attempts import Deadlines
from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.endpoint.wire import Chunk, read_chunk
from conductor.workers.keys.mask import Mask

_DONE = "[DONE]"
_ERROR_BYTES = 65_536
_BYTES_A_CHARACTER = 6
_SPARE_BYTES = 65_536

_REQUEST_IDS = (
    "x-request-id",  # OpenAI, vLLM, Mistral, Groq, Together
    "request-id",  # Anthropic
    "apim-request-id",  # Azure
    "x-amzn-requestid",  # Amazon Bedrock
    "x-goog-request-id",  # Google
    "cf-ray",  # Cloudflare, before OpenRouter and others
)
_NAME = re.compile(r"[!-~]{1,128}")
"""A longer name, or one with spaces or control characters, is none that a person could pass on."""


@dataclass(frozen=True)
class Reader:
    """How an answer is read: by which deadlines, and with how many characters (`most`) in one event.

    `mask` hides the keys that the server repeats in an error; those in an answer are the reply's to hide.
    """

    deadlines: Deadlines
    failures: Failures
    most: int
    mask: Mask


@dataclass(frozen=True)
class Head:
    """What is known before an answer's first chunk: the provider's own id of the call, if it has one."""

    request_id: str | None


async def chunks(
    client: httpx.AsyncClient, request: httpx.Request, reader: Reader
) -> AsyncGenerator[Head | Chunk | None, None]:
    """The head of the answer to `request`, then its chunks; None where the server announces the end.

    Raises `EndpointFailure`, `TimeoutError` at a deadline, and what httpx raises when the connection breaks.
    """
    response = await reader.deadlines.within(client.send(request, stream=True))
    try:
        yield Head(_request_id(response, reader.mask))
        await _check_head(response, reader)
        bounded = _BoundedStream(response, reader)
        content_type = _content_type(response, reader.mask)
        if content_type == "text/event-stream":
            async with aclosing(_events(response, bounded, reader.deadlines)) as events:
                async for data in events:
                    yield None if data == _DONE else _chunk(data, reader.failures)
        elif content_type == "application/json":
            body = await reader.deadlines.within(response.aread())
            yield _chunk(body.decode("utf-8", "replace"), reader.failures)
            yield None
        else:
            raise reader.failures.wrong_type(content_type)
    finally:
        await response.aclose()


async def document(client: httpx.AsyncClient, request: httpx.Request, reader: Reader) -> bytes:
    """The JSON document that answers `request`. Raises as `chunks`."""
    response = await reader.deadlines.within(client.send(request, stream=True))
    try:
        await _check_head(response, reader)
        _BoundedStream(response, reader)
        return await reader.deadlines.within(response.aread())
    except EndpointFailure as failure:
        failure.name_request(_request_id(response, reader.mask))
        raise
    finally:
        await response.aclose()


async def _check_head(response: httpx.Response, reader: Reader) -> None:
    encoding = reader.mask(_encoding(response))
    if not response.is_success:
        body = b"" if encoding else await reader.deadlines.within(_beginning(response))
        raise reader.failures.status(response, body, reader.mask, encoding=encoding)
    if encoding:
        # Inflated, some kilobytes are gigabytes: only what was counted may be read.
        raise reader.failures.compressed(encoding)


def _request_id(response: httpx.Response, mask: Mask) -> str | None:
    """The first of the names that providers and gateways give a call; None where there is none to show."""
    names = (mask(str(response.headers.get(header, "")).strip()) for header in _REQUEST_IDS)
    return next((name for name in names if _NAME.fullmatch(name)), None)


def _encoding(response: httpx.Response) -> str:
    """The content encodings that would have to be undone, "" for none."""
    encodings = str(response.headers.get("content-encoding", "")).lower().split(",")
    named = [encoding.strip() for encoding in encodings]
    return ", ".join(named) if set(named) - {"", "identity"} else ""


def _content_type(response: httpx.Response, mask: Mask) -> str:
    return mask(str(response.headers.get("content-type", ""))).partition(";")[0].strip().lower()


class _BoundedStream(httpx.AsyncByteStream):
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


async def _events(
    response: httpx.Response, bounded: _BoundedStream, deadlines: Deadlines
) -> AsyncGenerator[str, None]:
    """The data of each event up to the last, without the comments by which servers hold a connection open."""
    response.encoding = "utf-8"
    done = False
    async with aclosing(EventSource(response).aiter_sse()) as events:
        while True:
            event: ServerSentEvent | None = await deadlines.within(anext(events, None))
            if event is None:
                return
            bounded.clear()
            # What follows the last event is read all the same, so that the connection can be used again.
            if event.data and not done:
                done = event.data == _DONE
                yield event.data


async def _beginning(response: httpx.Response) -> bytes:
    """As much of the body as an error message can take."""
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) >= _ERROR_BYTES:
            break
    return body[:_ERROR_BYTES]


def _chunk(data: str, failures: Failures) -> Chunk:
    try:
        return read_chunk(data)
    except ValueError as error:
        raise failures.malformed(str(error)) from None
