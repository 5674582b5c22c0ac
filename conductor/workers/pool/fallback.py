"""A worker with a fallback, another worker that answers where the first fails.

Knows the worker protocol only. A `FellBack` item comes before the fallback's first word.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from dataclasses import replace

from conductor.errors import WorkerError
from conductor.values.messages import CallDelta, Delta, Request, Retried, Thought
from conductor.workers.protocol import FellBack, Inner, StreamItem, Worker, WorkerCard
from conductor.workers.stream import Opened


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

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        is_visible = False
        try:
            async with Opened(self.first.stream(request)) as items:
                async for item in items:
                    if isinstance(item, Retried) and item.withdrawn:
                        is_visible = False
                    is_visible = is_visible or isinstance(item, Delta | Thought | CallDelta | Inner)
                    yield item
            return
        except WorkerError as error:
            if is_visible:
                raise
            message, outage = str(error), error.outage
        other = self.second.card
        if (refusal := other.refusal(request.sampling)) is not None:
            raise WorkerError(f"{message} Its fallback {refusal}.", outage=outage)
        yield FellBack(worker=other.name, worker_kind=other.kind, message=message)
        async with Opened(
            self.second.stream(for_fallback(request, own=self.first.card, other=other))
        ) as items:
            try:
                async for item in items:
                    yield item
            except WorkerError as error:
                if outage is None or error.outage is not None:
                    raise
                # What the first one would answer is not known.
                raise WorkerError(str(error), outage=outage) from error


def limited(worker: Worker, names: Collection[str]) -> Worker:
    """The worker without the fallbacks that are not among `names`, and those behind them."""
    if not isinstance(worker, FallbackWorker):
        return worker
    if worker.second.card.name not in names:
        return worker.first
    return FallbackWorker(worker.first, limited(worker.second, names))


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
