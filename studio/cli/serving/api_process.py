"""One process that serves the API at a socket which its command has opened.

A module of its own, because `serve --processes` starts it in each of its processes.
"""

from __future__ import annotations

import signal
import socket
from contextlib import suppress

from studio.access.exposure import configured_access
from studio.access.machine_token import MachineToken
from studio.api.serving.configured import configured_api
from studio.api.serving.server import ApiServer


def serve_at(host: str, listener: socket.socket) -> None:
    """Serve what the environment configures, until SIGTERM or SIGINT; runs are stopped and kept first.

    Raises `StorageError` where the store cannot be opened.
    """
    # uvicorn ends in order, then raises the signal again.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        _serve(host, listener)


def _serve(host: str, listener: socket.socket) -> None:
    machine = MachineToken.configured().read
    with configured_api(machine=machine, is_open=configured_access(host).api_open) as configured:
        server = ApiServer(configured.api, host=host, listener=listener, beside=configured.beside)
        server.run()
