"""`serve`: start the app, which has the API beside it, or the API alone."""

from __future__ import annotations

import logging
import multiprocessing
import os
import runpy
import socket
import sqlite3
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from conductor.errors import PoolError, ServeError
from conductor.own_settings import set_here
from conductor.typed_command import command_name
from conductor.workers.pool.built_in import from_any_folder
from conductor.workers.pool.pool import configured_pool
from studio.access.exposure import EVERY_ADDRESS, HEALTH, OPEN, configured_access, reaches_beyond, url_at
from studio.access.openid.logins import ISSUER
from studio.access.password import SETTING
from studio.api.serving.stop_signals import until_stop_signal
from studio.cli.opening import confirm_keys
from studio.cli.options import App, Configured, count, flag, not_empty, option
from studio.cli.output.terminal import print_json, print_remark
from studio.cli.serving.on_ray import OnRay, serve_on_ray

if TYPE_CHECKING:
    from studio.access.machine_token import MachineToken

_APP = Path(__file__).resolve().parents[3] / "app.py"
_APP_HOST = "127.0.0.1"
_APP_PORT = 8501
_API_HOST, _API_PORT = "127.0.0.1", 8600
MOST_PROCESSES = 64
_PORT_HELP = f"Default: {_APP_PORT}, or {_API_PORT} for the API alone."
_HOST_HELP = f"The address to listen at; beyond loopback the app needs {SETTING} or {ISSUER}."

_port = count(_PORT_HELP, "PORT", least=0, most=65535)
_processes = count(
    "Answer the API with N processes, beside the app or alone; see docs/scaling.md.",
    least=1,
    most=MOST_PROCESSES,
)
_api_port = count("Where the API's processes are beside the app.", "PORT", least=0, most=65535)
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
    processes: Annotated[int, _processes] = 1,
    api_port: Annotated[int, _api_port] = _API_PORT,
    log_json: Annotated[bool, flag("--log-json", "Log as JSON lines, without texts and keys.")] = False,
    on_ray: OnRay,
    options: Configured,
) -> int:
    """Start the app, or the API alone.

    Runs until the server stops; its exit code is the command's.
    """
    on_ray.check(processes=processes, port=_API_PORT if port is None else port)
    configure(options)
    if app_url is not None:
        set_here("CONDUCTOR_APP_URL", app_url)
    if api_open:
        set_here(OPEN, "1")
    if log_json:
        set_here("CONDUCTOR_LOG", "json")
    api_only = api_only or on_ray.ray is not None
    access = configured_access(host)
    if not api_only and access.logins is None and reaches_beyond(host):
        raise ServeError(
            f"{host} can be reached by other machines, and the app has no password; set {SETTING} "
            f"or {ISSUER}, or leave --host out."
        )
    # The app and the API themselves name a pool that cannot be read.
    with suppress(PoolError):
        confirm_keys(options.pool, ask=True)
    if on_ray.ray is not None:
        port = _API_PORT if port is None else port
        return serve_on_ray(on_ray, options, host=host or _API_HOST, port=port)
    if api_only:
        return _serve_api(host, port, processes, options)
    if processes > 1:
        _serve_beside(host, api_port, processes)
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
        near = _APP_HOST if host is None or host in EVERY_ADDRESS else host
        threading.Thread(target=_announce, args=(near, port), name="announcement", daemon=True).start()
    # A second signal cancels the server's end, which it would report with a trace.
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancelling)
    # The server ends in order, then raises the signal again.
    with until_stop_signal():
        # As `python -m streamlit` does; it ends with a `SystemExit`.
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    return 0


def _is_no_cancelling(record: logging.LogRecord) -> bool:
    return not record.getMessage().rstrip().endswith("CancelledError")


def _announce(host: str, port: int) -> None:
    """Print the app's address as JSON when it answers there."""
    url = url_at(host, port)
    # No proxy of the environment stands between this process and itself.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            direct.open(f"{url}{HEALTH}", timeout=5.0).close()
            break
        except (OSError, HTTPException):
            time.sleep(0.1)
    print_json({"url": url})


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


def _serve_beside(host: str | None, port: int, processes: int) -> None:
    """Start the API's processes beside the app, with whose process they end."""
    # Here, because the app is started without it.
    from studio.api.serving.server import listen_for_each, url_of  # noqa: PLC0415
    from studio.cli.serving.api_process import serve_beside  # noqa: PLC0415

    host = host or _API_HOST
    _prepare_store(processes)
    created_token()
    listeners = listen_for_each(host, port, number=processes)
    print_remark(f"The API is also at {url_of(host, listeners[0])}, in {processes} processes of its own.")
    context = multiprocessing.get_context("spawn")
    context.Process(target=serve_beside, args=(host, listeners, processes), name="api").start()
    for listener in listeners:
        listener.close()


def _serve_api(host: str | None, port: int | None, processes: int, options: Configured) -> int:
    from studio.api.serving.server import listen_for_each, url_of  # noqa: PLC0415
    from studio.cli.serving.api_process import serve_at, serve_each  # noqa: PLC0415

    host = host or _API_HOST
    _prepare_store(processes)
    token = created_token()
    listeners = listen_for_each(host, _API_PORT if port is None else port, number=processes)
    is_open = configured_access(host).api_open
    print_address(url_of(host, listeners[0]), None if is_open else token.path, options)
    try:
        configured_pool()
    except PoolError as error:
        print_remark(str(error))
    if processes == 1:
        serve_at(host, listeners[0])
    else:
        serve_each(host, listeners, processes)
    return 0


def _prepare_store(processes: int) -> None:
    """Make the store, or bring it up to date: what is wrong with it ends the command. Raises `ServeError`."""
    from storage import SessionStore, default_url  # noqa: PLC0415
    from storage.database.database import several_may_write, sqlite_file  # noqa: PLC0415

    url = default_url()
    if processes > 1 and os.name != "posix":
        raise ServeError("Several processes can share a port on POSIX systems only; leave --processes out.")
    if processes > 1 and sqlite_file(url) is not None and not several_may_write():
        raise ServeError(
            f"{processes} processes need a store that all of them may write to at once, and {url} is a file "
            f"of SQLite {sqlite3.sqlite_version}, which can lose what several write at the same time (3.51.3 "
            "and later cannot): name a PostgreSQL database in CONDUCTOR_DATABASE_URL or --database "
            "(docs/postgresql.md), or leave --processes out."
        )
    SessionStore.open(url).close()


def configure(options: Configured) -> None:
    """Have this process, and those that it starts, open what the options name."""
    if options.pool is not None:
        set_here("CONDUCTOR_POOL", str(from_any_folder(options.pool)))
    if options.database is not None:
        set_here("CONDUCTOR_DATABASE_URL", options.database)


def created_token() -> MachineToken:
    """This machine's token, made if it is missing; why it cannot be made is printed, since others work."""
    from studio.access.machine_token import MachineToken  # noqa: PLC0415 - the app is started without it

    token = MachineToken.configured()
    try:
        token.create()
    except ServeError as error:
        print_remark(str(error))
    return token


def print_address(url: str, token: Path | None, options: Configured, *, what: str = "The API") -> None:
    """Print where the server is, and the file with this machine's token; None if it is open."""
    if token is None:
        access = "It is open: every program on this machine may use it without a token."
    else:
        access = (
            f"Every request needs a token. That of this machine is in {token}; "
            f"`{command_name()} tokens create NAME` makes others."
        )
    shape = {"url": url, "token_file": None if token is None else str(token)}
    options.show(shape, f"{what} is at {url}. Ctrl+C ends it.", access)
