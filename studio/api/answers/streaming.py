"""Streams of server-sent events: their pieces, the comments on a run's progress, and the response.

Knows the format and a run's events; knows nothing of the objects that are sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from conductor.planner.prompt.sentences import one_line
from conductor.runs.events import (
    AnswerKept,
    BudgetExceeded,
    Event,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanRejected,
    StepBlocked,
    StepCancelled,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepKept,
    StepPaused,
    StepRetried,
    StepReused,
    StepStarted,
    WorkflowPlanned,
)
from studio.api.answers.answer import Answer

T = TypeVar("T")

PING_SECONDS = 15.0
"""After so long a comment is sent, so that no proxy considers the connection dead."""

DONE = b"data: [DONE]\n\n"
"""The last piece of a stream of chat completion chunks."""


def data(shape: Any, *, event: str | None = None) -> bytes:
    """A piece with an object, and with the event's name where it has one."""
    name = "" if event is None else f"event: {event}\n"
    return f"{name}data: {json.dumps(shape)}\n\n".encode()


def comment(line: str) -> bytes:
    """A piece that clients skip."""
    return f": {line}\n\n".encode()


class EventStream(Response):
    """Sends pieces as they come; `on_end` is called after the last one, or as soon as the client leaves.

    Pieces are sent together while there are `more` to be had without waiting; each that was announced so must
    come, but may be empty.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        pieces: AsyncGenerator[bytes, None],
        *,
        headers: Mapping[str, str],
        on_end: Callable[[], None],
        more: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no", **headers})
        del self.headers["content-length"]
        self._pieces = pieces
        self._on_end = on_end
        self._more = more

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] == "HEAD":
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await send(_body(b"", last=True))
            else:
                await until_disconnect(receive, self._sent(send))
        finally:
            # Also where the client left before the first piece was made.
            self._on_end()
            await self._pieces.aclose()

    async def _sent(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with _pings.sent_by(send):
            held: list[bytes] = []
            async for piece in self._pieces:
                held.append(piece)
                if not self._more():
                    if content := b"".join(held):
                        await send(_body(content))
                    held.clear()
            await send(_body(b"".join(held), last=True))


def _body(content: bytes, *, last: bool = False) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": not last}


class Pings:
    """Sends each open stream of an event loop a comment every `PING_SECONDS`, by one timer for all."""

    def __init__(self) -> None:
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, set[Send]] = WeakKeyDictionary()
        self._timers: dict[asyncio.AbstractEventLoop, asyncio.TimerHandle] = {}
        self._sending: dict[Send, asyncio.Task[None]] = {}

    @contextmanager
    def sent_by(self, send: Send) -> Iterator[None]:
        """A stream that `send` sends is open in the block."""
        loop = asyncio.get_running_loop()
        streams = self._open.setdefault(loop, set())
        if not streams:
            self._time(loop)
        streams.add(send)
        try:
            yield
        finally:
            streams.discard(send)
            if not streams:
                self._timers.pop(loop).cancel()
            if (sending := self._sending.pop(send, None)) is not None:
                sending.cancel()

    def _time(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timers[loop] = loop.call_later(PING_SECONDS, self._ping, loop)

    def _ping(self, loop: asyncio.AbstractEventLoop) -> None:
        self._time(loop)
        for send in self._open[loop]:
            # One whose client does not read has enough to read.
            if send not in self._sending or self._sending[send].done():
                self._sending[send] = loop.create_task(_send_ping(send))


async def _send_ping(send: Send) -> None:
    with suppress(OSError):
        await send(_body(comment("still working")))


_pings = Pings()


async def until_disconnect(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of `work`; None, and the work is cancelled, where the client leaves before it is done.

    The request's body was read before.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        left = not working.done()
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait({working, leaving})
    return None if left else working.result()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# -- progress --------------------------------------------------------------------------------------

_STEP_EVENTS: dict[type[Event], str] = {
    StepStarted: "started",
    StepFinished: "finished",
    StepReused: "reused",
    StepKept: "kept",
    StepFailed: "failed",
    StepBlocked: "blocked",
    StepPaused: "held at its gate",
    StepCancelled: "stopped",
    StepRetried: "asked again",
    StepFellBack: "asked another worker",
}


def progress_line(event: Event, answer: Answer) -> str | None:
    """A line on an event that was added to `answer`; None if it changes nothing worth a line.

    Names of workers come from the pool, and cannot begin a line of their own.
    """
    match event:
        case PlanningStarted():
            attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"planning round {event.round}{attempt} ({one_line(event.planner)})"
        case PlanningRetried():
            return "planning: asked again"
        case WorkflowPlanned():
            steps = len(event.report.workflow) if event.report.workflow is not None else 0
            return f"planned {steps} step{'' if steps == 1 else 's'}"
        case AnswerKept():
            return "the answer stands"
        case PlanRejected():
            return "the plan is not valid"
        case PlanningFailed():
            return "no plan"
        case BudgetExceeded():
            return f"{'stopped at' if event.stopped else 'used up'} the budget of {event.limit}"
        case _:
            return _step_line(event, answer)


def _step_line(event: Event, answer: Answer) -> str | None:
    outcome = _STEP_EVENTS.get(type(event))
    workflow = answer.state.runs[-1].workflow if answer.state.runs else None
    at: int | None = getattr(event, "step", None)
    if outcome is None or workflow is None or at is None:
        return None
    return f"step {at + 1} of {len(workflow)} ({one_line(workflow.steps[at].worker)}) {outcome}"
