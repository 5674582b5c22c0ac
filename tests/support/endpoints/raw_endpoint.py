"""An endpoint that sends exactly the bytes of a test, for what no decent server would ever send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Conversation = Callable[[asyncio.StreamWriter], Awaitable[None]]

EVENTS = "text/event-stream"


@asynccontextmanager
async def raw_endpoint(answer: Conversation) -> AsyncIterator[str]:
    """Its base URL. `answer` writes what every request gets; the connection is closed afterwards."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
            await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has left, or the test is over
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.close()
        await server.wait_closed()


def replies(
    body: bytes | str, *, content_type: str = EVENTS, status: str = "200 OK", more: str = ""
) -> Conversation:
    """Answers with these bytes. `more` are further header lines, each with its line's end."""
    content = body.encode() if isinstance(body, str) else body

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head(content_type=content_type, status=status, more=more) + content)
        await writer.drain()

    return answer


def in_turn(*answers: Conversation) -> Conversation:
    """Answers each request with the next of these."""
    left = iter(answers)

    async def answer(writer: asyncio.StreamWriter) -> None:
        await next(left)(writer)

    return answer


def head(*, content_type: str = EVENTS, status: str = "200 OK", more: str = "") -> bytes:
    """A status line and headers; the body goes on until the connection is closed."""
    typed = f"Content-Type: {content_type}\r\n" if content_type else ""
    return f"HTTP/1.1 {status}\r\n{typed}{more}Connection: close\r\n\r\n".encode()


def event(shape: Any) -> bytes:
    """One server-sent event."""
    return f"data: {json.dumps(shape)}\n\n".encode()


def chunk(finish: str | None = None, /, *, logprobs: Any = None, **delta: Any) -> bytes:
    """An event with this delta of an answer, and the `logprobs` of its choice."""
    choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
    return event({"choices": [choice]})


DONE = b"data: [DONE]\n\n"
