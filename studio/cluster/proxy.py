"""What Ray Serve's proxies do beside passing requests on. Imported by each of them; knows headers."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


def middleware() -> list[Middleware]:
    """See Serve's `RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH`."""
    return [Middleware(OwnRequestId)]
