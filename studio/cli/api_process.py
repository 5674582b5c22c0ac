"""One process that serves the API at a socket which its command has opened.

A module of its own, because `serve --processes` starts it in each of its processes.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import closing, suppress

from storage import data_folder, default_url
from studio.access.auth import TokenAuthenticator
from studio.access.exposure import configured_access
from studio.access.machine_token import MachineToken
from studio.api.app import api
from studio.api.operating import operating_routes
from studio.api.server import ApiServer
from studio.composition import ConfiguredRuntime, served_workbench
from studio.gc_tuning import settle
from studio.sessions.retention import apply_daily
from studio.telemetry.metrics import Metrics


def serve_at(host: str, listener: socket.socket) -> None:
    """Serve what the environment configures, until SIGTERM or SIGINT; runs are stopped and kept first.

    Raises `StorageError` where the store cannot be opened.
    """
    # uvicorn ends in order, then raises the signal again.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        _serve(host, listener)


def _serve(host: str, listener: socket.socket) -> None:
    configured, metrics = ConfiguredRuntime(), Metrics()
    url = default_url()
    with closing(served_workbench(configured, metrics)) as workbench:
        store = workbench.store
        auth = TokenAuthenticator(
            lambda: store.tokens,
            machine=MachineToken.below(data_folder(url)).read,
            is_open=configured_access(host).api_open,
        )
        app_url = os.environ.get("CONDUCTOR_APP_URL") or None
        served = api(lambda: workbench, auth, app_url=app_url, metrics=metrics)
        beside = operating_routes(lambda: workbench, auth, metrics)
        server = ApiServer(served, host=host, listener=listener, beside=beside)
        threading.Thread(target=apply_daily, args=(store,), name="retention", daemon=True).start()
        # Reads the pool, so that offline workers are ready before the first request.
        configured.fault  # noqa: B018
        settle()
        server.run()
