"""Transports carry messages to a server and back, bounded: by the pipes of its process, or by HTTP.

The protocol's library has a transport of its own for processes; it reads a line of any length into memory.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from conductor.workers.tools.tool_server import ToolServer

MAX_MESSAGE = 8 * 1024**2
"""Bytes of a message; a longer one ends the connection. A picture of a screen has some megabytes."""

MAX_MESSAGES = 1_000
_MESSAGES_SECONDS = 5.0
"""So many messages in so many seconds end the connection."""

_BYTES_A_SECOND = 64 * 1024**2
"""What comes is read no faster, so that a server leaves time for others."""

_GRACE = 1.0
"""Seconds that a process has to end once its stdin is closed, and once more when it was sent SIGTERM."""

_DEAF_SECONDS = 30.0
"""How long a process may read nothing of what it is sent."""

_MAX_LOG = 2_000
_TOO_LONG = f"it sent a message of more than {MAX_MESSAGE:,} bytes"

Incoming = SessionMessage | Exception
Streams = AbstractAsyncContextManager[tuple[Any, Any]]
"""What messages are read from, and what they are sent to."""


@dataclass
class Ending:
    """Why a connection ends: the first reason, the last bytes of its process' stderr, and the status of its
    last answer by HTTP.
    """

    why: str = ""
    log: bytearray = field(default_factory=bytearray)
    status: int = 200

    def note(self, why: str) -> None:
        self.why = self.why or why


@asynccontextmanager
async def watched(streams: Streams, ending: Ending, over: Callable[[], None]) -> AsyncIterator[Any]:
    """The streams; calls `over` when what comes ends, or is too much."""
    source, sink = anyio.create_memory_object_stream[Incoming](0)
    recent = deque[float](maxlen=MAX_MESSAGES)

    async def pass_on() -> None:
        with source, suppress(anyio.BrokenResourceError):
            async for message in incoming:
                recent.append(monotonic())
                if len(recent) == MAX_MESSAGES and recent[-1] - recent[0] < _MESSAGES_SECONDS:
                    ending.note(f"it sent {MAX_MESSAGES:,} messages in {_MESSAGES_SECONDS:g} seconds")
                    break
                await source.send(message)
        over()

    with source, sink:
        async with streams as (incoming, outgoing), anyio.create_task_group() as group:
            group.start_soon(pass_on)
            yield sink, outgoing
            group.cancel_scope.cancel()


@asynccontextmanager
async def over_pipes(
    server: ToolServer, environment: Mapping[str, str], ending: Ending
) -> AsyncIterator[Any]:
    """Start the server's process, and end it with all of its group. Raises `OSError`, `ValueError`."""
    # In a session of its own, it is not interrupted by Ctrl-C beside the program, which ends it.
    process = await asyncio.create_subprocess_exec(
        *server.command, stdin=PIPE, stdout=PIPE, stderr=PIPE,
        cwd=server.cwd, env=environment, limit=MAX_MESSAGE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = {
        asyncio.create_task(_write(process, sent, ending)),
        asyncio.create_task(_read_log(process.stderr, ending)),
    }
    try:
        yield _messages(process.stdout, ending), outgoing
    finally:
        outgoing.close()
        with anyio.CancelScope(shield=True):
            by_itself = process.stdout.at_eof()
            await _end(process)
            await asyncio.wait(tasks, timeout=_GRACE)
        if by_itself:
            ending.note(f"its process ended with exit code {process.returncode}")
        for task in tasks:
            task.cancel()


async def _messages(lines: asyncio.StreamReader, ending: Ending) -> AsyncIterator[Incoming]:
    try:
        while line := await lines.readline():
            yield _message(line)
            await asyncio.sleep(len(line) / _BYTES_A_SECOND)
    except ValueError:
        ending.note(_TOO_LONG)


def _message(line: bytes) -> Incoming:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(process: Process, sent: MemoryObjectReceiveStream[SessionMessage], ending: Ending) -> None:
    assert process.stdin is not None
    # Where the process dies, what is sent later fails since this is closed.
    with sent, suppress(OSError):
        async for each in sent:
            line = f"{each.message.model_dump_json(by_alias=True, exclude_unset=True)}\n"
            process.stdin.write(line.encode())
            try:
                async with asyncio.timeout(_DEAF_SECONDS):
                    await process.stdin.drain()
            except TimeoutError:
                ending.note(f"it read nothing for {_DEAF_SECONDS:g} seconds")
                process.kill()


async def _read_log(stderr: asyncio.StreamReader, ending: Ending) -> None:
    while piece := await stderr.read(65_536):
        ending.log += piece
        del ending.log[:-_MAX_LOG]
        await asyncio.sleep(len(piece) / _BYTES_A_SECOND)


async def _end(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        with anyio.move_on_after(_GRACE):
            await process.wait()
        # What it has started, too, also where it has ended itself.
        with suppress(ProcessLookupError, PermissionError):
            process.kill() if sys.platform == "win32" else os.killpg(process.pid, number)
    # There is no other way where something has the pipes still.
    process._transport.close()  # type: ignore[attr-defined]


@asynccontextmanager
async def over_http(server: ToolServer, headers: Mapping[str, str], ending: Ending) -> AsyncIterator[Any]:
    """Streamable HTTP at the server's URL."""

    async def bound(response: httpx2.Response) -> None:
        if response.request.method == "POST":
            ending.status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.StreamError("it packs its answers, though it is asked not to")
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Bounded(response.stream, None if is_stream else MAX_MESSAGE)

    async with httpx2.AsyncClient(
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(10, read=server.seconds + 10),
        event_hooks={"response": [bound]},
    ) as client:
        url, most = server.url or "", MAX_MESSAGE
        async with streamable_http_client(url, http_client=client, max_sse_event_size=most) as streams:
            yield streams


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, of `most` bytes; of one that is a stream the library bounds each event."""

    def __init__(self, body: Any, most: int | None) -> None:
        self._body, self._most = body, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for piece in self._body:
            read += len(piece)
            if self._most is not None and read > self._most:
                raise httpx2.StreamError(_TOO_LONG)
            yield piece
            await asyncio.sleep(len(piece) / _BYTES_A_SECOND)

    async def aclose(self) -> None:
        await self._body.aclose()
