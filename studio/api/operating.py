"""Answers operators of a server: whether it lives, whether it can take requests, and its metrics.

The first two need no token and give no reasons, which are in the log; the metrics are for tokens that may use
the API with all its workers, because they name them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from fastapi.security import HTTPBearer
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from conductor.errors import ConductorError
from studio.access.auth import TokenAuthenticator
from studio.access.errors import ApiError
from studio.access.exposure import LIVE, METRICS, READY
from studio.api.error_answers import error_answer
from studio.telemetry.metrics import CONTENT_TYPE
from studio.workbench import Workbench

_log = logging.getLogger(__name__)

FRESH_SECONDS = 1.0
"""How long a look counts: everybody may ask, and each look is a write to the store."""

LOOK_SECONDS = 5.0
"""How long a look may take; a store that is slower is not ready."""

_BEARER = HTTPBearer(auto_error=False)
_HEADERS = {"cache-control": "no-store"}


Scrape = Callable[[], Awaitable[bytes]]
"""Reads metrics, in Prometheus's text format."""


def operating_routes(
    workbench: Callable[[], Workbench], auth: TokenAuthenticator, metrics: Scrape
) -> list[Route]:
    """The routes, for the root of a server; `workbench` may open the workbench on its first call."""
    readiness = _Readiness(workbench)

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "ok"}, headers=_HEADERS)

    async def ready(_: Request) -> Response:
        parts = await readiness.look()
        usable = all(parts.values())
        shape = {name: "ok" if works else "unusable" for name, works in parts.items()}
        return JSONResponse(
            {"status": "ok" if usable else "unusable", **shape},
            status_code=200 if usable else 503,
            headers=_HEADERS,
        )

    async def scrape(http: Request) -> Response:
        try:
            await _admit(http, auth)
        except ConductorError as error:
            return await error_answer(http, error)
        return Response(await metrics(), headers={**_HEADERS, "content-type": CONTENT_TYPE})

    return [Route(LIVE, live), Route(READY, ready), Route(METRICS, scrape)]


async def bearer_and_client(http: Request) -> tuple[str | None, str | None]:
    """The bearer token and the address that a request came with."""
    credentials = await _BEARER(http)
    bearer = None if credentials is None else credentials.credentials
    return bearer, None if http.client is None else http.client.host


async def _admit(http: Request, auth: TokenAuthenticator) -> None:
    """Raises `ApiError` for who may not read the metrics."""
    principal = await auth.authenticate(*await bearer_and_client(http))
    if principal.workers is not None:
        message = "This token is for some workers only, and the metrics name all; use one without that limit."
        raise ApiError(message, status=403, code="metrics_not_allowed")


class _Readiness:
    """Whether the store and the pool can be used, looked up once for all who ask at one time."""

    def __init__(self, workbench: Callable[[], Workbench]) -> None:
        self._workbench = workbench
        self._looking = asyncio.Lock()
        self._parts: dict[str, bool] = {}
        self._until = 0.0

    async def look(self) -> dict[str, bool]:
        """Whether each part can be used, by its name."""
        async with self._looking:
            if time.monotonic() >= self._until:
                store = await self._works("store", lambda bench: bench.store.check_writable())
                pool = await self._works("pool", lambda bench: bench.pool)
                self._parts = {"store": store, "pool": pool}
                self._until = time.monotonic() + FRESH_SECONDS
            return self._parts

    async def _works(self, part: str, use: Callable[[Workbench], object]) -> bool:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await asyncio.to_thread(lambda: use(self._workbench()))
        except ConductorError as error:
            _log.error("this server is not ready, its %s cannot be used: %s", part, error)
        except TimeoutError:
            _log.error("this server is not ready, its %s gave no answer in %g s", part, LOOK_SECONDS)
        else:
            return True
        return False
