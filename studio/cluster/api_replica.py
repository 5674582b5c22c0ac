"""A replica of the API on a machine of the cluster: an event loop, with a workbench of its own on the store.

Like a process of `serve --processes`, but that Ray Serve's proxies bring it its requests. Knows ASGI and what
Serve asks a replica; asks Serve only for the other replicas.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conductor.errors import ClusterError, ConductorError
from studio.api.answers.response_run import ResponseRuns
from studio.api.serving.configured import ConfiguredApi, configured_api
from studio.api.serving.resuming_server import ResumingServer
from studio.api.serving.server import rooted
from studio.cluster.brief import Brief, no_store, on_this_machine
from studio.telemetry.metrics import side_by_side

NAME = "api"
"""Of the deployment, in its application."""

METRICS_SECONDS = 5.0
"""How long all replicas together may take to give their metrics."""


@dataclass(frozen=True)
class ApiSettings:
    """What each replica is sent beside its brief: the deployment's id, the names that the API goes by, and
    settings that take the place of those in its machine's environment.
    """

    deployment: str
    hosts: frozenset[str]
    environment: Mapping[str, str]


class ApiReplica:
    """What Serve makes, calls and ends; raises `ClusterError` where its machine cannot be used."""

    def __init__(self, brief: Brief, settings: ApiSettings) -> None:
        os.environ.update(settings.environment)
        refused = no_store(None)
        if refused is not None:
            raise ClusterError(refused)
        self._settings = settings
        self._opened = ExitStack()
        try:
            # Without a token of this machine: a program does not know which machine answers it.
            self._api: ConfiguredApi = self._opened.enter_context(
                configured_api(machine=lambda: None, scrape=_metrics_of_all)
            )
            refused = brief.unusable_in(self._api.workbench.pool)
        except ConductorError as error:
            refused = on_this_machine(str(error))
        if refused is not None:
            self._opened.close()
            raise ClusterError(refused)

    def __serve_build_asgi_app__(self) -> ASGIApp:
        """See `ray.serve.ingress`."""
        hosts, beside = self._settings.hosts, self._api.beside
        return Shielded(rooted(self._api.api, hosts=hosts, beside=beside, lifespan=self._lifespan))

    def deployment(self) -> str:
        """The id of the deployment that made it."""
        return self._settings.deployment

    async def stop(self) -> None:
        """End all answers in OpenAI's shape, and begin no more."""
        await self._runs.stop()

    def metrics(self) -> tuple[str, bytes]:
        """The replica's name, and its own metrics."""
        from ray import serve  # noqa: PLC0415 - an extra

        return serve.get_replica_context().replica_id.unique_id, self._api.metrics.text()

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Serve ends it when no request is under way: what goes on in the background may end first, too."""
        resuming = ResumingServer(self._api.api.state.service)
        resuming.begin()
        yield
        await resuming.stop()
        await self._runs.finished()
        await self._runs.settle()
        await asyncio.to_thread(self._opened.close)

    @property
    def _runs(self) -> ResponseRuns:
        runs: ResponseRuns = self._api.api.state.runs
        return runs


async def _metrics_of_all() -> bytes:
    from ray import serve  # noqa: PLC0415 - an extra

    handle = serve.get_deployment_handle(NAME, serve.get_replica_context().app_name)
    replies = await handle.broadcast("metrics").results_async(
        timeout_s=METRICS_SECONDS, return_exceptions=True
    )
    # One may end meanwhile.
    return side_by_side(dict(each for each in replies if not isinstance(each, BaseException)))


class Shielded:
    """Middleware: where Serve cancels a request, the app finds that its client left, as behind other servers.

    It then ends what it began in order; cut off anywhere, it would leave a run under way.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._ending: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        left = asyncio.Event()
        answering = asyncio.create_task(self._answer(scope, receive, send, left))
        self._ending.add(answering)
        answering.add_done_callback(self._ending.discard)
        try:
            await asyncio.shield(answering)
        except asyncio.CancelledError:
            left.set()
            raise

    async def _answer(self, scope: Scope, receive: Receive, send: Send, left: asyncio.Event) -> None:
        leaving = asyncio.create_task(left.wait())

        async def received() -> Message:
            receiving = asyncio.ensure_future(receive())
            try:
                await asyncio.wait({receiving, leaving}, return_when=asyncio.FIRST_COMPLETED)
                return receiving.result() if receiving.done() else {"type": "http.disconnect"}
            finally:
                receiving.cancel()

        try:
            await self._app(scope, received, send)
        finally:
            leaving.cancel()
