"""Planning: ask a Conductor, read what it wrote, say so in events.

Knows the Conductor's protocol and the parser; knows no pool beyond the cards, no engine, no store. An
invalid plan is never replaced by another: the report says why, and the user chooses.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import aclosing

from conductor.errors import QueryError, WorkerError
from conductor.events import (
    Event,
    PlanningDelta,
    PlanningFailed,
    PlanningStarted,
    PlanRejected,
    WorkflowPlanned,
)
from conductor.messages import Completion, Usage
from conductor.planner.conductor import Conductor, PlanRequest
from conductor.planner.parse import parse

MAX_QUERY = 50_000
"""The most characters a query may have."""


def check_query(query: str) -> str:
    """The query without surrounding white space. Raises `QueryError` when it is empty or too long."""
    stripped = query.strip()
    if not stripped:
        raise QueryError("The query is empty; write a question or choose an example.")
    if len(stripped) > MAX_QUERY:
        raise QueryError(
            f"The query has {len(stripped):,} characters; the limit is {MAX_QUERY:,}. Shorten it, or keep "
            "the question and cut the material it speaks of."
        )
    return stripped


async def plan(request: PlanRequest, *, conductor: Conductor, run: str) -> AsyncIterator[Event]:
    """Ask `conductor` once; the last event is `WorkflowPlanned`, `PlanRejected` or `PlanningFailed`."""
    card = conductor.card
    started = time.perf_counter()
    epoch = time.time() - started
    seq = 0
    yield PlanningStarted(
        run=run, seq=seq, at=time.time(), query=request.query, planner=card.name, planner_kind=card.kind
    )
    completion: Completion | None = None
    failure = f"{card.name} stopped without ending its plan; ask again."
    try:
        async with aclosing(conductor.stream(request)) as stream:  # type: ignore[type-var]
            async for item in stream:
                if isinstance(item, Completion):
                    completion = item
                    break
                seq += 1
                yield PlanningDelta(run=run, seq=seq, at=epoch + time.perf_counter(), text=item.text)
    except WorkerError as error:
        failure = str(error)
    now = time.perf_counter()
    if completion is None:
        yield PlanningFailed(run=run, seq=seq + 1, at=epoch + now, message=failure)
        return
    yield read(
        completion.text,
        request,
        conductor=conductor,
        run=run,
        seq=seq + 1,
        at=epoch + now,
        usage=completion.usage,
        seconds=now - started,
    )


def read(
    text: str,
    request: PlanRequest,
    *,
    conductor: Conductor,
    run: str,
    seq: int,
    at: float,
    usage: Usage,
    seconds: float,
) -> WorkflowPlanned | PlanRejected:
    """The event that says what stands in a completion."""
    report = parse(
        text,
        workers=[card.name for card in request.workers],
        dialect=conductor.dialect,
        max_steps=request.max_steps,
    )
    event = WorkflowPlanned if report.ok else PlanRejected
    return event(run=run, seq=seq, at=at, report=report, usage=usage, seconds=seconds)
