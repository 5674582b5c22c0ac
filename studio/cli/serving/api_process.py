"""One process that serves the API at a socket which its command has opened.

A module of its own, because `serve --processes` starts it in each of its processes.
"""

from __future__ import annotations

import socket

from studio.access.exposure import configured_access
from studio.access.machine_token import MachineToken
from studio.api.serving.configured import configured_api
from studio.api.serving.server import ApiServer
from studio.api.serving.stop_signals import until_stop_signal


def serve_at(host: str, listener: socket.socket) -> None:
    """Serve what the environment configures, until SIGTERM or SIGINT; runs are stopped and kept first.

    Raises `StorageError` where the store cannot be opened.
    """
    machine, is_open = MachineToken.configured().read, configured_access(host).api_open
    # uvicorn ends in order, then raises the signal again.
    with until_stop_signal(), configured_api(machine=machine, is_open=is_open) as configured:
        server = ApiServer(configured.api, host=host, listener=listener, beside=configured.beside)
        server.run()
