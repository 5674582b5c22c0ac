"""`serve`: start the app, which has the API beside it, or the API alone."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from conductor.commands.announcement import announce_when_up
from conductor.commands.settings import host_name, port_number
from conductor.errors import ServeError

_APP = Path(__file__).resolve().parents[2] / "app.py"
_APP_HOST = "localhost"
_APP_PORT = 8501
_EVERY = (None, "0.0.0.0", "::")  # noqa: S104 - told where this machine finds it
_API_PORT = 8600
_HEALTH = "/_stcore/health"


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("serve", parents=parents, help="start the app, or the API alone")
    parser.add_argument("--port", type=port_number, help=f"{_APP_PORT}, or {_API_PORT} for the API alone")
    parser.add_argument("--host", type=host_name, help="the address to listen at; the API alone: 127.0.0.1")
    parser.add_argument("--api-only", action="store_true", help="serve the API under /v1 without the app")
    parser.add_argument("--app-url", metavar="URL", help="where the app is, which links to runs lead to")
    parser.set_defaults(command=_serve)


def _serve(options: argparse.Namespace) -> int:
    """Run the server until it stops; its exit code."""
    if options.pool is not None:
        os.environ["CONDUCTOR_POOL"] = str(options.pool.resolve())
    if options.database is not None:
        os.environ["CONDUCTOR_DATABASE_URL"] = options.database
    if options.app_url is not None:
        os.environ["CONDUCTOR_APP_URL"] = options.app_url
    return _serve_api(options) if options.api_only else _serve_app(options)


def _serve_app(options: argparse.Namespace) -> int:
    port = _free_port(options.host or _APP_HOST, _APP_PORT if options.port is None else options.port)
    command = [sys.executable, "-m", "streamlit", "run", str(_APP), "--server.port", str(port)]
    if options.host is not None:
        command += ["--server.address", options.host]
    if options.json:
        # Its own greeting would stand on stdout beside the object.
        command += ["--logger.hideWelcomeMessage", "true"]
        host = _APP_HOST if options.host in _EVERY else options.host
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        announce_when_up(json.dumps({"url": url}), host=host, port=port, path=_HEALTH)
    if hasattr(os, "fork"):
        # The server takes this process's place, so that whoever stops this one stops the server.
        sys.stdout.flush()
        os.execve(sys.executable, command, os.environ)  # noqa: S606 - our own interpreter and file
    return subprocess.call(command)  # noqa: S603 - the same, where processes cannot be replaced


def _free_port(host: str, port: int) -> int:
    """The port, of 0 any free one, after seeing that the app can listen there. Raises `ServeError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        if os.name == "posix":
            # As the app does; elsewhere this would take a port that another program listens at.
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
            tried.listen()
        except OSError as error:
            raise ServeError(
                f"The app cannot listen at {host}, port {port}: {error.strerror}. Choose another --port or "
                "--host."
            ) from error
        free: int = tried.getsockname()[1]
    return free


def _serve_api(options: argparse.Namespace) -> int:
    # Here, because whoever starts the app needs none of it.
    from conductor.api.app import api  # noqa: PLC0415
    from conductor.api.gate import TokenGate  # noqa: PLC0415
    from conductor.api.server import ApiServer  # noqa: PLC0415
    from conductor.collector import settle  # noqa: PLC0415
    from storage import SessionStore, default_url  # noqa: PLC0415
    from storage.configured import ConfiguredEnsemble  # noqa: PLC0415
    from storage.retention import apply_daily  # noqa: PLC0415
    from storage.serving import WorkbenchOrchestra  # noqa: PLC0415
    from storage.workbench import Workbench  # noqa: PLC0415

    workbench = Workbench.following(SessionStore.open(default_url()), ConfiguredEnsemble())
    try:
        store = workbench.store
        app_url = os.environ.get("CONDUCTOR_APP_URL") or None
        app = api(WorkbenchOrchestra(lambda: workbench), TokenGate(lambda: store), app_url=app_url)
        port = _API_PORT if options.port is None else options.port
        server = ApiServer(app, host=options.host or "127.0.0.1", port=port)
        _announce(server.base_url, has_tokens=store.has_tokens(), as_json=options.json)
        threading.Thread(target=apply_daily, args=(store,), name="retention", daemon=True).start()
        settle()
        # uvicorn ends in order, then raises the signal again; runs are stopped and kept before it is heeded.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        server.run()
    except KeyboardInterrupt:
        return 0
    finally:
        workbench.close()
    return 0


def _announce(url: str, *, has_tokens: bool, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"url": url, "tokens": has_tokens}), flush=True)
        return
    print(f"The API is at {url}. Ctrl+C ends it.")
    if has_tokens:
        print("It answers who has a token.", flush=True)
    else:
        print(
            "There is no token, so it answers this machine only; `python -m conductor tokens create NAME` "
            "makes one.",
            flush=True,
        )
