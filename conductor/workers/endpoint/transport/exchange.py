"""One request and what comes back: an event stream, or one JSON document, read as chunks.

Knows HTTP; knows neither answers nor retries. Which of the two comes is read from it, as servers write any
content type. Memory stays bounded, whatever a server sends: nothing compressed is read.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from conductor.workers.endpoint.failures import Failures
from conductor.workers.endpoint.reply.error_forms import error_message
from conductor.workers.endpoint.transport.timing import Deadlines
from conductor.workers.endpoint.wire import Chunk, read_chunk
from conductor.workers.keys.mask import Mask

_DONE = re.compile(r"\s*\"?(?:\[DONE\]|DONE)\"?\s*", re.IGNORECASE)
_ERROR_BYTES = 65_536
_BYTES_A_CHARACTER = 6
_SPARE_BYTES = 65_536

_REQUEST_IDS = (
    "x-request-id",  # OpenAI, vLLM, Mistral, Groq, Together
    "request-id",  # Anthropic
    "apim-request-id",  # Azure
    "x-amzn-requestid",  # Amazon Bedrock
    "x-goog-request-id",  # Google
    "x-generation-id",  # OpenRouter
    "cf-ray",  # Cloudflare, before other services
)
_COST = "x-litellm-response-cost"
"""US dollars of a whole answer: https://docs.litellm.ai/docs/proxy/response_headers. A stream's cost is not
known when its head comes.
"""
_NAME = re.compile(r"[!-~]{1,128}")
"""A longer name, or one with spaces or control characters, is none that a person could pass on."""


class Exchange:
    """One request and its answer, read once: by `chunks` or by `document`.

    Both raise `EndpointFailure`, `TimeoutError` at a deadline, and what httpx raises when the connection
    breaks. One event may have `most` characters. `mask` hides the keys that the server repeats in an error;
    those in an answer are the reply's to hide. `request_id` is the provider's own name of the call, `bill` an
    object with what a whole answer cost; both are None until the head of the answer gives one.
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
        self.bill: Mapping[str, Any] | None = None
        self._client = client
        self._request = request
        self._deadlines = deadlines
        self._failures = failures
        self._most_bytes = most * _BYTES_A_CHARACTER + _SPARE_BYTES
        self._mask = mask

    async def chunks(self) -> AsyncGenerator[Chunk | None, None]:
        """The chunks of the answer; None when the server announces the end."""
        async with self._response() as (response, stream):
            done = document = False
            async with aclosing(self._events(response, stream)) as events:
                async for event, at_end in events:
                    # What follows the end is read all the same: usage may, and the connection is used again.
                    try:
                        for chunk in self._chunks(event):
                            done = done or chunk is None
                            yield chunk
                    except ValueError as error:
                        if not done and (event.bare or not at_end):
                            raise self._failures.malformed(str(error)) from None
                    document = event.bare
            if document and self.bill is not None:
                yield Chunk(places=(self.bill,))
            if document and not done:
                yield None

    async def document(self) -> bytes:
        async with self._response() as (response, _):
            return await self._deadlines.within(response.aread())

    @asynccontextmanager
    async def _response(self) -> AsyncIterator[tuple[httpx.Response, _CountedStream]]:
        """The response whose head is a success, and its stream."""
        response = await self._deadlines.within(self._client.send(self._request, stream=True))
        try:
            self.request_id = self._name(response)
            if (cost := response.headers.get(_COST)) is not None:
                self.bill = {"usage": {"cost": cost}}
            await self._check_head(response)
            yield response, _CountedStream(response, self._most_bytes, self._failures)
        finally:
            await response.aclose()

    def _name(self, response: httpx.Response) -> str | None:
        """The first of the names of the call that can be shown, or None."""
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

    async def _events(
        self, response: httpx.Response, stream: _CountedStream
    ) -> AsyncGenerator[tuple[Event, bool], None]:
        """Each event, without the comments that hold a connection open, and whether the connection's end
        ended it.
        """
        lines = EventLines()
        parts = response.aiter_raw()
        while (part := await self._deadlines.within(anext(parts, None))) is not None:
            for event in lines.feed(part):
                stream.bytes = 0
                yield event, False
        for event in lines.end():
            yield event, True

    def _chunks(self, event: Event) -> Iterator[Chunk | None]:
        """The chunks of an event: one, or several where no blank line parts them. Raises `ValueError`."""
        data = event.data
        if _DONE.fullmatch(data):
            yield None
        elif data.lstrip().startswith("<"):
            raise self._failures.markup(self._mask(error_message(data.encode())))
        else:
            try:
                yield read_chunk(data, named_error=event.is_error)
            except ValueError:
                lines = [line for line in data.split("\n") if line.strip()]
                if len(lines) < 2 or not lines[0].rstrip().endswith("}"):
                    raise
                for line in lines:
                    yield from self._chunks(Event(line, event.is_error))


class _CountedStream(httpx.AsyncByteStream):
    """A response's bytes: at most `most` may come until `bytes` is set back to 0."""

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


# -- lines of an event stream ----------------------------------------------------------------------
#
# As https://html.spec.whatwg.org/multipage/server-sent-events.html has them, and as servers write them: with
# a field `error:`, without blank lines, or as bare JSON.

_LINE_END = re.compile(r"\r\n|\n|\r")
_FIELD = re.compile(r"(?:data:\s*(?=data:))?(data|event|error|id|retry)(?::[ ]?|$)|:")
"""A field's name, which some proxies write twice, or the beginning of a comment."""


@dataclass(frozen=True)
class Event:
    """The data of one event, whether the server names it an error, and whether it has no field's name."""

    data: str
    is_error: bool = False
    bare: bool = False


class EventLines:
    """Bytes in, events out, each as soon as it has ended. Every byte is looked at once."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._open: list[str] = []
        self._after_return = False
        self._first = True
        self._data: list[str] = []
        self._name = ""
        self._bare = False

    def feed(self, part: bytes) -> Iterator[Event]:
        """The events that this part ends."""
        text = self._decode(part)
        if self._first and text:
            text, self._first = text.removeprefix("\ufeff"), False
        if self._after_return and text:
            text, self._after_return = text.removeprefix("\n"), False
        *lines, rest = _LINE_END.split(text)
        self._after_return = text.endswith("\r")
        for line in lines:
            yield from self._line("".join([*self._open, line]))
            self._open.clear()
        self._open.append(rest)

    def end(self) -> Iterator[Event]:
        """What the end of the connection ends; it may be a part of an event."""
        rest = "".join(self._open) + self._decode(b"", True)
        if not any(name.startswith(rest) for name in ("data:", "event:", "error:")):
            yield from self._line(rest)
        yield from self._event()

    def _line(self, line: str) -> Iterator[Event]:
        field = _FIELD.match(line)
        if not line.strip():
            yield from self._event()
        elif field is None:
            if line[:1] == "{" and line.rstrip()[-1:] == "}" and not self._data:
                yield Event(line, bare=True)  # one JSON a line
            else:
                self._bare = self._bare or not self._data
                self._data.append(line)
        else:
            value = line[field.end() :]
            match field[1]:
                case "data":
                    self._data.append(value)
                case "event":
                    self._name = value.strip()
                case "error":
                    yield from self._event()
                    yield Event(value, is_error=True)

    def _event(self) -> Iterator[Event]:
        data, is_error, bare = "\n".join(self._data), self._name == "error", self._bare
        self._data, self._name, self._bare = [], "", False
        if data.strip():
            yield Event(data, is_error=is_error, bare=bare)
