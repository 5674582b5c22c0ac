"""The middleware of Ray Serve's proxies: one id of a request, errors in OpenAI's shape. Knows ASGI."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.access.errors import ApiError
from studio.access.exposure import PATH
from studio.api.error_answers import error_answer, failed_run

CALLBACK = {"RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": f"{__name__}:middleware"}
"""The environment of proxies that have this middleware."""

_ID = b"x-request-id"


class OwnRequestId:
    """Leaves the API's own id of a request in its answer, its session's; Serve's proxies add another one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_one_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name, value) for name, value in message["headers"] if name.lower() != _ID]
                own = [(name, value) for name, value in message["headers"] if name.lower() == _ID][:1]
                message = {**message, "headers": [*headers, *own]}
            await send(message)

        await self._app(scope, receive, with_one_id)


class OwnErrors:
    """Errors in OpenAI's shape where no replica answers: a proxy refuses in plain text, which the API never
    writes, and sends nothing at all where a replica was lost before its first headers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(f"{PATH}/"):
            await self._app(scope, receive, send)
            return
        error: ApiError | None = failed_run(
            "The machine that made this answer was lost; the finished steps of its run are stored.",
            code="run_interrupted",
        )

        async def refused_here(message: Message) -> None:
            nonlocal error
            if message["type"] == "http.response.start":
                error = _NO_REPLICA if _is_refusal(message) else None
            if error is None:
                await send(message)

        await self._app(scope, receive, refused_here)
        if error is not None:
            answer = await error_answer(Request(scope), error)
            await answer(scope, receive, send)


_NO_REPLICA = ApiError(
    "No replica of the API can answer at the moment; ask again later.", status=503, code="no_replica"
)


def _is_refusal(start: Message) -> bool:
    kind: bytes = dict(start["headers"]).get(b"content-type", b"")
    return bool(start["status"] >= 400) and kind.startswith(b"text/plain")


def middleware() -> list[Middleware]:
    """See Serve's `RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH`."""
    return [Middleware(OwnRequestId), Middleware(OwnErrors)]
