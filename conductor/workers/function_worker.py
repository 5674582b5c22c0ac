"""A worker from a function that takes a request and returns a text. Knows no engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import iscoroutinefunction

from conductor.errors import WorkerError
from conductor.values.messages import Completion, Request
from conductor.values.output import WorkerKind
from conductor.workers.protocol import WorkerCard


class FunctionWorker:
    """A worker that answers by `function(request)`, a coroutine function or one that is called in a thread of
    its own. The step fails with a sentence if the function returns no text, and with what it raises.
    """

    def __init__(
        self,
        function: Callable[[Request], str | Awaitable[str]],
        *,
        name: str | None = None,
        strengths: str = "a function of this program",
        kind: WorkerKind = "offline",
    ) -> None:
        self._function = function
        called = name or getattr(function, "__name__", type(function).__name__)
        self.card = WorkerCard(name=called, kind=kind, strengths=strengths, model=called)

    async def stream(self, request: Request) -> AsyncIterator[Completion]:
        if iscoroutinefunction(self._function):
            text = await self._function(request)
        else:
            text = await asyncio.to_thread(self._function, request)
        if not isinstance(text, str):
            raise WorkerError(
                f"{self.card.name} returned a {type(text).__name__}; a worker's function returns a str."
            )
        yield Completion(text=text)
