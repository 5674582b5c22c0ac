"""`serve`: start the app, which has the API beside it, or the API alone."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from conductor.errors import PoolError, ServeError
from conductor.own_settings import command_name, set_here
from conductor.workers.pool.built_in import from_any_folder
from conductor.workers.pool.pool import configured_pool
from studio.access.exposure import EVERY_ADDRESS, OPEN, configured_access, reaches_beyond, url_at
from studio.access.openid.logins import ISSUER
from studio.access.password import SETTING
from studio.cli.opening import confirm_keys
from studio.cli.options import App, Configured, count, flag, not_empty, option
from studio.cli.output.terminal import print_remark
from studio.cli.serving.app_process import HOST, PORT, free_ports, serve_app, wait_until_served
from studio.cli.serving.on_ray import OnRay, serve_on_ray

if TYPE_CHECKING:
    from studio.access.machine_token import MachineToken

_API_HOST, _API_PORT = "127.0.0.1", 8600
MOST_PROCESSES = 64
_PORT_HELP = f"Default: {PORT}, or {_API_PORT} for the API alone."
_HOST_HELP = f"The address to listen at; beyond loopback the app needs {SETTING} or {ISSUER}."

_port = count(_PORT_HELP, "PORT", least=0, most=65535)
_processes = count(
    "Answer the API with N processes, beside the app or alone; see docs/scaling.md.",
    least=1,
    most=MOST_PROCESSES,
)
_app_processes = count(
    "Serve the app with M processes, at M ports from --port on, behind a balancer; see docs/scaling.md.",
    "M",
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
    app_processes: Annotated[int, _app_processes] = 1,
    processes: Annotated[int, _processes] = 1,
    api_port: Annotated[int, _api_port] = _API_PORT,
    log_json: Annotated[bool, flag("--log-json", "Log as JSON lines, without texts and keys.")] = False,
    on_ray: OnRay,
    options: Configured,
) -> int:
    """Start the app, or the API alone.

    Runs until the server stops; its exit code is the command's.
    """
    on_ray.check(processes=max(processes, app_processes), port=_API_PORT if port is None else port)
    configure(options)
    if app_url is not None:
        set_here("CONDUCTOR_APP_URL", app_url)
    if api_open:
        set_here(OPEN, "1")
    if log_json:
        set_here("CONDUCTOR_LOG", "json")
    api_only = api_only or on_ray.ray is not None
    if api_only and app_processes > 1:
        raise ServeError("--app-processes is for the app; leave --api-only out, or set --processes.")
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
    port = PORT if port is None else port
    if app_processes > 1 or processes > 1:
        return _serve_several(host, port, api_port, apps=app_processes, apis=processes, options=options)
    [port] = free_ports(host or HOST, port)
    if options.json:
        url = _app_url(host, port)
        _announce([url], {"url": url}, options=options)
    serve_app(host, port, greet=not options.json)
    return 0


# -- the app ---------------------------------------------------------------------------------------


def _serve_several(
    host: str | None, port: int, api_port: int, *, apps: int, apis: int, options: Configured
) -> int:
    """Serve the app in processes of its own and, where it has several, the API in others beside it."""
    # Here, because the app is started without it.
    from studio.api.serving.server import listen_for_each, url_of  # noqa: PLC0415
    from studio.cli.serving.api_process import serve_each  # noqa: PLC0415

    apis = apis if apis > 1 else 0
    _prepare_store(apps + apis)
    created_token()
    api_host = host or _API_HOST
    listeners = listen_for_each(api_host, api_port, number=apis) if apis else []
    ports = free_ports(host or HOST, port, number=apps)
    urls = [_app_url(host, port) for port in ports]
    api_url = url_of(api_host, listeners[0]) if apis else None
    lines = [f"The app is at {' and '.join(urls)}. Ctrl+C ends all."]
    if apis:
        lines.append(f"The API is also at {api_url}, in {apis} processes of its own.")
    if apps > 1:
        lines.append(
            "A browser has to stay with one process: put a balancer before them, by deploy/nginx.conf, "
            "deploy/Caddyfile or deploy/traefik.yml (docs/scaling.md)."
        )
    shape = {"url": urls[0], "urls": urls, "api_url": api_url}
    _announce(urls, shape, *lines, options=options)
    serves = [(f"the app at port {port}", partial(serve_app, host, port, greet=False)) for port in ports]
    serve_each(serves, api_host, listeners, apis)
    return 0


def _app_url(host: str | None, port: int) -> str:
    return url_at(HOST if host is None or host in EVERY_ADDRESS else host, port)


def _announce(urls: Sequence[str], shape: object, *lines: str, options: Configured) -> None:
    """Print the shape with `--json`, else the lines, once the app answers there; returns at once."""

    def announce() -> None:
        wait_until_served(urls)
        options.show(shape, *lines)

    threading.Thread(target=announce, name="announcement", daemon=True).start()


# -- the API alone ---------------------------------------------------------------------------------


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
        serve_each([], host, listeners, processes)
    return 0


def _prepare_store(processes: int) -> None:
    """Make the store, or bring it up to date: what is wrong with it ends the command. Raises `ServeError`."""
    from storage import SessionStore, default_url  # noqa: PLC0415
    from storage.database.database import several_may_write, sqlite_file  # noqa: PLC0415

    url = default_url()
    if processes > 1 and os.name != "posix":
        raise ServeError(
            "Several processes are for POSIX systems only; leave --processes and --app-processes out."
        )
    if processes > 1 and sqlite_file(url) is not None and not several_may_write():
        raise ServeError(
            f"{processes} processes need a store that all of them may write to at once, and {url} is a file "
            f"of SQLite {sqlite3.sqlite_version}, which can lose what several write at the same time (3.51.3 "
            "and later cannot): name a PostgreSQL database in CONDUCTOR_DATABASE_URL or --database "
            "(docs/postgresql.md), or leave --processes and --app-processes out."
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
