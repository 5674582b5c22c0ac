"""An attempt against made-up APIs: what it reads while it is answered, and what it shows where it is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from threading import Event
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from studio.api.playground_client import Attempt
from tests.support.processes.served_app import serving


class NamedAnswers:
    """Answers as its model's name asks for."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.keys: list[str | None] = []
        self.waits = Event()
        self.left = Event()

    async def __call__(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        self.keys.append(request.headers.get("authorization"))
        match body["model"]:
            case "refusing":
                error = {"message": "No such model.", "type": "", "param": None, "code": None}
                return JSONResponse({"error": error}, status_code=404)
            case "odd":
                return PlainTextResponse("what?", status_code=502)
            case model:
                return StreamingResponse(self._stream(model), media_type="text/event-stream")

    async def _stream(self, model: str) -> AsyncIterator[str]:
        yield ": step 1 of 2 (alpha) started\n\n"
        yield data({"choices": [{"delta": {"role": "assistant", "content": "Seven"}}]})
        if model == "broken":
            yield data({"error": {"message": "The run broke off."}})
            return
        if model == "endless":
            self.waits.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        yield data({"choices": [{"delta": {"content": "teen.\u2028"}}]})
        yield data({"choices": [], "conductor": {"session": "abc", "label": "simulated"}})
        yield "data: [DONE]\n\n"


def data(chunk: Any) -> str:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


@pytest.fixture
def api() -> NamedAnswers:
    return NamedAnswers()


@pytest.fixture
def url(api: NamedAnswers) -> Iterator[str]:
    app = Starlette(routes=[Route("/v1/chat/completions", api.__call__, methods=["POST"])])
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}/v1"


async def attempt_of(url: str, model: str) -> Attempt:
    attempt = Attempt(url, key="own", model=model, query="Which?")
    await attempt.make()
    assert attempt.seconds is not None
    return attempt


@pytest.mark.slow
async def test_an_answer_is_followed_to_its_session(url: str, api: NamedAnswers) -> None:
    attempt = await attempt_of(url, "fine")
    assert (attempt.text, attempt.failure) == ("Seventeen.\u2028", None)
    assert (attempt.session, attempt.label) == ("abc", "simulated")
    assert attempt.progress == "step 1 of 2 (alpha) started"
    messages = [{"role": "user", "content": "Which?"}]
    events = {"conductor": {"events": True}}
    assert api.requests == [{"model": "fine", "messages": messages, "stream": True, **events}]
    assert api.keys == ["Bearer own"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "failure", "text"),
    [
        ("refusing", "No such model.", ""),
        ("odd", "The API answered with status 502.", ""),
        ("broken", "The run broke off.", "Seven"),
    ],
)
async def test_a_failure_is_reported_in_the_apis_words(url: str, model: str, failure: str, text: str) -> None:
    attempt = await attempt_of(url, model)
    assert (attempt.failure, attempt.text) == (failure, text)


@pytest.mark.slow
async def test_an_api_that_is_not_there_is_called_so(unused_tcp_port: int) -> None:
    attempt = await attempt_of(f"http://127.0.0.1:{unused_tcp_port}/v1", "fine")
    assert attempt.failure.startswith(
        f"The API could not be reached at http://127.0.0.1:{unused_tcp_port}/v1"
    )


@pytest.mark.slow
async def test_who_stops_an_attempt_closes_its_connection(url: str, api: NamedAnswers) -> None:
    attempt = Attempt(url, key="own", model="endless", query="Which?")
    asking = asyncio.ensure_future(attempt.make())
    assert await asyncio.to_thread(api.waits.wait, 30)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(api.left.wait, 5)
