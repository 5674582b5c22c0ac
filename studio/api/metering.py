"""Counts requests and logs them, from outside of everything that answers them.

Knows ASGI, routes and what is counted; knows no endpoint. A route is named by its template, so neither an id
nor an address without an endpoint becomes a label.
"""

from __future__ import annotations

import time

from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.access.exposure import PATH
from studio.telemetry.logs import log_request
from studio.telemetry.metrics import Metrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "other"
_SESSION = b"x-request-id"


class RequestMeter:
    """Middleware; without `metrics` it only logs."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics | None) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        # What an error that reaches the server is answered with.
        status, session = 500, None

        async def noted(message: Message) -> None:
            nonlocal status, session
            if message["type"] == "http.response.start":
                status = message["status"]
                session = dict(message.get("headers", ())).get(_SESSION, b"").decode() or None
            await send(message)

        if self._metrics is not None:
            self._metrics.request_begun()
        try:
            await self._app(scope, receive, noted)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else _OTHER
            route, seconds = _route(scope), time.perf_counter() - started
            if self._metrics is not None:
                self._metrics.request_ended(route=route, method=method, status=status, seconds=seconds)
            log_request(route=route, method=method, status=status, seconds=seconds, session=session)


def _route(scope: Scope) -> str:
    route = scope.get("route")
    # Of an address that no endpoint has, it is the mount of the whole API.
    return f"{PATH}{route.path}" if isinstance(route, Route) else _OTHER
