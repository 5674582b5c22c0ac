"""Counts requests and logs them, from outside of everything that answers them.

Knows ASGI, routes and what is counted; knows no endpoint. A route is named by its template, so neither an id
nor an address without an endpoint becomes a label.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.access.errors import ApiError
from studio.access.exposure import PATH
from studio.api.error_answers import REFUSAL
from studio.telemetry.logs import log_request
from studio.telemetry.metrics import Metrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "other"
_PARTS = 8
_SESSION = "x-request-id"

UNHEEDED = "x-conductor-without-effect"
"""The header that names the parameters of a request which have no effect."""


class RequestMeter:
    """Middleware; without `metrics` it only logs. `parameters` returns the names of all parameters: others,
    which a client has written, are in no line of the log.
    """

    def __init__(
        self, app: ASGIApp, *, metrics: Metrics | None, parameters: Callable[[], Collection[str]]
    ) -> None:
        self._app = app
        self._parameters = parameters
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        # What an error that reaches the server is answered with.
        status, headers = 500, Headers()

        async def noted(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, headers = message["status"], Headers(raw=message.get("headers", ()))
            await send(message)

        if self._metrics is not None:
            self._metrics.request_begins()
        try:
            await self._app(scope, receive, noted)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else _OTHER
            route, seconds = _route(scope), time.perf_counter() - started
            if self._metrics is not None:
                self._metrics.request_ends(route=route, method=method, status=status, seconds=seconds)
            log_request(
                route=route,
                method=method,
                status=status,
                seconds=seconds,
                session=headers.get(_SESSION),
                without_effect=headers.get(UNHEEDED),
                **self._refusal(scope),
            )

    def _refusal(self, scope: Scope) -> dict[str, str | None]:
        """Which parameter was refused and why, with nothing that the client has written."""
        error: ApiError | None = scope.get(REFUSAL)
        if error is None:
            return {}
        parts = (error.param or "").split(".")[:_PARTS]
        named = (part if part.isdecimal() or part in self._parameters() else "*" for part in parts)
        return {"param": ".".join(named) if error.param else None, "code": error.code, "reason": error.reason}


def _route(scope: Scope) -> str:
    route = scope.get("route")
    # Of an address that no endpoint has, it is the mount of the whole API.
    return f"{PATH}{route.path}" if isinstance(route, Route) else _OTHER
