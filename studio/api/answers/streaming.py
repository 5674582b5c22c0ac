"""Streams of server-sent events: their pieces, the comments on a run's progress, and the response.

Knows the format and a run's events; knows nothing of the objects that are sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import AppStatus
from starlette.types import Receive, Scope, Send

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

# A server that stops ends each stream with an error of its own (`ResponseRuns.stop`); sse-starlette would cut
# the stream off before that.
AppStatus.enable_automatic_graceful_drain = False


def data(shape: Any, *, event: str | None = None) -> bytes:
    """A piece with an object, and with the event's name where it has one."""
    name = "" if event is None else f"event: {event}\n"
    return f"{name}data: {json.dumps(shape)}\n\n".encode()


def comment(line: str) -> bytes:
    """A piece that clients skip."""
    return f": {line}\n\n".encode()


class EventStream(EventSourceResponse):
    """Sends pieces as they come; `on_end` is called after the last one, or as soon as the client leaves."""

    def __init__(
        self,
        pieces: AsyncGenerator[bytes, None],
        *,
        headers: Mapping[str, str],
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(
            pieces,
            headers={"cache-control": "no-cache", **headers},
            ping=PING_SECONDS,
            ping_message_factory=lambda: ServerSentEvent(comment="still working", sep="\n"),
        )
        self._pieces = pieces
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Also where the client left before the first piece was made.
            self._on_end()
            await self._pieces.aclose()


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
    StepCancelled: "stopped",
    StepRetried: "asked again",
    StepFellBack: "asked another worker",
}


def progress_line(event: Event, answer: Answer) -> str | None:
    """A line on an event that was added to `answer`; None where it changes nothing worth a line.

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
