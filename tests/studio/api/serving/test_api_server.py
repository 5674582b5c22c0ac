"""Connections that never send a request: each is closed in time, and a thousand keep no one out."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
import sys
from collections.abc import Iterator
from threading import Thread

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from studio.access.auth import TokenAuthenticator
from studio.api.app import api
from studio.api.serving import server
from tests.support.processes.served_app import serving


async def app(scope, receive, send) -> None:
    """Sends its body back."""
    body = await Request(scope, receive).body()
    response: Response = PlainTextResponse(body or b"nothing")
    await response(scope, receive, send)


@pytest.fixture
def seconds() -> float:
    """How long headers may take."""
    return 0.1


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch, seconds: float) -> Iterator[int]:
    monkeypatch.setattr(server, "HEADER_SECONDS", seconds)
    with serving(app) as port:
        yield port


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Linux reports how long the queue may be")
def test_the_queue_of_a_listening_socket_that_the_server_is_given_stays_as_long_as_it_is() -> None:
    """A short one loses connections of a crowd, which are tried again after one, three and seven seconds."""
    auth = TokenAuthenticator(lambda: pytest.fail("no request came"), machine=lambda: None)
    listener = server.listen("127.0.0.1", 0, shared=True)
    served = server.ApiServer(api(lambda: pytest.fail("no request came"), auth), listener=listener)
    thread = Thread(target=served.run)
    thread.start()
    try:
        assert served.ready.wait(60)
        state = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
    finally:
        served.should_exit = True
        thread.join(60)
    # `struct tcp_info`: of a listening socket, tcpi_sacked is the length of its queue.
    assert struct.unpack_from("I", state, 28) == (server.BACKLOG,)


async def early(scope, receive, send) -> None:
    """Answers before the body has come."""
    await PlainTextResponse("early")(scope, receive, send)


async def late(scope, receive, send) -> None:
    """Waits for the whole body, and answers what does not come whole as well."""
    while (await receive())["type"] != "http.disconnect":
        pass
    await PlainTextResponse("late")(scope, receive, send)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", [b"zzz\r\n", b"5\r\nhello\r\nzzz\r\n", b"-1\r\n\r\n", b"0\r\nbroken\r\n\r\n"]
)
@pytest.mark.parametrize(
    ("app", "answered"),
    [(late, False), (early, True), (early, False)],
    ids=["before the answer", "after the answer", "with the headers"],
)
async def test_a_malformed_body_is_refused_or_ends_the_connection_in_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture, app: ASGIApp, answered: bool, body: bytes
) -> None:
    with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head if answered else head + body)
        came = b""
        if answered:
            came = await reader.readuntil(b"early")
            writer.write(body)
        came += await reader.read()
        writer.close()
    assert came.startswith(b"HTTP/1.1 200" if answered else b"HTTP/1.1 400")
    assert [line.getMessage() for line in caplog.records if line.levelname in ("WARNING", "ERROR")] == [
        "Invalid HTTP request received."
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requests", "head"),
    [(0, b""), (0, b"GET / HTTP/1.1\r\nHost: local"), (1, b"GET / HTTP/1.1\r\nHost:")],
    ids=["nothing", "half of the first", "half of the second"],
)
async def test_headers_that_do_not_come_are_waited_for_no_longer_than_allowed(
    port: int, requests: int, head: bytes
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(requests):
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"nothing")
    writer.write(head)
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()


@pytest.mark.slow
async def test_a_body_may_take_longer_than_headers_and_a_connection_is_used_again(
    port: int, seconds: float
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(2):
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab")
        await asyncio.sleep(2 * seconds)
        writer.write(b"cd")
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(4) == b"abcd"
    writer.close()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [60.0])
@pytest.mark.thorough
async def test_a_thousand_slow_connections_keep_no_one_out(port: int, seconds: float) -> None:
    server.allow_many_connections()
    slow = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(1000)))
    for at, (_, writer) in enumerate(slow):
        writer.write((b"GET / HTTP/1.1\r\nHost", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\na")[at % 2])
    async with httpx.AsyncClient() as client:
        for _ in range(20):
            assert (await client.get(f"http://127.0.0.1:{port}/")).text == "nothing"
    for _, writer in slow:
        writer.transport.abort()


def test_a_process_may_hold_as_many_connections_as_its_system_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = [256, 4096]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.__setitem__(slice(None), pair))
    server.allow_many_connections()
    assert limits == [4096, 4096]
    limits[:] = [256, resource.RLIM_INFINITY]
    server.allow_many_connections()
    assert limits == [65_536, resource.RLIM_INFINITY]
