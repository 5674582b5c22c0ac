"""aiohttp's errors have httpx's names, and a request that met a closed connection is sent once more."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from conductor.workers.endpoint.transport.direct import DirectTransport
from conductor.workers.endpoint.transport.http_connections import Connections
from tests.support.endpoints.chat_cases import endpoint

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 10\r\n\r\n"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handle: Handler) -> AsyncIterator[str]:
    """The address of a server that handles each connection so."""
    open_now: set[asyncio.StreamWriter] = set()

    async def handled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_now.add(writer)
        await handle(reader, writer)

    server = await asyncio.start_server(handled, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        for writer in open_now:
            writer.close()
        server.close()


@asynccontextmanager
async def client(seconds: float = 5.0) -> AsyncIterator[httpx.AsyncClient]:
    timeout = httpx.Timeout(None, connect=seconds)
    async with httpx.AsyncClient(
        transport=DirectTransport(ssl.create_default_context()), timeout=timeout
    ) as opened:
        yield opened


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(3)
    return head


async def _closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _read_request(reader)
    writer.close()


async def _cuts(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _read_request(reader)
    writer.write(HEAD + b"half")
    await writer.drain()
    writer.close()


async def _resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _read_request(reader)
    writer.write(HEAD + b"half")
    await writer.drain()
    writer.transport.abort()


async def _babbles(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _read_request(reader)
    writer.write(b"220 smtp.example ready\r\n\r\n")
    await writer.drain()


async def _greets(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 smtp.example ready\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize(
    ("handle", "named"),
    [
        (_closes, httpx.ReadError),
        (_cuts, httpx.ReadError),
        (_resets, httpx.ReadError),
        (_babbles, httpx.RemoteProtocolError),
    ],
)
async def test_what_a_server_does_wrong_has_httpxs_name(
    handle: Handler, named: type[httpx.TransportError]
) -> None:
    async with serving(handle) as address, client() as asking:
        with pytest.raises(named) as raised:
            await asking.post(address, content=b"ask")
    assert type(raised.value) is named


async def test_a_port_where_no_one_listens_is_a_connect_error(unused_tcp_port: int) -> None:
    async with client() as asking:
        with pytest.raises(httpx.ConnectError, match=r"^Connection refused$"):
            await asking.post(f"http://127.0.0.1:{unused_tcp_port}/", content=b"ask")


async def test_a_server_that_speaks_no_tls_is_a_connect_error() -> None:
    async with serving(_greets) as address, client() as asking:
        with pytest.raises(httpx.ConnectError):
            await asking.post(address.replace("http:", "https:"), content=b"ask")


@pytest.mark.slow
async def test_a_connection_that_is_never_taken_is_a_connect_timeout() -> None:
    """A listener whose queue is full answers no further connection."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        async with client(seconds=0.1) as asking:
            with pytest.raises(httpx.ConnectTimeout):
                await asking.post(f"http://127.0.0.1:{address[1]}/", content=b"ask")
        for each in waiting:
            each.close()


@pytest.mark.parametrize("reset", [False, True])
async def test_a_request_on_a_connection_that_its_server_closes_is_sent_once_more(reset: bool) -> None:
    """Servers close an idle connection at a moment of their own, some by a reset."""
    seen: list[int] = []

    async def closes_second(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at = len(seen)
        seen.append(0)
        while True:
            try:
                await _read_request(reader)
            except asyncio.IncompleteReadError:
                return
            seen[at] += 1
            if at == 0 and seen[0] == 2:
                if reset:
                    own: socket.socket = writer.get_extra_info("socket")
                    # Closed with a time to linger of zero, it sends a reset.
                    own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.close()
                return
            writer.write(HEAD + b"0123456789")

    async with serving(closes_second) as address, client() as asking:
        first = await asking.post(address, content=b"ask")
        second = await asking.post(address, content=b"ask")
    assert (first.content, second.content) == (b"0123456789", b"0123456789")
    assert seen == [2, 1]


async def test_a_request_on_a_new_connection_is_not_repeated() -> None:
    requests: list[bytes] = []

    async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await _read_request(reader))
        writer.close()

    async with serving(closes) as address, client() as asking:
        with pytest.raises(httpx.ReadError):
            await asking.post(address, content=b"ask")
    assert len(requests) == 1


async def test_requests_have_our_headers_and_one_connection_serves_many() -> None:
    heads: list[bytes] = []
    opened: list[int] = []

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        while True:
            try:
                heads.append(await _read_request(reader))
            except asyncio.IncompleteReadError:
                return
            writer.write(HEAD + b"0123456789")

    connected = Connections(endpoint("http://127.0.0.1:1/v1"))
    async with serving(answers) as address:
        asking = await connected.client()
        for _ in range(2):
            await asking.post(address, json="a")
        await connected.aclose()
    assert (len(opened), len(heads)) == (1, 2)
    names = {line.split(b":")[0].decode().lower() for line in heads[0].splitlines()[1:] if line}
    sent = {"host", "accept", "accept-encoding", "connection", "user-agent", "content-length", "content-type"}
    assert names == sent
    assert b"accept-encoding: identity" in heads[0].lower()
