"""`serve`: start the app, which has the API beside it, or the API alone."""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import sys
import threading
import time
import urllib.request
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Annotated

from conductor.errors import PoolError, ServeError
from studio.access.exposure import HEALTH, OPEN, configured_access, reaches_beyond
from studio.access.password import SETTING
from studio.cli.opening import confirm_keys
from studio.cli.options import App, Configured, count, flag, not_empty, option
from studio.cli.output.terminal import print_remark

_APP = Path(__file__).resolve().parents[2] / "app.py"
_APP_HOST = "localhost"
_APP_PORT = 8501
_EVERY = (None, "0.0.0.0", "::")  # noqa: S104 - printed as the address at which this machine finds it
_API_PORT = 8600
_PORT_HELP = f"Default: {_APP_PORT}, or {_API_PORT} for the API alone."
_HOST_HELP = f"The address to listen at; beyond loopback the app needs {SETTING}."

_port = count(_PORT_HELP, "PORT", least=0, most=65535)
# An empty address would be every one of this machine.
_host = option(_HOST_HELP, "HOST", not_empty("name an address, like 127.0.0.1"))

app = App()


@app.command()
def serve(
    port: Annotated[int | None, _port] = None,
    host: Annotated[str | None, _host] = None,
    api_only: Annotated[bool, flag("--api-only", "Serve the API under /v1 without the app.")] = False,
    api_open: Annotated[bool, flag("--api-open", "Require no token of programs on this machine.")] = False,
    app_url: Annotated[str | None, option("The app's address, for links to runs.", "URL")] = None,
    *,
    options: Configured,
) -> int:
    """Start the app, or the API alone.

    Runs until the server stops; its exit code is the command's.
    """
    if options.pool is not None:
        os.environ["CONDUCTOR_POOL"] = str(options.pool.resolve())
    if options.database is not None:
        os.environ["CONDUCTOR_DATABASE_URL"] = options.database
    if app_url is not None:
        os.environ["CONDUCTOR_APP_URL"] = app_url
    if api_open:
        os.environ[OPEN] = "1"
    access = configured_access(host)
    if not api_only and access.password is None and reaches_beyond(host):
        raise ServeError(
            f"{host} can be reached by other machines, and the app has no password; set {SETTING}, "
            "or leave --host out."
        )
    # The app and the API themselves name a pool that cannot be read.
    with suppress(PoolError):
        confirm_keys(options.pool, ask=True)
    if api_only:
        return _serve_api(host, port, options)
    return _serve_app(host, port, as_json=options.json)


# -- the app ---------------------------------------------------------------------------------------


def _serve_app(host: str | None, port: int | None, *, as_json: bool) -> int:
    """Run Streamlit in this process, so that a signal which stops the command stops the server."""
    port = _free_port(host or _APP_HOST, _APP_PORT if port is None else port)
    sys.argv = ["streamlit", "run", str(_APP), "--server.port", str(port)]
    if host is not None:
        sys.argv += ["--server.address", host]
    if as_json:
        # Its own greeting would stand on stdout beside the object.
        sys.argv += ["--logger.hideWelcomeMessage", "true"]
        near = _APP_HOST if host is None or host in _EVERY else host
        threading.Thread(target=_announce, args=(near, port), name="announcement", daemon=True).start()
    # As `python -m streamlit` does; it ends with a `SystemExit`.
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    return 0


def _announce(host: str, port: int) -> None:
    """Print the app's address as JSON when it answers there."""
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    # No proxy of the environment stands between this process and itself.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            direct.open(f"{url}{HEALTH}", timeout=5.0).close()
            break
        except (OSError, HTTPException):
            time.sleep(0.1)
    print(json.dumps({"url": url}), flush=True)


def _free_port(host: str, port: int) -> int:
    """The port, of 0 any free one, once the app can listen there. Raises `ServeError`."""
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


# -- the API alone ---------------------------------------------------------------------------------


def _serve_api(host: str | None, port: int | None, options: Configured) -> int:
    # Here, because the app is started without it.
    from storage import SessionStore, data_folder, default_url  # noqa: PLC0415
    from studio.access.auth import TokenAuthenticator  # noqa: PLC0415
    from studio.access.machine_token import MachineToken  # noqa: PLC0415
    from studio.api.app import api  # noqa: PLC0415
    from studio.api.server import ApiServer  # noqa: PLC0415
    from studio.composition import ConfiguredRuntime  # noqa: PLC0415
    from studio.gc_tuning import settle  # noqa: PLC0415
    from studio.sessions.retention import apply_daily  # noqa: PLC0415
    from studio.workbench import Workbench  # noqa: PLC0415

    configured = ConfiguredRuntime()
    with closing(Workbench(SessionStore.open(default_url()), configured)) as workbench:
        store = workbench.store
        app_url = os.environ.get("CONDUCTOR_APP_URL") or None
        token = MachineToken.below(data_folder(default_url()))
        try:
            token.create()
        except ServeError as error:
            # Other tokens still work.
            print_remark(str(error))
        is_open = configured_access(host).api_open
        auth = TokenAuthenticator(lambda: store.tokens, machine=token.read, is_open=is_open)
        served = api(lambda: workbench, auth, app_url=app_url)
        server = ApiServer(served, host=host or "127.0.0.1", port=_API_PORT if port is None else port)
        _print_address(server.base_url, None if is_open else token.path, options)
        threading.Thread(target=apply_daily, args=(store,), name="retention", daemon=True).start()
        # Reads the pool, so that offline workers are ready before the first request.
        if (fault := configured.fault) is not None:
            print_remark(str(fault))
        settle()
        # uvicorn ends in order, then raises the signal again; runs are stopped and kept first.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            server.run()
    return 0


def _print_address(url: str, token: Path | None, options: Configured) -> None:
    """Print where the API is, and the file with this machine's token; None where it is open."""
    if token is None:
        access = "It is open: every program on this machine may use it without a token."
    else:
        access = (
            f"Every request needs a token. That of this machine is in {token}; "
            "`python -m conductor tokens create NAME` makes others."
        )
    shape = {"url": url, "token_file": None if token is None else str(token)}
    options.show(shape, f"The API is at {url}. Ctrl+C ends it.", access)
