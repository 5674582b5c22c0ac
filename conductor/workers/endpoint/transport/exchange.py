"""One request and what comes back: an event stream, or one JSON document, read as chunks.

Knows HTTP and server-sent events; knows neither answers nor retries. Memory stays bounded, whatever a server
sends: nothing compressed is read.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import httpx
from httpx_sse import EventSource, ServerSentEvent

from conductor.workers.endpoint.failures import Failures
from conductor.workers.endpoint.transport.timing import Deadlines
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


class Exchange:
    """One request and its answer, read once: by `chunks` or by `document`.

    Both raise `EndpointFailure`, `TimeoutError` at a deadline, and what httpx raises when the connection
    breaks. One event may have `most` characters. `mask` hides the keys that the server repeats in an error;
    those in an answer are the reply's to hide. `request_id` is the provider's own name of the call, None
    until the head of the answer gives one.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        *,
        deadlines: Deadlines,
        failures: Failures,
        most: int,
        mask: Mask,
    ) -> None:
        self.request_id: str | None = None
        self._client = client
        self._request = request
        self._deadlines = deadlines
        self._failures = failures
        self._most_bytes = most * _BYTES_A_CHARACTER + _SPARE_BYTES
        self._mask = mask

    async def chunks(self) -> AsyncGenerator[Chunk | None, None]:
        """The chunks of the answer; None where the server announces the end."""
        async with self._response() as (response, counted):
            content_type = self._mask(response.headers.get("content-type", ""))
            content_type = content_type.partition(";")[0].strip().lower()
            if content_type == "text/event-stream":
                async with aclosing(self._events(response, counted)) as events:
                    async for data in events:
                        yield None if data == _DONE else self._chunk(data)
            elif content_type == "application/json":
                body = await self._deadlines.within(response.aread())
                yield self._chunk(body.decode("utf-8", "replace"))
                yield None
            else:
                raise self._failures.wrong_type(content_type)

    async def document(self) -> bytes:
        async with self._response() as (response, _):
            return await self._deadlines.within(response.aread())

    @asynccontextmanager
    async def _response(self) -> AsyncIterator[tuple[httpx.Response, _CountedStream]]:
        """The response whose head is a success, and its stream."""
        response = await self._deadlines.within(self._client.send(self._request, stream=True))
        try:
            self.request_id = self._name(response)
            await self._check_head(response)
            yield response, _CountedStream(response, self._most_bytes, self._failures)
        finally:
            await response.aclose()

    def _name(self, response: httpx.Response) -> str | None:
        """The first of the names of the call that can be shown, None where there is none."""
        names = (self._mask(response.headers.get(header, "").strip()) for header in _REQUEST_IDS)
        return next((name for name in names if _NAME.fullmatch(name)), None)

    async def _check_head(self, response: httpx.Response) -> None:
        encodings = response.headers.get("content-encoding", "").lower().split(",")
        named = [encoding.strip() for encoding in encodings]
        encoding = self._mask(", ".join(named)) if set(named) - {"", "identity"} else ""
        if not response.is_success:
            body = b"" if encoding else await self._deadlines.within(_beginning(response))
            raise self._failures.status(response, body, self._mask, encoding=encoding)
        if encoding:
            # Inflated, some kilobytes are gigabytes: only what was counted may be read.
            raise self._failures.compressed(encoding)

    async def _events(self, response: httpx.Response, counted: _CountedStream) -> AsyncGenerator[str, None]:
        """The data of each event up to the last, without the comments that hold a connection open."""
        response.encoding = "utf-8"
        done = False
        async with aclosing(EventSource(response).aiter_sse()) as events:
            while True:
                event: ServerSentEvent | None = await self._deadlines.within(anext(events, None))
                if event is None:
                    return
                counted.bytes = 0
                # What follows the last event is read all the same, so that the connection can be used again.
                if event.data and not done:
                    done = event.data == _DONE
                    yield event.data

    def _chunk(self, data: str) -> Chunk:
        try:
            return read_chunk(data)
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None


class _CountedStream(httpx.AsyncByteStream):
    """A response's bytes, of which at most `most` may come until `bytes` is set back to 0."""

    def __init__(self, response: httpx.Response, most: int, failures: Failures) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self.bytes = 0
        self._stream = response.stream
        self._most = most
        self._failures = failures
        response.stream = self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self.bytes += len(part)
            if self.bytes > self._most:
                raise self._failures.too_long()
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _beginning(response: httpx.Response) -> bytes:
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) >= _ERROR_BYTES:
            break
    return body[:_ERROR_BYTES]
