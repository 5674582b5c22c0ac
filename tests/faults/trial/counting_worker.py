"""A worker's endpoint that writes for some seconds and notes each request by what it was to do."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

LAST_WORD = "done."
_SECONDS = (1.0, 4.0)
_TASK = re.compile(r"Do ([\w-]+)\.")


@dataclass
class Call:
    """One request, in Unix seconds; `ended` is None if its client left before the end."""

    task: str
    text: str
    began: float
    ended: float | None = None


@dataclass
class CountingWorker:
    """`calls` has every request in the order of their beginnings."""

    calls: list[Call] = field(default_factory=list)
    _rng: Random = field(default_factory=lambda: Random(7))

    def app(self) -> Starlette:
        """An ASGI app that answers chat completions alone, as a stream."""
        return Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])

    async def _answer(self, request: Request) -> Response:
        (*_, task) = _TASK.findall(json.dumps((await request.json())["messages"][-1]["content"]))
        text = f"Answer {len(self.calls)} to {task}: {'weighed, ' * 40}{LAST_WORD}"
        call = Call(task, text, began=time.time())
        self.calls.append(call)
        return StreamingResponse(self._written(call), media_type="text/event-stream")

    async def _written(self, call: Call) -> AsyncIterator[str]:
        pieces = re.findall(r"(?:\S+\s*){1,5}", call.text)
        pause = self._rng.uniform(*_SECONDS) / len(pieces)
        for piece in pieces:
            await asyncio.sleep(pause)
            yield _event(choices=[{"index": 0, "delta": {"content": piece}}])
        yield _event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
        call.ended = time.time()
        yield _event(choices=[], usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
        yield "data: [DONE]\n\n"


def _event(**fields: object) -> str:
    return f"data: {json.dumps(fields)}\n\n"
