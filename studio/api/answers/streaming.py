"""Streams of server-sent events: their pieces, the comments on a run's progress, and the response.

The head goes out with the first piece of the answer, so that an error before it is one of HTTP. Knows the
format and a run's events; knows nothing of the objects that are sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from conductor.planner.prompt.sentences import one_line
from conductor.runs import events
from conductor.text.formatting import named
from studio.access.errors import ApiError
from studio.api.answers.answer import Answer

T = TypeVar("T")

PING_SECONDS = 15.0
"""After so long a comment is sent, so that no proxy considers the connection dead."""

HOLD_SECONDS = 10.0
"""How long the head of a stream waits for the first piece of the answer: less than `PING_SECONDS`, and
than clients and proxies wait for a head.
"""

DONE = b"data: [DONE]\n\n"
"""The last piece of a stream of chat completion chunks."""


def data(shape: Any, *, event: str | None = None) -> bytes:
    """A piece with an object, and with the event's name where it has one."""
    name = "" if event is None else f"event: {event}\n"
    return f"{name}data: {json.dumps(shape)}\n\n".encode()


def comment(line: str) -> bytes:
    """A piece that clients skip."""
    return f": {line}\n\n".encode()


class Piece(NamedTuple):
    """Bytes of a stream. `opens`: the head waits no longer, as for a part of the answer. `number` is that of
    the last event so far, None in a stream without numbers. `error` is why the stream ends with this piece,
    which has it for a client that got the head.
    """

    content: bytes
    opens: bool = True
    number: int | None = None
    error: ApiError | None = None


class EventStream(Response):
    """Sends pieces as they come; `on_end` is called after the last one, or as soon as the client leaves.

    Pieces are sent together while there are `more` to be had without waiting; each that was announced so must
    come, but may be empty. The head goes out with the first piece that `opens`, at the latest after `hold`
    seconds; raises the `ApiError` of a piece that comes before. A silence is filled with comments, and with
    events where events have numbers.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        pieces: AsyncGenerator[Piece, None],
        *,
        headers: Mapping[str, str],
        on_end: Callable[[], None],
        more: Callable[[], bool] = lambda: False,
        hold: float = 0.0,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no", **headers})
        del self.headers["content-length"]
        self._pieces = pieces
        self._on_end = on_end
        self._more = more
        self._hold = hold
        self._own_headers = headers
        self._number: int | None = None
        self._waiting: list[Piece] = []
        self._is_open = False
        self._writing = asyncio.Lock()
        self._pinging: asyncio.Task[None] | None = None

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
        if not self._hold:
            await self._write(send)
        opening = asyncio.create_task(self._open_late(send))
        try:
            async for piece in self._pieces:
                if piece.error is not None and not self._is_open:
                    piece.error.headers = {**self._own_headers, **piece.error.headers}
                    raise piece.error
                self._waiting.append(piece)
                is_ready = self._is_open or any(each.opens for each in self._waiting)
                if is_ready and not self._more():
                    await self._write(send)
            await self._write(send, last=True)
        finally:
            opening.cancel()
            if self._pinging is not None:
                self._pinging.cancel()

    async def _open_late(self, send: Send) -> None:
        await asyncio.sleep(self._hold)
        if not self._is_open:
            await self._write(send)

    async def _write(self, send: Send, *, last: bool = False) -> None:
        """Send what waits, behind the head where that is not out."""
        async with self._writing:
            if not self._is_open:
                self._is_open = True
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                self._pinging = asyncio.create_task(self._send_pings(send))
            waiting, self._waiting = self._waiting, []
            content = b"".join(piece.content for piece in waiting)
            if waiting:
                self._number = waiting[-1].number
            if content or last:
                await send(_body(content, last=last))

    async def _send_pings(self, send: Send) -> None:
        while True:
            await asyncio.sleep(PING_SECONDS)
            with suppress(OSError):
                await send(_body(self._ping()))

    def _ping(self) -> bytes:
        """A comment, and where events have numbers an event, because some clients wait for one. It has the
        number of the event before it, so that the others have the numbers of the stored stream.
        """
        line = comment("still working")
        if self._number is None:
            return line
        kind = "keepalive"
        return line + data({"type": kind, "sequence_number": self._number}, event=kind)


def _body(content: bytes, *, last: bool = False) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": not last}


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

_STEP_EVENTS: dict[type[events.Event], str] = {
    events.StepStarted: "started",
    events.StepFinished: "finished",
    events.StepReused: "reused",
    events.StepKept: "kept",
    events.StepFailed: "failed",
    events.StepBlocked: "blocked",
    events.StepPaused: "held at its gate",
    events.StepCancelled: "stopped",
    events.StepRetried: "asked again",
    events.StepFellBack: "asked another worker",
    events.StepToolsCalled: "waiting for its tools",
    events.StepToolsHeld: "waiting for a person's yes",
    events.StepToolsReturned: "has the results of its tools",
}


def progress_line(event: events.Event, answer: Answer) -> str | None:
    """A line on an event that was added to `answer`; None if it changes nothing worth a line.

    Names of workers come from the pool, and cannot begin a line of their own.
    """
    match event:
        case events.PlanningStarted():
            attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"planning round {event.round}{attempt} ({one_line(event.planner)})"
        case events.PlanningRetried():
            return "planning: asked again"
        case events.WorkflowPlanned():
            steps = len(event.report.workflow) if event.report.workflow is not None else 0
            return f"planned {steps} step{'' if steps == 1 else 's'}"
        case events.AnswerKept():
            return "the answer stands"
        case events.PlanRejected():
            return "the plan is not valid"
        case events.PlanningFailed():
            return "no plan"
        case events.BudgetExceeded():
            return f"{'stopped at' if event.stopped else 'used up'} the budget of {event.limit}"
        case _:
            return _step_line(event, answer)


def _step_line(event: events.Event, answer: Answer) -> str | None:
    outcome = _STEP_EVENTS.get(type(event))
    if isinstance(event, events.StepToolsCalled):
        # Another name is what a model wrote.
        tools = dict.fromkeys(one_line(call.words) if call.server else "a tool" for call in event.calls)
        outcome = f"waiting for {named([*tools])}"
    workflow = answer.state.runs[-1].workflow if answer.state.runs else None
    at: int | None = getattr(event, "step", None)
    if outcome is None or workflow is None or at is None:
        return None
    return f"step {at + 1} of {len(workflow)} ({one_line(workflow.steps[at].worker)}) {outcome}"
