"""Processes that serve the API at sockets which their command has opened, and those of the app beside them.

A module of its own, because `serve --processes` starts it in each of its processes.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from functools import partial
from tempfile import TemporaryDirectory

from conductor.own_settings import setting
from studio.access.exposure import configured_access
from studio.access.machine_token import MachineToken
from studio.api.serving.configured import configured_api
from studio.api.serving.processes import Processes, Serve
from studio.api.serving.server import ApiServer
from studio.api.serving.stop_signals import until_stop_signal
from studio.telemetry.logs import LOG, log_as_json
from studio.telemetry.metrics import SHARED


def serve_at(host: str, listener: socket.socket) -> None:
    """Serve what the environment configures, until SIGTERM or SIGINT; runs are stopped and kept first.

    Raises `StorageError` where the store cannot be opened.
    """
    machine, is_open = MachineToken.configured().read, configured_access(host).api_open
    # uvicorn ends in order, then raises the signal again.
    with until_stop_signal(), configured_api(machine=machine, is_open=is_open) as configured:
        server = ApiServer(configured.api, host=host, listener=listener, beside=configured.beside)
        server.run()


def serve_each(
    apps: Sequence[tuple[str, Serve]], host: str, listeners: Sequence[socket.socket], processes: int
) -> None:
    """Serve with these processes of the app, and so many of the API at the sockets by turns, until SIGTERM or
    SIGINT.
    """
    if setting(LOG) == "json":
        # Of what starts and replaces them.
        log_as_json()
    apis = [partial(serve_at, host, listeners[at % len(listeners)]) for at in range(processes)]
    with TemporaryDirectory(prefix="conductor-metrics-") as shared:
        # The client of Prometheus reads it in each process: those of the API count as one server.
        os.environ[SHARED] = shared
        Processes([*apps, *(("the API", serve) for serve in apis)]).run()
