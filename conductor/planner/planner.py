"""Planning: ask a Conductor, read what it wrote, say so in events.

Knows the Conductor's protocol and the parser; knows no pool beyond the cards, no engine, no store. An
invalid plan is never replaced by another: the report says why, and the user chooses.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from conductor.errors import QueryError, WorkerError
from conductor.events import (
    AnswerKept,
    Event,
    PlanningDelta,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanningThought,
    PlanRejected,
    WorkflowPlanned,
)
from conductor.messages import Completion, Delta, Retried, Thought
from conductor.plan import PlanPrompt, PromptMessage
from conductor.planner.conductor import Asked, Conductor, PlanRequest
from conductor.planner.parse import parse
from conductor.planner.prompt import plan_messages

_log = logging.getLogger(__name__)

MAX_QUERY = 50_000
"""The most characters a query may have."""


def check_query(query: str) -> str:
    """The query without surrounding white space, as text that can be written as UTF-8.

    Raises `QueryError` when it is empty or too long.
    """
    # A terminal hands on bytes that are no text as lone surrogates, which no file and no model takes.
    stripped = query.encode("utf-8", "replace").decode("utf-8").strip()
    if not stripped:
        raise QueryError("The query is empty; write a question or choose an example.")
    if len(stripped) > MAX_QUERY:
        raise QueryError(
            f"The query has {len(stripped):,} characters; the limit is {MAX_QUERY:,}. Shorten it, or keep "
            "the question and cut the material it speaks of."
        )
    return stripped


STOPPED = "Planning was stopped"
"""How the message of a `PlanningFailed` begins where planning did not fail, but was stopped."""

PlanningEnd = WorkflowPlanned | AnswerKept | PlanRejected | PlanningFailed
"""The events with which planning ends."""


async def plan(request: PlanRequest, *, conductor: Conductor, run: str) -> AsyncGenerator[Event, None]:
    """Ask `conductor` once; the last event is a `PlanningEnd`."""
    card = conductor.card
    started = time.perf_counter()
    epoch = time.time() - started
    stamp = _Stamps(run, epoch)
    yield PlanningStarted(
        **stamp(),
        query=request.query,
        planner=card.name,
        planner_kind=card.kind,
        round=request.round,
        attempt=len(request.rejected) + 1,
    )
    completion: Completion | None = None
    asked: Asked | None = None
    failure = f"{card.name} stopped without ending its plan; ask again."
    try:
        async with aclosing(conductor.stream(request)) as stream:  # type: ignore[type-var]
            async for item in stream:
                match item:
                    case Asked():
                        asked = item
                    case Delta():
                        yield PlanningDelta(**stamp(), text=item.text)
                    case Thought():
                        yield PlanningThought(**stamp(), text=item.text)
                    case Retried():
                        yield PlanningRetried(**stamp(), **dict(item))
                    case Completion():
                        completion = item
                        break
    except WorkerError as error:
        failure = str(error)
    except Exception as error:  # noqa: BLE001 - a Conductor is foreign code; its fault is no plan, not a crash
        _log.exception("the Conductor %s broke", card.name)
        failure = f"{card.name} broke with {type(error).__name__}, a fault of its program; ask again."
    if completion is None:
        yield PlanningFailed(**stamp(), message=failure)
        return
    report = parse(
        completion.text,
        workers=[worker.name for worker in request.workers],
        dialect=conductor.dialect,
        max_steps=request.max_steps,
        round=request.round,
        form="lists" if asked is None else asked.form,
    )
    if completion.reasoning:
        thinking = "\n\n".join(part for part in (completion.reasoning, report.thinking) if part)
        report = report.model_copy(update={"thinking": thinking})
    report = report.model_copy(update={"prompt": _prompt(request, conductor, asked)})
    spent = {"report": report, "usage": completion.usage, "seconds": time.perf_counter() - started}
    if not report.ok:
        yield PlanRejected(**stamp(), **spent)
    elif report.return_previous:
        yield AnswerKept(**stamp(), **spent, reason=report.reasoning or "The Conductor gave no reason.")
    else:
        yield WorkflowPlanned(**stamp(), **spent)


def _prompt(request: PlanRequest, conductor: Conductor, asked: Asked | None) -> PlanPrompt:
    """What was asked; of a Conductor that calls no model, what one would have been asked."""
    sent = asked is not None
    if asked is None:
        messages = plan_messages(
            request, dialect=conductor.dialect, style=conductor.card.prompt_style, room_to_think=True
        )
        asked = Asked(messages=messages)
    return PlanPrompt(
        messages=tuple(PromptMessage(role=said.role, content=said.content) for said in asked.messages),
        workers=tuple(card.name for card in request.workers),
        max_steps=request.max_steps,
        round=request.round,
        form=asked.form,
        sent=sent,
    )


class _Stamps:
    """Numbers and dates the events of one planning attempt."""

    def __init__(self, run: str, epoch: float) -> None:
        self._run = run
        self._epoch = epoch
        self._seq = -1

    def __call__(self) -> dict[str, Any]:
        self._seq += 1
        return {"run": self._run, "seq": self._seq, "at": self._epoch + time.perf_counter()}
