"""An endpoint of chat completions that answers what a test gives it, piece by piece, for browser tests.

It runs in a thread of the test's process; the app reaches it over the loopback address.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.browser.app_server import free_port
from tests.support.runs.waiting import until_async


@dataclass
class Answer:
    """One answer: `thinking` comes first, then half of the text; the rest once `released` is set.

    `refusals` is how often the request is first turned away with 429. With `breaks` the stream ends where the
    rest would come. `request_id` goes into its headers.
    """

    text: str
    thinking: str = ""
    tokens: tuple[int, int] = (100, 20)
    refusals: int = 0
    breaks: bool = False
    request_id: str | None = None
    released: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.left = self.refusals


def held(text: str, **fields: Any) -> Answer:
    """An answer that stops in its middle until the test sets `released`."""
    return Answer(text, **fields)


def at_once(text: str, **fields: Any) -> Answer:
    """An answer without a stop."""
    answer = Answer(text, **fields)
    answer.released.set()
    return answer


class ScriptedEndpoint:
    """Serves a model `conductor`; its method gives it its next answers, `bodies` are the requests it got."""

    def __init__(self) -> None:
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        self.bodies: list[dict[str, Any]] = []
        self.left = 0
        self._answers: deque[Answer] = deque()
        routes = [
            Route("/v1/models", self._models),
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)

    def say(self, *answers: Answer) -> None:
        self._answers = deque(answers)
        self.bodies.clear()

    async def _models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "conductor", "object": "model"}]})

    async def _complete(self, request: Request) -> Response:
        answer = self._answers[0]
        if answer.left:
            answer.left -= 1
            error = {"message": "Too many requests", "type": "rate_limit", "code": None}
            return JSONResponse({"error": error}, status_code=429)
        self.bodies.append(await request.json())
        reply = self._answers.popleft()
        headers = None if reply.request_id is None else {"x-request-id": reply.request_id}
        return StreamingResponse(self._stream(reply), media_type="text/event-stream", headers=headers)

    async def _stream(self, answer: Answer) -> AsyncIterator[str]:
        try:
            for word in _words(answer.thinking):
                yield _chunk(reasoning_content=word)
            words = _words(answer.text)
            half = len(words) // 2
            for word in words[:half]:
                yield _chunk(content=word)
            await until_async(answer.released.is_set, seconds=600)
            if answer.breaks:
                return
            for word in words[half:]:
                yield _chunk(content=word)
            prompt, completion = answer.tokens
            usage = {"prompt_tokens": prompt, "completion_tokens": completion}
            yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            yield _event({"choices": [], "usage": usage})
            yield "data: [DONE]\n\n"
        except asyncio.CancelledError:
            self.left += 1
            raise


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _chunk(**delta: str) -> str:
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def _event(shape: Any) -> str:
    return f"data: {json.dumps(shape)}\n\n"


@contextmanager
def serving() -> Iterator[ScriptedEndpoint]:
    """Serve until the block is left."""
    endpoint = ScriptedEndpoint()
    config = uvicorn.Config(
        endpoint.app,
        host="127.0.0.1",
        port=endpoint.port,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, name="scripted-endpoint")
    thread.start()
    try:
        yield endpoint
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive(), "the scripted endpoint did not stop"


QUICK_WORKERS = """\
[[worker]]
name = "writer-8b"
kind = "simulated"
tokens = 12
seed = 2

[[worker]]
name = "critic-7b"
kind = "simulated"
tokens = 12
seed = 3
"""
"""Two simulated workers of a pool file."""


def scripted_worker(endpoint: ScriptedEndpoint) -> str:
    """A worker of a pool file that answers what `endpoint` was given.

    A test that looks at a step under way holds its answer: a step that takes some seconds may be over when a
    busy machine has drawn the page.
    """
    return f"""
[[worker]]
name = "scripted-13b"
base_url = "{endpoint.base_url}"
model = "conductor"
"""


def pool_file(endpoint: ScriptedEndpoint) -> str:
    """A pool whose Conductor is served by `endpoint`, with simulated workers."""
    return f"""
[conductor]
base_url = "{endpoint.base_url}"
model = "conductor"
constrain = "none"
price_prompt = 10.0
price_completion = 100.0

{QUICK_WORKERS}
[[worker]]
name = "steady-13b"
kind = "simulated"
tokens = 60
tokens_per_second = 20
seed = 4
{scripted_worker(endpoint)}"""
