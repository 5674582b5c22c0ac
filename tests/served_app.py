"""An ASGI app on a free port of the loopback address, in a thread of the test's process."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import uvicorn
from starlette.types import ASGIApp

from studio.api.server import PunctualConnection


class _Server(uvicorn.Server):
    ready: Event

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets=sockets)


@contextmanager
def serving(app: ASGIApp) -> Iterator[int]:
    """Serve `app` until the block is left; the port."""
    # asyncio sends without delay only on sockets that name TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    config = uvicorn.Config(
        app, loop="asyncio", http=PunctualConnection, ws="none", lifespan="off", log_config=None
    )
    server = _Server(config)
    server.ready = Event()
    thread = Thread(target=server.run, args=([listener],), name="served-app", daemon=True)
    thread.start()
    assert server.ready.wait(30), "the app's server did not start"
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive(), "the app's server did not stop"
