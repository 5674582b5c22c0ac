"""An ASGI app on a free port of the loopback address, in a thread of the test's process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import uvicorn
from starlette.types import ASGIApp

from studio.api.serving.server import PunctualConnection


class _Server(uvicorn.Server):
    """Ends when it is asked to; uvicorn's own looks ten times a second, and then waits for its clients."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = Event()

    async def main_loop(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        self.ready.set()
        await self._ended.wait()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.gather(*self.server_state.tasks, return_exceptions=True)


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
    thread = Thread(target=server.run, args=([listener],), name="served-app", daemon=True)
    thread.start()
    assert server.ready.wait(60), "the app's server did not start"
    try:
        yield listener.getsockname()[1]
    finally:
        server.end()
        thread.join(60)
        assert not thread.is_alive(), "the app's server did not stop"
