"""The body of a request as bytes: how large it may be, how long it may take, how many values it may have.

Knows ASGI and the brackets and strings of JSON; knows no parameter. Nothing is read ahead: a body is read
once the request is known to be allowed, so a client without a token sends none.
"""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conductor.text.json_text import ValueCounter
from studio.access.errors import ApiError

MAX_BYTES = 10_000_000
MAX_SECONDS = 30.0
"""How long a body may take from its first byte to its last."""

MAX_VALUES = 30_000
"""Members of objects and items of lists that a body may have: room for the most messages with all the
parameters that clients send back, and for the largest workflow."""

DROP_SECONDS = 1.0
"""How long the rest of a body is read and dropped after the answer. A connection that is closed with unread
bytes is reset, and the client loses the answer."""


async def read_json(http: Request) -> bytes:
    """The request's body. Raises `ApiError` where it is not declared as JSON, is too large or takes too long.

    A body with too many values is not read to its end, and no parser gets any of it: to build its values
    would block the event loop, and with it every stream, for seconds.
    """
    if http.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        message = "Send the request as JSON, with the header `Content-Type: application/json`."
        raise ApiError(message, status=415, code="unsupported_media_type")
    if _declared_length(http.headers) > MAX_BYTES:
        raise _too_large(f"is larger than {MAX_BYTES / 1e6:g} MB; send less text.")
    body, counter = bytearray(), ValueCounter()
    try:
        async with asyncio.timeout(MAX_SECONDS):
            async for piece in http.stream():
                body += piece
                counter.feed(piece)
                if len(body) > MAX_BYTES:
                    raise _too_large(f"is larger than {MAX_BYTES / 1e6:g} MB; send less text.")
                if counter.values > MAX_VALUES:
                    raise _too_large(
                        f"has more than {MAX_VALUES:,} values, counting each member of an object and each "
                        "item of a list; join messages or their parts."
                    )
    except TimeoutError:
        message = f"The body of this request did not come within {MAX_SECONDS:g} s; send it again."
        raise ApiError(message, status=408, code="request_timeout") from None
    except ClientDisconnect:
        # The client cannot read this answer; the error keeps a disconnect out of the log of faults.
        message = "The client left before it had sent the whole request."
        raise ApiError(message, status=400, code="client_disconnected") from None
    return bytes(body)


def _too_large(what: str) -> ApiError:
    return ApiError(f"The body of this request {what}", status=413, code="request_too_large")


def _declared_length(headers: Headers) -> int:
    """The length in the headers, 0 without one; the server refuses what is no number."""
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdecimal() else 0


class UnreadBody:
    """Middleware that lets a client read an answer which goes out while its body still comes.

    Such an answer closes the connection, after the rest of the body was dropped for `DROP_SECONDS`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        unread = _declared_length(headers) > 0 or "transfer-encoding" in headers

        async def read() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and message.get("more_body", False)
            return message

        async def answer(message: Message) -> None:
            if unread and message["type"] == "http.response.start":
                others = [each for each in message["headers"] if each[0].lower() != b"connection"]
                message = {**message, "headers": [*others, (b"connection", b"close")]}
            elif unread and message["type"] == "http.response.body" and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await _drop_rest(receive)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        await self._app(scope, read, answer)


async def _drop_rest(receive: Receive) -> None:
    try:
        async with asyncio.timeout(DROP_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        pass
