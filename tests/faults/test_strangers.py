"""What another server sends packed or without an end is broken off, within the worker's time and memory."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from conductor.errors import WorkerError
from conductor.workers.endpoint.embeddings import EmbeddingClient
from tests.support.endpoints.chat_cases import ask, client, endpoint, lines_of
from tests.support.endpoints.raw_endpoint import DONE, Conversation, chunk, head, raw_endpoint, replies

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PATIENCE = {"first_token": 0.5, "between_tokens": 0.5, "total": 1.0}
BYTES = 40_000_000
"""Above the bytes that 4,000,000 characters may have, which is what an answer may have."""

EVENTS, DOCUMENT = head(), head(content_type="application/json")
CHUNKED = EVENTS.replace(b"Connection: close", b"Transfer-Encoding: chunked")
LOGPROB = {"content": [{"token": "a", "logprob": -1.0, "top_logprobs": []}]}
CALL = {"index": 0, "function": {"name": "look", "arguments": "x"}}
ANSWER = chunk(content="So.") + chunk("stop")

ENDLESS = {
    "a status line": (b"HTTP/1.1 200 ", b"x" * 1000),
    "no header": (b"", b"x" * 1000),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a header": (b"HTTP/1.1 200 OK\r\nX-A: ", b"x" * 1000),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-A: b\r\n"),
    "the size of a chunk": (CHUNKED, b"1" * 1000),
    "the extension of a chunk": (CHUNKED + b"1;", b"x" * 1000),
    "chunks": (CHUNKED, b"1\r\n\n\r\n"),
    "the text of an error": (head(status="500 No", content_type="application/json"), b"x" * 1000),
    "a document": (DOCUMENT + b'{"a": "', b"x" * 1000),
    "space before a document": (DOCUMENT, b" " * 1000),
    "a line": (EVENTS + b"data: ", b"x" * 1000),
    "a comment": (EVENTS + b":", b"x" * 1000),
    "comments": (EVENTS, b": alive\n\n"),
    "blank lines": (EVENTS, b"\n"),
    "fields of an event": (EVENTS, b"id: 1\n"),
    "lines of an event": (EVENTS, b"data: {}\n"),
    "events without a choice": (EVENTS, b'data: {"choices": []}\n\n'),
    "usage": (EVENTS, b'data: {"choices": [], "usage": {"completion_tokens": 2}}\n\n'),
    "roles": (EVENTS, chunk(role="assistant")),
    "empty deltas": (EVENTS, chunk(content="")),
    "deltas": (EVENTS, chunk(content="words ")),
    "thoughts": (EVENTS, chunk(reasoning_content="words ")),
    "arguments of a call": (EVENTS, chunk(tool_calls=[CALL])),
    "calls": (EVENTS, b"".join(chunk(tool_calls=[CALL | {"index": at}]) for at in range(1000))),
    "probabilities": (EVENTS, chunk(content="", logprobs=LOGPROB)),
}
WHOLE = {
    "deltas after the last": (EVENTS + ANSWER, chunk(content="")),
    "events after the end": (EVENTS + ANSWER + DONE, b"data: more\n\n"),
}


PACKED = {
    "gzip": gzip.compress(bytes(3 * BYTES)),
    "deflate": zlib.compress(bytes(3 * BYTES)),
    "gzip, gzip": gzip.compress(gzip.compress(bytes(3 * BYTES))),
    "identity, GZip": gzip.compress(bytes(3 * BYTES)),
    "br": b"x" * 1000,
    "zstd": b"x" * 1000,
    "unknown": b"x" * 1000,
}


async def chat(base_url: str) -> str:
    """The last line of what a step's followers see."""
    return (await lines_of(ask(client(base_url, retries=0, **PATIENCE))))[-1]


async def models(base_url: str) -> str:
    """The error of a list of models."""
    with pytest.raises(WorkerError) as error:
        await client(base_url, retries=0, **PATIENCE).served()
    return f"error: {error.value}"


async def vectors(base_url: str) -> str:
    """The error of an embedding."""
    with pytest.raises(WorkerError) as error:
        await EmbeddingClient(endpoint(base_url, retries=0, **PATIENCE), name="alpha").embed(["a"])
    return f"error: {error.value}"


def without_end(begin: bytes, piece: bytes) -> Conversation:
    """Writes `piece` until the client leaves."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        while True:
            writer.write(piece * (1 + 20_000 // len(piece)))
            await writer.drain()

    return answer


@contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("call", [chat, models, vectors])
@pytest.mark.parametrize("what", ENDLESS)
async def test_what_has_no_end_is_broken_off_with_a_reason(
    what: str, call: Callable[[str], Awaitable[str]]
) -> None:
    async with raw_endpoint(without_end(*ENDLESS[what])) as base_url:
        with little_memory():
            line = await asyncio.wait_for(call(base_url), 60)
    assert line.startswith("error: alpha: 127.0.0.1:")


@pytest.mark.parametrize("call", [chat, models, vectors])
@pytest.mark.parametrize("status", ["200 OK", "500 No"])
@pytest.mark.parametrize("encoding", PACKED)
async def test_what_is_packed_is_not_unpacked(
    encoding: str, status: str, call: Callable[[str], Awaitable[str]]
) -> None:
    answer = replies(
        PACKED[encoding],
        content_type="application/json",
        status=status,
        more=f"Content-Encoding: {encoding}\r\n",
    )
    async with raw_endpoint(answer) as base_url:
        with little_memory():
            line = await asyncio.wait_for(call(base_url), 60)
    assert f"compressed ({encoding.lower()})" in line


@pytest.mark.parametrize("what", WHOLE)
async def test_an_answer_that_is_whole_is_taken_whatever_follows_without_end(what: str) -> None:
    async with raw_endpoint(without_end(*WHOLE[what])) as base_url:
        with little_memory():
            assert await asyncio.wait_for(chat(base_url), 60) == "stop: None tokens"
