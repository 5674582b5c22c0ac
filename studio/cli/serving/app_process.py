"""The app in this process, alone or as one of several that its command watches.

Knows Streamlit and ports; knows no options.
"""

from __future__ import annotations

import logging
import os
import runpy
import socket
import sys
import time
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path

from conductor.errors import ServeError
from studio.access.exposure import HEALTH
from studio.api.serving.stop_signals import until_stop_signal

HOST, PORT = "127.0.0.1", 8501
_APP = Path(__file__).resolve().parents[3] / "app.py"


def serve_app(host: str | None, port: int, *, greet: bool) -> None:
    """Run Streamlit in this process, so that a signal which stops the process stops the server.

    With `greet`, it prints its address.
    """
    # The client of Prometheus would count this process among those of the API.
    os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
    sys.argv = ["streamlit", "run", str(_APP), "--server.port", str(port)]
    if host is not None:
        sys.argv += ["--server.address", host]
    if not greet:
        sys.argv += ["--logger.hideWelcomeMessage", "true"]
    # A second signal cancels the server's end, which it would report with a trace.
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancelling)
    # The server ends in order, then raises the signal again.
    with until_stop_signal():
        # As `python -m streamlit` does; it ends with a `SystemExit`.
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)


def _is_no_cancelling(record: logging.LogRecord) -> bool:
    return not record.getMessage().rstrip().endswith("CancelledError")


def wait_until_served(urls: Sequence[str]) -> None:
    """Wait until the app answers at each of them."""
    # No proxy of the environment stands between this process and itself.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for url in urls:
        while True:
            try:
                direct.open(f"{url}{HEALTH}", timeout=5.0).close()
                break
            except (OSError, HTTPException):
                time.sleep(0.1)


def free_ports(host: str, port: int, *, number: int = 1) -> list[int]:
    """So many ports from this one on, of 0 any free ones, once the app can listen there.

    Raises `ServeError`.
    """
    with ExitStack() as tried:
        ports = range(port, port + number) if port else [0] * number
        return [tried.enter_context(_listening(host, each)).getsockname()[1] for each in ports]


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        # As the app does; elsewhere this would take a port that another program listens at.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise ServeError(
            f"The app cannot listen at {host}, port {port}: {reason}. Choose another --port or --host."
        ) from error
    return listener
