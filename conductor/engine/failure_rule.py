"""The answer to one step's request under its rule for failures.

Knows the worker protocol and the rule; knows neither runs nor events. It is a failure that a worker gives no
answer: one that declines, or answers nothing, has answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from conductor.errors import WorkerError, outage_of
from conductor.values.messages import CallDelta, Completion, Delta, Request, Retried, Thought, Usage
from conductor.values.output import StandIn
from conductor.workers.pool.fallback import for_fallback
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import FellBack, StreamItem, Worker
from conductor.workers.stream import Opened, fault, unended
from conductor.workflow.on_failure import OnFailure


class _Try:
    """The items of one call of a worker.

    `failure` is set where it gave no answer, with the `outage` that is to blame; `refused`: it cannot give
    one to such a request. `characters` is how many it gave that count, `attempts` how often its endpoint was
    called before the last time.
    """

    def __init__(self, worker: Worker, request: Request) -> None:
        self.worker = worker
        self.request = request
        self.failure: str | None = None
        self.outage: str | None = None
        self.refused = False
        self.characters = 0
        self.attempts = 0

    async def items(self) -> AsyncGenerator[StreamItem, None]:
        card = self.worker.card
        if (refusal := card.refusal(self.request.sampling)) is not None:
            self.failure, self.refused = f"{refusal}.", True
            return
        try:
            async with Opened(self.worker.stream(self.request)) as items:
                async for item in items:
                    self._count(item)
                    yield item
                    if isinstance(item, Completion):
                        return
            self.failure = str(unended(card.name))
        except WorkerError as error:
            self.failure, self.outage = str(error), error.outage
        except Exception as error:  # noqa: BLE001 - a worker is foreign code; its fault is its step's only
            self.failure, self.outage = str(fault(card.name, error)), outage_of(error)

    def _count(self, item: StreamItem) -> None:
        if isinstance(item, Retried):
            self.attempts = max(self.attempts, item.attempt)
            self.characters -= min(self.characters, item.withdrawn)
        elif isinstance(item, Delta | Thought | CallDelta):
            self.characters += len(item.text)


async def answered(
    rule: OnFailure, worker: Worker, pool: Pool, request: Request, *, stopped: Callable[[], bool]
) -> AsyncGenerator[StreamItem | StandIn, None]:
    """As a worker's stream; a `StandIn` comes before what the rule gives in place of the worker's answer.

    `stopped`: the run makes no further call, so no rule applies. Raises `WorkerError` where the rule, too,
    gives no answer.
    """
    attempts = 0
    for left in range(rule.retries, -1, -1):
        own = _Try(worker, request)
        async for item in own.items():
            yield (
                item.model_copy(update={"attempt": attempts + item.attempt})
                if (attempts and isinstance(item, Retried))
                else item
            )
        if own.failure is None:
            return
        if stopped():
            raise WorkerError(own.failure, outage=own.outage)
        if own.refused:
            break
        attempts += own.attempts + 1
        if left or (own.characters and (rule.fallback is not None or rule.output is not None)):
            pause = rule.pause if left else 0.0
            yield Retried(
                attempt=attempts,
                message=own.failure,
                seconds=pause,
                withdrawn=own.characters,
                again=left > 0,
            )
            await asyncio.sleep(pause)
    assert own.failure is not None, "a rule makes at least one call"
    failure, outage = own.failure, own.outage
    if rule.fallback is not None:
        other = pool[rule.fallback]
        yield StandIn(reason=failure, fallback=rule.fallback)
        yield FellBack(worker=other.card.name, worker_kind=other.card.kind, message=failure)
        second = _Try(other, for_fallback(request, own=worker.card, other=other.card))
        async for item in second.items():
            yield item
        if second.failure is None:
            return
        failure = f"{failure} The step's fallback {rule.fallback} failed, too: {second.failure}"
        outage = outage or second.outage
        if second.characters and rule.output is not None and not stopped():
            yield Retried(
                attempt=second.attempts + 1,
                message=second.failure,
                seconds=0,
                withdrawn=second.characters,
                again=False,
            )
    if rule.output is None or stopped():
        raise WorkerError(failure, outage=outage)
    yield StandIn(reason=failure, fallback=rule.fallback, text=True)
    yield Completion(rule.output, usage=Usage())
