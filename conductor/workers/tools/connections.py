"""All connections of this process to servers of tools: each starts when it is needed, and is shared.

They live in a thread with a loop of its own, so that callers of any loop share them. Knows threads and loops;
what a server answers is in `connection`.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from conductor.errors import ToolError
from conductor.workers.tools.accepted_commands import check_command
from conductor.workers.tools.allowed_tools import with_changes
from conductor.workers.tools.tool_server import ServedTool, ToolResult, ToolServer

if TYPE_CHECKING:
    from conductor.workers.tools.connection import Connection

T = TypeVar("T")

_THREAD = "conductor-tools"
_LOGS = "client mcp.client.client mcp.client.streamable_http mcp.shared.jsonrpc_dispatcher".split()
_END_SECONDS = 15.0


class ToolConnections:
    """Servers, shared by all who name an equal `ToolServer`. Safe in several threads and loops.

    A command is started only where it was accepted. A server that has died is started by the next call. A
    call is made once; a caller that is cancelled cancels it at the server.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: _Thread | None = None
        self._versions: dict[ToolServer, str] = {}

    async def tools(self, server: ToolServer) -> tuple[ServedTool, ...]:
        """What the server serves. Raises `ToolError`."""
        served = with_changes(server, await self._wait(server, lambda connection: connection.tools()))
        self._versions[server] = served[0].server_version if served else ""
        return served

    def version(self, server: ToolServer) -> str | None:
        """The name and version that the server reported when it last listed its tools; None if it did not."""
        return self._versions.get(server)

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """The result of a call. Raises `ToolError` where there was none, after which it may have acted."""
        return await self._wait(server, lambda connection: connection.call(tool, arguments))

    def end(self) -> None:
        """End all servers, in some seconds at most. A later call starts its server again."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            atexit.unregister(self.end)
            thread.end()

    async def _wait(self, server: ToolServer, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
        check_command(server)
        with self._lock:
            if self._thread is None:
                self._thread = _Thread()
                atexit.register(self.end)
            future = self._thread.start(server, work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            what = "was ended during a call, which may have acted; start it again by another one"
            raise ToolError(f"The tool server {server.name!r} {what}.") from None


class _Thread:
    """A loop in a thread of its own, and the connections in it."""

    def __init__(self) -> None:
        for name in _LOGS:
            # What a server does wrong is in errors, where it was asked; the library would log each message.
            logging.getLogger(name).addFilter(_is_elsewhere)
        self._loop = asyncio.new_event_loop()
        self._opened: dict[ToolServer, Connection] = {}
        self._waiting: set[Future[Any]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name=_THREAD, daemon=True)
        self._thread.start()

    def start(self, server: ToolServer, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> Future[T]:
        """Start the work with the server's connection."""

        async def working() -> T:
            return await work(self._connection(server))

        future = asyncio.run_coroutine_threadsafe(working(), self._loop)
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    def _connection(self, server: ToolServer) -> Connection:
        from conductor.workers.tools.connection import Connection  # noqa: PLC0415 - takes a second

        opened = self._opened.get(server)
        if opened is None or opened.is_over:
            opened = self._opened[server] = Connection(server)
        return opened

    def end(self) -> None:
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_END_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_END_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    async def _close(self) -> None:
        for future in tuple(self._waiting):
            future.cancel()
        await asyncio.gather(*(each.end() for each in self._opened.values()))
        # Of connections that were over before, the end.
        if rest := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(rest)


def _is_elsewhere(record: logging.LogRecord) -> bool:
    return record.threadName != _THREAD


@cache
def connections() -> ToolConnections:
    """Those of this process."""
    return ToolConnections()
