"""The endpoint on a real socket: uvicorn, with connections that can be broken off on command.

Knows sockets and uvicorn; knows nothing of chat completions.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from threading import Event

import uvicorn
from starlette.types import Scope

from conductor.errors import ConductorError
from conductor.fake_openai.app import FakeOpenAI, create_app

_NO_LINGERING = struct.pack("ii", 1, 0)


class FakeServer(uvicorn.Server):
    """Serves `fake` at `host` and `port` (0: any free one); `run` blocks until it is told to stop.

    The port is taken on creation: `ConductorError` where it cannot be. Stopping breaks off what is still
    being answered.
    """

    def __init__(self, fake: FakeOpenAI, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._listener = _listener(host, port)
        self.port: int = self._listener.getsockname()[1]
        self.base_url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/v1"
        self.app = create_app(fake)
        self.fake = fake
        self.ready = Event()
        fake.break_off = self._break_off
        config = uvicorn.Config(
            self.app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
        )
        super().__init__(config)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `should_exit`."""
        super().run(sockets=sockets or [self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; afterwards `ready` is set."""
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn, which would wait for answers that never end."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets=sockets)

    def close(self) -> None:
        """Give the port back where `run` was never called."""
        self._listener.close()

    def _break_off(self, scope: Scope, reset: bool) -> None:
        for connection in list(self.server_state.connections):
            if connection.transport.get_extra_info("peername")[:2] == tuple(scope["client"]):
                _end(connection.transport, reset=reset)


def _end(transport: asyncio.Transport, *, reset: bool) -> None:
    if not reset:
        transport.close()
        return
    connection = transport.get_extra_info("socket")
    # Closing without lingering makes the kernel send a reset.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
    transport.abort()


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends without delay only on sockets that name TCP; others hold small pieces back for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ConductorError(
            f"{host}:{port} cannot be listened to: {error.strerror}. Choose another --port or --host."
        ) from error
    return listener
