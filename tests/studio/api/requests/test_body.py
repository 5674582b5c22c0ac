"""Bodies over a real socket: small ones come through, large and slow ones are refused unread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from studio.access.errors import ApiError
from studio.api.requests import body
from studio.api.requests.body import UnreadBody, read_json
from tests.support.processes.served_app import serving

MOST = 2_000_000
PIECE = 100_000
BROKEN_OFF = (
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\nabc"
)
JSON_TYPE = {"content-type": "application/json"}
SECONDS = 0.1


class Echo:
    """Answers with a body's length; `read` counts the bytes of all bodies that reached the app."""

    def __init__(self) -> None:
        self.read = 0

    async def __call__(self, request: Request) -> Response:
        length = len(await read_json(request))
        return JSONResponse({"length": length, "left": await request.is_disconnected()})


async def careless(request: Request) -> Response:
    """Refuses every request without a look at its body."""
    return JSONResponse({"error": "no token"}, status_code=401)


async def refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return JSONResponse(error.shape, status_code=error.status)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@contextmanager
def limited(echo: Echo) -> Iterator[str]:
    """A server of bodies with at most `MOST` bytes."""
    routes = [Route("/", echo.__call__, methods=["POST"]), Route("/no", careless, methods=["POST"])]
    app = Starlette(routes=routes, exception_handlers={ApiError: refused})

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        async def received() -> Message:
            message = await receive()
            echo.read += len(message.get("body", b""))
            return message

        await app(scope, received, send)

    with serving(UnreadBody(counting)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def url(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that gives clients the time that a busy machine takes."""
    monkeypatch.setattr(body, "MAX_BYTES", MOST)
    monkeypatch.setattr(body, "DROP_SECONDS", 20.0)
    with limited(echo) as url:
        yield url


@pytest.fixture
def impatient_url(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(body, "MAX_SECONDS", SECONDS)
    monkeypatch.setattr(body, "DROP_SECONDS", SECONDS)
    with limited(echo) as url:
        yield url


async def pieces(count: int) -> AsyncIterator[bytes]:
    """A body of so many pieces, without a length."""
    for _ in range(count):
        yield b"x" * PIECE


@pytest.mark.slow
@pytest.mark.parametrize("length", [0, 100_000, MOST])
async def test_a_body_of_the_allowed_size_comes_through(url: str, length: int) -> None:
    async with httpx.AsyncClient(headers=JSON_TYPE) as client:
        answer = await client.post(url, content=b"x" * length)
        assert answer.json() == {"length": length, "left": False}, answer.text
        answer = await client.post(url, content=pieces(length // PIECE))
        assert answer.json() == {"length": length, "left": False}, answer.text


@pytest.mark.slow
async def test_a_body_whose_length_is_too_large_is_refused_before_it_is_read(url: str, echo: Echo) -> None:
    async with httpx.AsyncClient(headers=JSON_TYPE) as client:
        for _ in range(3):
            answer = await client.post(url, content=b"x" * 8 * MOST)
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == "request_too_large"
            assert "larger than 2 MB" in answer.json()["error"]["message"]
        assert echo.read == 0
        assert (await client.post(url, content=b"ok")).json()["length"] == 2


@pytest.mark.slow
async def test_a_body_without_a_length_is_read_up_to_the_limit(url: str, echo: Echo) -> None:
    async with httpx.AsyncClient(headers=JSON_TYPE) as client:
        answer = await client.post(url, content=pieces(200))
    assert answer.status_code == 413
    assert echo.read < 2 * MOST, "the piece that crosses the limit is the last one"


@pytest.mark.slow
async def test_who_is_refused_by_the_app_is_answered_while_the_body_still_comes(url: str) -> None:
    async with httpx.AsyncClient(headers=JSON_TYPE) as client:
        answer = await client.post(f"{url}/no", content=b"x" * 8 * MOST)
    assert answer.status_code == 401
    assert answer.headers["connection"] == "close"


@pytest.mark.slow
async def test_a_body_that_does_not_come_is_waited_for_no_longer_than_allowed(impatient_url: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(impatient_url).port)
    writer.write(BROKEN_OFF)
    answer = await asyncio.wait_for(reader.read(), 60)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not come within 0.1 s" in answer
    writer.close()


async def test_a_client_that_leaves_in_the_middle_disturbs_no_one(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(url).port)
    writer.write(BROKEN_OFF)
    writer.close()
    await writer.wait_closed()
    async with httpx.AsyncClient(headers=JSON_TYPE) as client:
        assert (await client.post(url, content=b"ok")).json()["length"] == 2
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
