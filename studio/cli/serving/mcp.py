"""`mcp`: serve agents by the Model Context Protocol, over stdio or HTTP."""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import closing, suppress
from typing import Annotated

from conductor.errors import PoolError, ServeError
from conductor.own_settings import setting
from studio.access.auth import TokenAuthenticator
from studio.access.exposure import configured_access
from studio.api.backend import Backend
from studio.api.serving.server import listen
from studio.api.serving.stop_signals import until_stop_signal
from studio.cli.opening import confirm_keys
from studio.cli.options import App, Configured, count, flag, not_empty, option
from studio.cli.output.terminal import print_remark
from studio.cli.serving.serve import configure, created_token, print_address
from studio.composition import ConfiguredRuntime, served_workbench
from studio.gc_tuning import settle
from studio.sessions.retention import apply_daily
from studio.telemetry.logs import LOG
from studio.telemetry.metrics import Metrics

_HOST, _PORT = "127.0.0.1", 8601

_port = count(f"With --http, default: {_PORT}.", "PORT", least=0, most=65535)
_host = option("The address to listen at, with --http.", "HOST", not_empty("name an address, like 127.0.0.1"))

app = App()


@app.command()
def mcp(
    http: Annotated[bool, flag("--http", "Serve many agents over streamable HTTP, with tokens.")] = False,
    port: Annotated[int | None, _port] = None,
    host: Annotated[str | None, _host] = None,
    *,
    options: Configured,
) -> int:
    """Serve agents by the Model Context Protocol.

    Over stdin and stdout, or with --http over HTTP. A program that uses models starts this command and calls
    its tools: ask, plan, run_workflow and others. It ends when its client closes stdin; with --http when it
    is stopped.
    """
    if not http and (port is not None or host is not None):
        raise ServeError("--port and --host belong to --http; over stdin and stdout nothing listens.")
    configure(options)
    if setting(LOG) != "json":
        # Without this, the protocol's library would log each request. stdout is the protocol's.
        logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # A client that started this command may end it by a signal.
    with until_stop_signal():
        if http:
            _serve_http(host or _HOST, _PORT if port is None else port, options)
        else:
            _serve_stdio()
    return 0


def _serve_stdio() -> None:
    from studio.mcp.tool_server import serve_stdio  # noqa: PLC0415 - no other command needs it

    configured = ConfiguredRuntime()
    _remark_on(configured)
    with closing(served_workbench(configured, Metrics())) as workbench:
        serve_stdio(workbench)


def _serve_http(host: str, port: int, options: Configured) -> None:
    from studio.mcp.callers import Callers  # noqa: PLC0415 - no other command needs it
    from studio.mcp.http import McpHttpServer  # noqa: PLC0415 - no other command needs it

    is_open = configured_access(host).api_open
    # The pool that cannot be read is named below.
    with suppress(PoolError):
        confirm_keys(options.pool, ask=True)
    configured = ConfiguredRuntime()
    listener = listen(host, port)
    with closing(served_workbench(configured, Metrics())) as workbench:
        store = workbench.store
        token = created_token()
        auth = TokenAuthenticator(lambda: store.tokens, machine=token.read, is_open=is_open)
        callers = Callers.of(Backend(lambda: workbench), auth, local=False)
        server = McpHttpServer(callers, host=host, listener=listener)
        _remark_on(configured)
        print_address(server.url, None if is_open else token.path, options, what="The MCP server")
        threading.Thread(target=apply_daily, args=(store,), name="retention", daemon=True).start()
        settle()
        server.run()


def _remark_on(configured: ConfiguredRuntime) -> None:
    """Print on stderr why the pool cannot be read, where it cannot; a corrected one is read at once."""
    if configured.fault is not None:
        print_remark(str(configured.fault))
