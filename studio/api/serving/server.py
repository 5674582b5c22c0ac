"""Serves the API: its own server, how many connections it takes, and how it stops.

Knows sockets, signals and uvicorn; knows nothing of requests. The app's server uses parts of it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from threading import Event
from types import FrameType
from typing import Any, Literal

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from conductor.errors import ServeError
from studio.access.exposure import PATH, url_at
from studio.access.origin_check import OwnOrigin, configured_hosts
from studio.api.answers.response_run import ResponseRuns
from studio.api.error_answers import error_answer
from studio.api.serving.resuming_server import ResumingServer

BACKLOG = 2_048
"""Connections that may wait until they are taken."""

CLOSING_SECONDS = 5
"""How long connections may take to close when the server stops: all answers end at once, but some clients
read slowly."""

HEADER_SECONDS = 20.0
"""How long a connection may take to send a request's headers, its first bytes included."""


class RunsServer(uvicorn.Server):
    """Serves an app at a socket that listens already; stops its `runs` before the connections close. `run`
    blocks until it is stopped; `ready` is set once it answers.
    """

    def __init__(
        self, app: ASGIApp, listener: socket.socket, runs: ResponseRuns, *, lifespan: Literal["on", "off"]
    ) -> None:
        allow_many_connections()
        self._listener, self.runs = listener, runs
        self.ready = Event()
        config = uvicorn.Config(
            app,
            loop="auto",
            http=PunctualConnection,
            ws="none",
            lifespan=lifespan,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
        super().__init__(config)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        super().run(sockets=sockets or [self._listener])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn; a second signal does not cut the end short."""
        if not self.should_exit:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; afterwards `ready` is set."""
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; before the connections close, each run under way ends with an error for its client."""
        stopping = asyncio.create_task(self.runs.stop())
        await super().shutdown(sockets=sockets)
        await stopping


class ApiServer(RunsServer):
    """Serves `api` under `/v1` at `host` and `port` (0: any free one).

    The port is taken on creation: `ServeError` where it cannot be. A `listener` listens at `host` already.
    `beside` are more routes, at the root.
    """

    def __init__(
        self,
        api: Starlette,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        listener: socket.socket | None = None,
        beside: Sequence[Route] = (),
    ) -> None:
        listener = listener or listen(host, port)
        self.port: int = listener.getsockname()[1]
        self.base_url = url_of(host, listener)
        app = rooted(api, hosts=configured_hosts(host), beside=beside)
        super().__init__(app, listener, api.state.runs, lifespan="off")
        self._resuming = ResumingServer(api.state.service)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See `RunsServer`; from then on it goes on with runs whose process ended."""
        await super().startup(sockets=sockets)
        self._resuming.begin()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See `RunsServer`; each unfinished answer ends in OpenAI's shape, and is stored."""
        await self._resuming.stop()
        await super().shutdown(sockets=sockets)
        await self.runs.settle()


def rooted(
    api: Starlette,
    *,
    hosts: Collection[str],
    beside: Sequence[Route] = (),
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]] | None = None,
) -> Starlette:
    """The whole app of a server that goes by these names: `api` under `/v1`, and `beside` at the root."""
    return Starlette(
        routes=[Mount(PATH, api), *beside],
        middleware=[Middleware(OwnOrigin, hosts=hosts)],
        exception_handlers={HTTPException: error_answer},
        lifespan=lifespan,
    )


def url_of(host: str, listener: socket.socket, *, path: str = PATH) -> str:
    """The API's base URL at a socket that listens at `host`, or that of another `path`."""
    return url_at(host, listener.getsockname()[1], path=path)


def listen_for_each(host: str, port: int, *, number: int) -> list[socket.socket]:
    """A listening socket for each of so many processes, all at one port, between which the system shares the
    connections evenly; one for all where the system does not. Raises `ServeError`.

    With one socket for all, a crowd that comes at once goes to the process that happens to wake first.
    """
    first = listen(host, port)
    if number == 1 or not sys.platform.startswith("linux"):
        return [first]
    # Closed first, because all have to agree to share; until then it kept others from the port.
    port = first.getsockname()[1]
    first.close()
    return [listen(host, port, shared=True) for _ in range(number)]


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens there, at any free port for 0; others may do so as well where it is `shared`.

    Raises `ServeError`.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends without delay only on sockets that name TCP; others hold small pieces back for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ServeError(
            f"The API cannot listen at {host}, port {port}: {error.strerror}. Choose another port or host."
        ) from error
    listener.listen(BACKLOG)
    return listener


# -- connections -----------------------------------------------------------------------------------


def allow_many_connections() -> None:
    """Raise this process's limit of open files to the system's; shells often start one with 1,024 or less."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - there is none on Windows

    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems report "unlimited", but accept less.
    target = 65_536 if most == resource.RLIM_INFINITY else most
    if least != resource.RLIM_INFINITY and least < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, most))


_REFUSE = H11Protocol.send_400_response


class PunctualConnection(H11Protocol):
    """uvicorn's connection, closed where the headers of the next request do not come within `HEADER_SECONDS`,
    and where a body is malformed.

    uvicorn closes one that is silent after an answer, but waits without end for the rest of begun headers; of
    the malformed body it would log that it cannot answer any more, or not twice, with a traceback.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()

    def send_400_response(self, msg: str) -> None:
        """See uvicorn; without an answer where one has begun. What the request's own answer sends from now on
        is dropped.
        """
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            _REFUSE(self, msg)
        else:
            self.transport.close()

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._late)

    def _late(self) -> None:
        self._deadline = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
