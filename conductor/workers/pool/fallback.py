"""A worker with a fallback, another worker that answers where the first fails.

Knows the worker protocol only. A `FellBack` item comes before the fallback's first word.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Iterable
from dataclasses import replace

from conductor.errors import UnfitWorkerError, WorkerError, outage_of
from conductor.values.messages import CallDelta, Completion, Delta, Request, Retried, Thought, Usage
from conductor.workers.protocol import (
    CallsOthers,
    FellBack,
    Inner,
    StreamItem,
    ToolsCalled,
    ToolsContinued,
    Worker,
    WorkerCard,
)
from conductor.workers.stream import Opened, called, fault, unended


class FallbackWorker:
    """Calls `first`, and `second` where the first finally fails and none of its text counts."""

    def __init__(self, first: Worker, second: Worker) -> None:
        self.first = first
        self.second = second

    @property
    def card(self) -> WorkerCard:
        """The first one's, whose name the worker has. It can be used as long as the second can."""
        own = self.first.card
        if own.unusable is None or self.second.card.unusable is not None:
            return own
        return own.model_copy(update={"unusable": None})

    def only(self, names: Collection[str]) -> Worker:
        """The same without fallbacks that are not among `names`, and those behind them."""
        first = limited_worker(self.first, names)
        if self.second.card.name not in names:
            return first
        return FallbackWorker(first, limited_worker(self.second, names))

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        first, *others = chain(self)
        answering = Answering(lambda other: for_fallback(request, own=first.card, other=other.card))
        async for item in answering.call(first):
            yield item
        async for item in answering.fall_back(others):
            yield item
        if answering.failure is not None:
            raise answering.error


class Answering:
    """An answer from its first call to its last: of a worker, again, or of those in its place.

    `request_for` returns what a worker is sent. Of the last call: `failure` is why it gave no answer, None if
    it gave one, `outage` the outage that is to blame, `used` what it took all the same; `unfit`: it can give
    none to such a request. `characters` is how many came that count, `attempts` how often its endpoint was
    called before the last time. `settled`: no fallback of the pool answers, as some of this answer counts, or
    its program broke. `acted`: tools were called, so that another answer might act again.
    """

    def __init__(self, request_for: Callable[[Worker], Request]) -> None:
        self._request_for = request_for
        self.failure: str | None = None
        self.outage: str | None = None
        self.used: Usage | None = None
        self.unfit = False
        self.settled = False
        self.acted = False
        self.characters = 0
        self.attempts = 0

    async def call(self, worker: Worker) -> AsyncGenerator[StreamItem, None]:
        """The items of one call, to its completion. Raises nothing of the worker's."""
        self.failure, self.outage, self.used, self.unfit, self.settled = None, None, None, False, self.acted
        self.characters, self.attempts = 0, 0
        name = worker.card.name
        try:
            async with Opened(called(worker, self._request_for(worker))) as items:
                async for item in items:
                    self._count(item)
                    yield item
                    if isinstance(item, Completion):
                        return
            self.failure = str(unended(name))
        except WorkerError as error:
            self.failure, self.outage, self.used = str(error), error.outage, error.used
            self.unfit = isinstance(error, UnfitWorkerError)
        except Exception as error:  # noqa: BLE001 - a worker is foreign code; its fault is its step's only
            self.failure, self.outage, self.settled = str(fault(name, error)), outage_of(error), True

    async def fall_back(self, workers: Iterable[Worker]) -> AsyncGenerator[StreamItem, None]:
        """The items of calls of these workers, one after another, until one gives an answer."""
        for worker in workers:
            if self.failure is None or self.settled:
                return
            failure, outage, card = self.failure, self.outage, worker.card
            request = self._request_for(worker)
            if (refusal := card.refusal(request.sampling)) is not None:
                # Not called, so nothing fell back on it.
                self.failure = f"{failure} Its fallback {refusal}."
                continue
            yield FellBack(
                worker=card.name, worker_kind=card.kind, message=failure, request=request, used=self.used
            )
            async for item in self.call(worker):
                yield item
            if self.failure is not None:
                self.failure = f"{failure} Its fallback {card.name} failed, too: {self.failure}"
                # What the first one would answer is not known.
                self.outage = outage or self.outage

    def withdraw(self) -> None:
        """Nothing that came counts as text; what it took was counted with that."""
        if self.characters:
            self.used = None
        self.characters, self.settled = 0, self.acted

    @property
    def error(self) -> WorkerError:
        return WorkerError(self.failure or "", outage=self.outage, used=self.used)

    def _count(self, item: StreamItem) -> None:
        if isinstance(item, Retried):
            self.attempts = max(self.attempts, item.attempt)
            self.characters -= min(self.characters, item.withdrawn)
            self.settled = self.acted or (self.settled and not item.withdrawn)
        elif isinstance(item, Delta | Thought | CallDelta):
            self.characters += len(item.text)
        self.acted = self.acted or isinstance(item, ToolsCalled | ToolsContinued)
        self.settled = self.settled or self.acted or isinstance(item, Delta | Thought | CallDelta | Inner)


def chain(worker: Worker) -> list[Worker]:
    """The worker without its fallback, then that one without its own, and so on."""
    if not isinstance(worker, FallbackWorker):
        return [worker]
    return [*chain(worker.first), *chain(worker.second)]


def limited_worker(worker: Worker, names: Collection[str]) -> Worker:
    """The worker without the others that it calls and that are not among `names`. Raises `PoolError`, see
    `CallsOthers`.
    """
    return worker.only(names) if isinstance(worker, CallsOthers) else worker


def for_fallback(request: Request, *, own: WorkerCard, other: WorkerCard) -> Request:
    """The request to the worker `own` as `other` is sent it: with its defaults in place of those of `own`."""
    original = request.sampling
    sampling = original.model_copy(
        update={
            name: getattr(other.sampling, name)
            for name in ("temperature", "max_tokens")
            if getattr(original, name) == getattr(own.sampling, name)
        }
    )
    return replace(request, sampling=sampling)
