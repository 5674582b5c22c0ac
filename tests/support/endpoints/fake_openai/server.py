"""The endpoint on a socket of the loopback address, in a thread.

Writes HTTP itself, because it must break its rules on command; notices when the client leaves.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Thread

from .endpoint import FakeOpenAI
from .faults import BreakOff, Head, Script, Wait
from .log import Entry, Log


class Served:
    """A running endpoint; `base_url` ends with /v1, `connections` are those that are open."""

    def __init__(self, fake: FakeOpenAI) -> None:
        self.fake = fake
        self.base_url = ""
        self.connections: set[asyncio.StreamWriter] = set()

    @property
    def log(self) -> Log:
        """The requests it received."""
        return self.fake.log

    def settled(self, at: int = -1, *, within: float = 60.0) -> Entry:
        """The newest request, or the one at that place, once it has ended."""
        settled = self.log.wait_for(
            lambda entries: len(entries) > max(at, 0) and entries[at].outcome is not None, seconds=within
        )
        assert settled, f"the request did not end within {within} s: {self.log.entries}"
        return self.log.entries[at]

    async def start(self) -> asyncio.Server:
        """Listens at a free port."""
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        return server

    async def stop(self, server: asyncio.Server) -> None:
        """Listens no more, and breaks off what is being answered."""
        server.close()
        for writer in self.connections:
            writer.transport.abort()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request after the other until either side ends the connection."""
        self.connections.add(writer)
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                request_line, *lines = head.strip().split("\r\n")
                fields = (line.partition(":") for line in lines)
                headers = {name.lower(): value.strip() for name, _, value in fields}
                content = await reader.readexactly(int(headers.get("content-length", 0)))
                entry, script = self.fake.respond(request_line.split(" ")[1], headers, content)
                await self._send(entry, script, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left
        finally:
            self.connections.discard(writer)
            writer.close()

    async def _send(
        self, entry: Entry, script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Sends until the script ends or the client leaves, whichever is first."""
        sending = asyncio.create_task(self._perform(entry, script, writer))
        # A client sends nothing before it has its answer, so what can be read is the end.
        leaving = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.wait((sending, leaving))
            sent = not sending.cancelled() and sending.exception() is None
            if entry.outcome is None and not sent:
                self.log.ended(entry, "disconnected")
        if not sending.cancelled():
            sending.result()
        if entry.outcome is None:
            # In the log before the client can know it; and nothing reads any more what it sends next.
            self.log.ended(entry, "answered")
            writer.write(b"0\r\n\r\n")

    async def _perform(self, entry: Entry, script: Script, writer: asyncio.StreamWriter) -> None:
        for act in script:
            match act:
                case Head():
                    fields = {"content-type": act.content_type, "transfer-encoding": "chunked", **act.headers}
                    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                    reason = HTTPStatus(act.status).phrase
                    writer.write(f"HTTP/1.1 {act.status} {reason}\r\n{lines}\r\n".encode("latin-1"))
                case bytes():
                    writer.write(b"%x\r\n%b\r\n" % (len(act), act))
                    await writer.drain()
                    self.log.sent(entry)
                    # Gives the task a turn that notices the client's end.
                    await asyncio.sleep(0)
                case Wait():
                    await asyncio.sleep(act.seconds)
                case BreakOff():
                    self.log.ended(entry, "reset" if act.reset else "hung-up")
                    _end(writer, reset=act.reset)
                    return


def _end(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    if not reset:
        writer.close()
        return
    # Closing without lingering makes the kernel send a reset.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextmanager
def serving(fake: FakeOpenAI) -> Iterator[Served]:
    """Serves `fake` until the block is left; what is still being answered then is broken off."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="fake-openai", daemon=True)
    thread.start()
    served = Served(fake)
    server = asyncio.run_coroutine_threadsafe(served.start(), loop).result(60)
    try:
        yield served
    finally:
        asyncio.run_coroutine_threadsafe(served.stop(server), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
