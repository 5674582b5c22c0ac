"""The API alone on a real socket. Knows sockets and uvicorn; nothing of what is asked."""

from __future__ import annotations

import socket
from threading import Event

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount

from conductor.api.app import PATH, no_such_route
from conductor.api.connections import PunctualConnection, allow_many_connections
from conductor.errors import ServeError

BACKLOG = 2_048
"""Connections that may wait until they are taken."""

_FAREWELL_SECONDS = 2
"""How long answers under way may take when the server is stopped."""


class ApiServer(uvicorn.Server):
    """Serves `api` under `/v1` at `host` and `port` (0: any free one); `run` blocks until it is stopped.

    The port is taken on creation: `ServeError` where it cannot be. `ready` is set once it answers.
    """

    def __init__(self, api: Starlette, *, host: str = "127.0.0.1", port: int = 0) -> None:
        allow_many_connections()
        self._listener = _listener(host, port)
        self.port: int = self._listener.getsockname()[1]
        self.base_url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}{PATH}"
        self.ready = Event()
        app = Starlette(
            routes=[Mount(PATH, api)],
            exception_handlers={HTTPException: no_such_route},
        )
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=PunctualConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_FAREWELL_SECONDS,
        )
        super().__init__(config)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `should_exit`."""
        super().run(sockets=sockets or [self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; afterwards `ready` is set."""
        await super().startup(sockets=sockets)
        self.ready.set()


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends without delay only on sockets that name TCP; others hold small pieces back for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ServeError(
            f"The API cannot listen at {host}, port {port}: {error.strerror}. Choose another port or host."
        ) from error
    listener.listen(BACKLOG)
    return listener
