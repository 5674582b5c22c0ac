"""A worker with another one that stands in for it.

Knows the worker protocol only. Whoever falls back says so before the other's first word.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from conductor.errors import WorkerError
from conductor.messages import Delta, Request, Sampling, Thought
from conductor.workers.protocol import FellBack, Inner, StreamItem, Worker, WorkerCard


class FallbackWorker:
    """Asks `first`, and `second` where the first finally fails before it has said anything."""

    def __init__(self, first: Worker, second: Worker) -> None:
        self.first = first
        self.second = second

    @property
    def card(self) -> WorkerCard:
        """The first one's: it is asked by this name."""
        return self.first.card

    def __repr__(self) -> str:
        return f"FallbackWorker({self.first!r}, {self.second!r})"

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        """See `Worker.stream`."""
        shown = False
        try:
            async with aclosing(self.first.stream(request)) as items:  # type: ignore[type-var]
                async for item in items:
                    shown = shown or isinstance(item, Delta | Thought | Inner)
                    yield item
            return
        except WorkerError as error:
            if shown:
                raise
            message = str(error)
        other = self.second.card
        yield FellBack(worker=other.name, worker_kind=other.kind, message=message)
        async with aclosing(self.second.stream(self._for_second(request))) as items:  # type: ignore[type-var]
            async for item in items:
                yield item

    def _for_second(self, request: Request) -> Request:
        """The request with the second one's own defaults where it has the first one's."""
        own, other = self.first.card.sampling, self.second.card.sampling
        asked = request.sampling
        sampling = Sampling(
            temperature=other.temperature if asked.temperature == own.temperature else asked.temperature,
            max_tokens=other.max_tokens if asked.max_tokens == own.max_tokens else asked.max_tokens,
        )
        return replace(request, sampling=sampling)
