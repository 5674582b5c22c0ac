"""Bodies over a real socket: small ones come through, large and slow ones are refused unread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import httpx
import pytest
from served_app import serving
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from conductor.api import body
from conductor.api.body import BoundedBody
from conductor.api.errors import ApiError

MOST = 2_000_000
SECONDS = 0.1


class Echo:
    """Answers with a body's length; `read` is what it has read of all bodies."""

    def __init__(self) -> None:
        self.read = 0

    async def __call__(self, request: Request) -> Response:
        length = 0
        async for piece in request.stream():
            length += len(piece)
            self.read += len(piece)
        return JSONResponse({"length": length, "left": await request.is_disconnected()})


async def careless(request: Request) -> Response:
    """Refuses whoever comes, whatever they send."""
    return JSONResponse({"error": "no token"}, status_code=401)


async def told(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return JSONResponse(error.shape, status_code=error.status)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@contextmanager
def bounded(echo: Echo, *, seconds: float) -> Iterator[str]:
    """Where bodies are bounded, and may take so long."""
    routes = [Route("/", echo.__call__, methods=["POST"]), Route("/no", careless, methods=["POST"])]
    app = Starlette(routes=routes, exception_handlers={ApiError: told})
    with serving(BoundedBody(app, max_bytes=MOST, max_seconds=seconds)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def url(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where everybody is given the time that a busy machine takes."""
    monkeypatch.setattr(body, "FAREWELL_SECONDS", 20.0)
    with bounded(echo, seconds=30.0) as url:
        yield url


@pytest.fixture
def hasty(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(body, "FAREWELL_SECONDS", SECONDS)
    with bounded(echo, seconds=SECONDS) as url:
        yield url


async def pieces(count: int) -> AsyncIterator[bytes]:
    """A body of so many hundred thousands of bytes, without a length."""
    for _ in range(count):
        yield b"x" * 100_000


@pytest.mark.parametrize("length", [0, 100_000, MOST])
async def test_a_body_of_the_allowed_size_comes_through(url: str, length: int) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.post(url, content=b"x" * length)
        assert answer.json() == {"length": length, "left": False}
        assert (await client.post(url, content=pieces(length // 100_000))).json()["length"] == length


async def test_a_body_whose_length_is_too_large_is_refused_before_it_is_read(url: str, echo: Echo) -> None:
    async with httpx.AsyncClient() as client:
        for _ in range(3):
            answer = await client.post(url, content=b"x" * 8 * MOST)
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == "request_too_large"
            assert "larger than 2 MB" in answer.json()["error"]["message"]
        assert echo.read == 0
        assert (await client.post(url, content=b"ok")).json()["length"] == 2


async def test_a_body_without_a_length_is_read_up_to_the_limit(url: str, echo: Echo) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.post(url, content=pieces(200))
    assert answer.status_code == 413
    assert echo.read <= MOST


async def test_who_is_refused_by_the_app_is_answered_while_the_body_still_comes(url: str) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{url}/no", content=b"x" * 8 * MOST)
    assert answer.status_code == 401
    assert answer.headers["connection"] == "close"


@pytest.mark.slow
async def test_a_body_that_does_not_come_is_waited_for_no_longer_than_allowed(hasty: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(hasty).port)
    writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
    answer = await asyncio.wait_for(reader.read(), 30)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not come within 0.1 s" in answer
    writer.close()


async def test_a_client_that_leaves_in_the_middle_troubles_nobody(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(url).port)
    writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
    writer.close()
    await writer.wait_closed()
    async with httpx.AsyncClient() as client:
        assert (await client.post(url, content=b"ok")).json()["length"] == 2
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
