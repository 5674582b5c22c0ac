"""Server-sent events: pieces of a stream, and a response that notices when nobody listens any more.

Knows ASGI and the format; nothing of what is sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

T = TypeVar("T")

QUIET_SECONDS = 15.0
"""After so long without a piece a comment is sent, so that no proxy takes the connection for dead."""

DONE = b"data: [DONE]\n\n"
"""The last piece of a stream of chat completion chunks."""


def data(shape: Any, *, event: str | None = None) -> bytes:
    """A piece with an object, and with the event's name where it has one."""
    name = "" if event is None else f"event: {event}\n"
    return f"{name}data: {json.dumps(shape)}\n\n".encode()


def comment(text: str) -> bytes:
    """A piece that clients pass over; `text` is one line."""
    return f": {text}\n\n".encode()


class EventStream(Response):
    """Sends pieces as they come; `ended` is called behind the last one, or as soon as the client leaves."""

    media_type = "text/event-stream"

    def __init__(
        self,
        pieces: AsyncGenerator[bytes, None],
        *,
        headers: Mapping[str, str],
        ended: Callable[[], None],
    ) -> None:
        # Proxies that gather an answer before they hand it on are asked not to.
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no", **headers})
        del self.headers["content-length"]
        self._pieces = pieces
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the pieces end or the client leaves, whichever is first."""
        del scope
        try:
            await until_gone(receive, self._send(send))
        finally:
            # Pieces that were never asked for have nothing to close.
            self._ended()
            await self._pieces.aclose()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        piece = asyncio.ensure_future(anext(self._pieces, None))
        try:
            while True:
                await asyncio.wait({piece}, timeout=QUIET_SECONDS)
                if not piece.done():
                    await _body(send, comment("still working"))
                    continue
                if (content := piece.result()) is None:
                    break
                await _body(send, content)
                piece = asyncio.ensure_future(anext(self._pieces, None))
        finally:
            if not piece.done():
                piece.cancel()
                await asyncio.wait({piece})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _body(send: Send, content: bytes) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": True})


async def until_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of `work`; None, and the work is cancelled, where the client leaves before it is done.

    The request's body was read before.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        left = not working.done()
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait({working, leaving})
    return None if left else working.result()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
