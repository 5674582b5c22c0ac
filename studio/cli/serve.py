"""`serve`: start the app, which has the API beside it, or the API alone."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conductor.errors import PoolError, ServeError
from studio.access.exposure import OPEN, configured_access, reaches_beyond
from studio.access.password import SETTING
from studio.cli.options import Configured, flag, host_name, option, port_number, takes_options
from studio.cli.terminal import print_remark

if TYPE_CHECKING:
    from studio.access.machine_token import MachineToken

_APP = Path(__file__).resolve().parents[2] / "app.py"
_APP_HOST = "localhost"
_APP_PORT = 8501
_EVERY = (None, "0.0.0.0", "::")  # noqa: S104 - printed as the address at which this machine finds it
_API_PORT = 8600
_PORT_HELP = f"Default: {_APP_PORT}, or {_API_PORT} for the API alone."
_HOST_HELP = f"The address to listen at; beyond loopback the app needs {SETTING}."
_HEALTH = "/_stcore/health"
_PAUSE_SECONDS = 0.1
_ANSWER_SECONDS = 5.0

app = typer.Typer(add_completion=False)


@app.command()
@takes_options
def serve(
    port: Annotated[int | None, option(_PORT_HELP, "PORT", port_number)] = None,
    host: Annotated[str | None, option(_HOST_HELP, "HOST", host_name)] = None,
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
    _ask_about_keys(options.pool)
    if api_only:
        return _serve_api(host, port, options)
    return _serve_app(host, port, as_json=options.json)


def _ask_about_keys(pool: Path | None) -> None:
    if sys.stdin is not None and sys.stdin.isatty():
        # Here, because the app itself is started without it.
        from studio.cli.keys import ask_about_keys  # noqa: PLC0415

        # The app and the API themselves name a pool that cannot be read.
        with suppress(PoolError):
            ask_about_keys(pool)


# -- the app ---------------------------------------------------------------------------------------


def _serve_app(host: str | None, port: int | None, *, as_json: bool) -> int:
    port = _free_port(host or _APP_HOST, _APP_PORT if port is None else port)
    command = [sys.executable, "-m", "streamlit", "run", str(_APP), "--server.port", str(port)]
    if host is not None:
        command += ["--server.address", host]
    if as_json:
        # Its own greeting would stand on stdout beside the object.
        command += ["--logger.hideWelcomeMessage", "true"]
        near = _APP_HOST if host is None or host in _EVERY else host
        url = f"http://{f'[{near}]' if ':' in near else near}:{port}"
        announce_when_up(json.dumps({"url": url}), host=near, port=port, path=_HEALTH)
    if hasattr(os, "fork"):
        # The server takes this process's place: a signal that stops this process stops the server.
        sys.stdout.flush()
        os.execve(sys.executable, command, os.environ)  # noqa: S606 - our own interpreter and file
    return subprocess.call(command)  # noqa: S603 - the same, where processes cannot be replaced


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


def announce_when_up(line: str, *, host: str, port: int, path: str) -> None:
    """Return at once; print `line` on stdout when `path` at that address answers.

    For a server that is about to take this process's place: the waiting ends when the server does.
    """
    if not hasattr(os, "fork"):
        # Such a server runs beside this process, which outlives it.
        waiting = threading.Thread(
            target=_announce, args=(line, host, port, path, _never), name="announcement", daemon=True
        )
        waiting.start()
        return
    # The server holds its end open until it ends.
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.close(reading)
        os.waitpid(child, 0)
        return
    try:
        # Not a child of the server, which never waits for its children.
        if os.fork() == 0:
            os.close(writing)
            _announce(line, host, port, path, lambda: _closed(reading))
    finally:
        os._exit(0)


def _announce(line: str, host: str, port: int, path: str, ended: Callable[[], bool]) -> None:
    while not _answers(host, port, path):
        if ended():
            return
    print(line, flush=True)


def _answers(host: str, port: int, path: str) -> bool:
    asking = http.client.HTTPConnection(host, port, timeout=_ANSWER_SECONDS)
    try:
        asking.request("GET", path)
        return asking.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asking.close()


def _closed(reading: int) -> bool:
    """Whether the other end is closed; waits a moment where it is open."""
    return bool(select.select([reading], [], [], _PAUSE_SECONDS)[0])


def _never() -> bool:
    time.sleep(_PAUSE_SECONDS)
    return False


# -- the API alone ---------------------------------------------------------------------------------


def _serve_api(host: str | None, port: int | None, options: Configured) -> int:
    # Here, because the app is started without it.
    from storage import SessionStore, data_folder, default_url  # noqa: PLC0415
    from studio.access.auth import TokenAuthenticator  # noqa: PLC0415
    from studio.access.machine_token import MachineToken  # noqa: PLC0415
    from studio.api.app import api  # noqa: PLC0415
    from studio.api.backend import StoreBackend  # noqa: PLC0415
    from studio.api.server import ApiServer  # noqa: PLC0415
    from studio.composition.configured_pool import ConfiguredRuntime  # noqa: PLC0415
    from studio.gc_tuning import settle  # noqa: PLC0415
    from studio.sessions.retention import apply_daily  # noqa: PLC0415
    from studio.workbench import Workbench  # noqa: PLC0415

    workbench = Workbench.following(SessionStore.open(default_url()), ConfiguredRuntime())
    try:
        store = workbench.store
        app_url = os.environ.get("CONDUCTOR_APP_URL") or None
        token = MachineToken.below(data_folder(default_url()))
        _create(token)
        is_open = configured_access(host).api_open
        auth = TokenAuthenticator(lambda: store.tokens, machine=token.read, is_open=is_open)
        served = api(StoreBackend(lambda: workbench), auth, app_url=app_url)
        server = ApiServer(served, host=host or "127.0.0.1", port=_API_PORT if port is None else port)
        _print_address(server.base_url, None if is_open else token.path, options)
        threading.Thread(target=apply_daily, args=(store,), name="retention", daemon=True).start()
        settle()
        # uvicorn ends in order, then raises the signal again; runs are stopped and kept first.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        server.run()
    except KeyboardInterrupt:
        return 0
    finally:
        workbench.close()
    return 0


def _create(token: MachineToken) -> None:
    try:
        token.create()
    except ServeError as error:
        # Other tokens still work.
        print_remark(str(error))


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
