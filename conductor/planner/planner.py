"""Planning: ask a Conductor, read what it wrote, say so in events.

Knows the Conductor's protocol and the parser; knows no pool beyond the cards, no engine, no store. An
invalid plan is never replaced by another: the report says why, and the user chooses.
"""

from __future__ import annotations

import logging
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
from conductor.messages import Completion
from conductor.planner.conductor import Conductor, PlanRequest
from conductor.planner.parse import parse

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
    except Exception as error:  # noqa: BLE001 - a Conductor is foreign code; its fault is no plan, not a crash
        _log.exception("the Conductor %s broke", card.name)
        failure = f"{card.name} broke with {type(error).__name__}, a fault of its program; ask again."
    now = time.perf_counter()
    if completion is None:
        yield PlanningFailed(run=run, seq=seq + 1, at=epoch + now, message=failure)
        return
    report = parse(
        completion.text,
        workers=[worker.name for worker in request.workers],
        dialect=conductor.dialect,
        max_steps=request.max_steps,
    )
    end = WorkflowPlanned if report.ok else PlanRejected
    yield end(
        run=run,
        seq=seq + 1,
        at=epoch + now,
        report=report,
        usage=completion.usage,
        seconds=now - started,
    )
