"""The answer to one step's request: of its worker, of the fallbacks of the pool, or by its rule for failures.

Knows the worker protocol and the rule; knows neither runs nor events. It is a failure that a worker gives no
answer: one that declines, or answers nothing, has answered. An answer that failed after it had called tools
is not tried again: it might act twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from conductor.values.messages import NOTHING_USED, Completion, Request, Retried, Usage
from conductor.values.output import StandIn
from conductor.workers.pool.fallback import Answering, chain
from conductor.workers.protocol import StreamItem, Worker
from conductor.workflow.on_failure import NO_RULE, OnFailure


async def answer_by_rule(
    rule: OnFailure | None,
    worker: Worker,
    fallback: Worker | None,
    request_for: Callable[[Worker], Request],
    *,
    stopped: Callable[[], bool],
) -> AsyncGenerator[StreamItem | StandIn, None]:
    """As a worker's stream: of `worker`, which the rule calls again, of its fallbacks in the pool, then of
    the rule's `fallback` and those behind it. A `StandIn` comes before what the rule gives in its place.

    `request_for` returns what a worker is sent. `stopped`: the run makes no further call, so no rule applies.
    Raises `WorkerError` where nothing gives an answer.
    """
    rule = rule or NO_RULE
    first, *others = chain(worker)
    answering = Answering(request_for)
    attempts = 0
    for left in range(rule.retries, -1, -1):
        async for item in answering.call(first):
            yield (
                item.model_copy(update={"attempt": attempts + item.attempt})
                if (attempts and isinstance(item, Retried))
                else item
            )
        if answering.failure is None:
            return
        if stopped():
            raise answering.error
        if answering.unfit or answering.acted:
            break
        attempts += answering.attempts + 1
        if left:
            yield _withdrawn(answering, attempt=attempts, seconds=rule.pause, again=True)
            await asyncio.sleep(rule.pause)
    if others:
        async for item in answering.fall_back(others):
            yield item
        attempts = answering.attempts + 1
    if fallback is not None and answering.failure is not None and not stopped():
        if answering.characters:
            yield _withdrawn(answering, attempt=attempts)
        yield StandIn(reason=answering.failure, fallback=rule.fallback)
        answering.withdraw()
        async for item in answering.fall_back(chain(fallback)):
            yield item
        attempts = answering.attempts + 1
    if answering.failure is None:
        return
    if rule.output is None or stopped():
        raise answering.error
    if answering.characters or answering.used not in (None, NOTHING_USED):
        yield _withdrawn(answering, attempt=attempts)
    yield StandIn(reason=answering.failure, fallback=rule.fallback, text=True)
    yield Completion(rule.output, usage=Usage())


def _withdrawn(answering: Answering, *, attempt: int, seconds: float = 0.0, again: bool = False) -> Retried:
    """That the last call gave no answer, and what came of it does not count."""
    return Retried(
        attempt=attempt,
        message=answering.failure or "",
        seconds=seconds,
        withdrawn=answering.characters,
        used=answering.used,
        again=again,
    )
