"""Bodies of requests: how large one may be and how long it may take to come.

An ASGI middleware. Knows bytes and seconds, nothing of what is in a body. Nothing is read ahead: a body is
counted as the app reads it, so that whoever has no token sends none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conductor.api.errors import ApiError

MAX_BYTES = 10_000_000
MAX_SECONDS = 30.0
"""How long a body may take from its first byte to its last."""

FAREWELL_SECONDS = 1.0
"""How long what is still sent is thrown away after a refusal: a connection that is closed before it was
read is reset, and the refusal lost with it."""


class BoundedBody:
    """Answers with 413 where a body is larger than `max_bytes`, with 408 where it takes too long.

    Where the app reads the body, `ApiError` is raised; it may let that pass.
    """

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BYTES, max_seconds: float = MAX_SECONDS) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(
            Headers(scope=scope), receive, send, max_bytes=self._max_bytes, seconds=self._max_seconds
        )
        try:
            await self._app(scope, body.receive, body.send)
        except ApiError as error:
            if error is not body.refusal or body.answered:
                raise
            answer = JSONResponse(error.shape, status_code=error.status)
            await answer(scope, receive, body.send)


class _Body:
    """The body of one request, as it comes; `refusal` is why no more of it is read."""

    def __init__(
        self, headers: Headers, receive: Receive, send: Send, *, max_bytes: int, seconds: float
    ) -> None:
        self._headers = headers
        self._receive = receive
        self._send = send
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._read = 0
        self._until: float | None = None
        self._whole = False
        self.refusal: ApiError | None = None
        self.answered = False

    async def receive(self) -> Message:
        """The next piece. Raises `ApiError`; behind the whole body, what else the connection tells."""
        if self._whole:
            return await self._receive()
        if self.refusal is None and self._declared > self._max_bytes:
            self.refusal = self._too_large()
        if self.refusal is not None:
            raise self.refusal
        if self._until is None:
            self._until = time.monotonic() + self._seconds
        try:
            message = await asyncio.wait_for(self._receive(), self._until - time.monotonic())
        except TimeoutError:
            self.refusal = self._too_slow()
            raise self.refusal from None
        if message["type"] == "http.disconnect":
            self.refusal = _gone()
            raise self.refusal
        self._read += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._read > self._max_bytes:
            self.refusal = self._too_large()
            raise self.refusal
        return message

    async def send(self, message: Message) -> None:
        """Send a piece of the answer; a refusal closes the connection behind it."""
        if message["type"] == "http.response.start":
            self.answered = True
            if self._unread:
                message = {**message, "headers": [*_kept(message["headers"]), (b"connection", b"close")]}
        elif message["type"] == "http.response.body" and self._unread and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            await self._drain()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    @property
    def _unread(self) -> bool:
        """Whether an answer goes out while the body still comes."""
        coming = self._declared > 0 or "transfer-encoding" in self._headers
        return coming and not self._whole

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                while (await self._receive()).get("more_body", False):
                    pass
        except TimeoutError:
            pass

    @property
    def _declared(self) -> int:
        """The length that the headers tell, 0 where they tell none; servers refuse what is no number."""
        length = self._headers.get("content-length", "")
        return int(length) if length.isascii() and length.isdecimal() else 0

    def _too_large(self) -> ApiError:
        return ApiError(
            f"The body of this request is larger than {self._max_bytes / 1e6:g} MB; send less text.",
            status=413,
            code="request_too_large",
        )

    def _too_slow(self) -> ApiError:
        return ApiError(
            f"The body of this request did not come within {self._seconds:g} s; send it again.",
            status=408,
            code="request_timeout",
        )


def _gone() -> ApiError:
    """Nobody hears it; said so that no fault is logged where somebody has only left."""
    return ApiError(
        "The client left before it had sent the whole request.", status=400, code="client_disconnected"
    )


def _kept(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() != b"connection"]
