"""The stream of a worker or Conductor: read to its completion, text handed on in batches, closed after use.

Batches, so that redrawing and storing need not follow every token.
Knows async iteration and the items of a stream; knows no step and no event. A stream is any async iterable:
closing a generator frees what it holds, a plain iterator has nothing to close, and an error in closing takes
no answer back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from conductor.errors import ConductorError, UnfitWorkerError, WorkerError, outage_of
from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.messages import NOTHING_USED, CallDelta, Completion, Delta, Request, Retried, Thought
from conductor.workers.protocol import StreamItem, ToolsCalled, Worker, WorkerNote

T = TypeVar("T")

GRACE_SECONDS = 0.5
"""How long a cancelled stream may take to end before it is no longer waited for."""

_log = logging.getLogger(__name__)


class Opened(AbstractAsyncContextManager[AsyncIterator[T]]):
    """The items of a stream, which is closed at the end of the block where it has an `aclose`."""

    def __init__(self, stream: AsyncIterable[T]) -> None:
        self._items = aiter(stream)

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._items

    async def __aexit__(self, *_: object) -> None:
        await _close(self._items)


def called(worker: Worker, request: Request) -> AsyncIterable[StreamItem]:
    """Call a worker; its stream. Every call of a worker is made here.

    Raises `UnfitWorkerError` where its card refuses such a request, and what the worker raises.
    """
    if (refusal := worker.card.refusal(request.sampling)) is not None:
        raise UnfitWorkerError(
            f"{refusal}; give the step a worker that is a model of an endpoint.", used=NOTHING_USED
        )
    return worker.stream(request)


async def whole_answer(
    worker: Worker,
    request: Request,
    *,
    note: Callable[[WorkerNote], object] = lambda _: None,
    receive: Callable[[str], object] = lambda _: None,
) -> Completion:
    """The worker's completion. `note` is called with what it reports of its requests, `receive` with each
    piece of text or thought.

    Raises `WorkerError` if the stream has none, and what `note` raises.
    """
    async with Opened(called(worker, request)) as items:
        async for item in items:
            if isinstance(item, Completion):
                return item
            if isinstance(item, WorkerNote):
                note(item)
            elif isinstance(item, Delta | Thought):
                receive(item.text)
    raise unended(worker.card.name)


_NOT_ITEMS = (str, bytes, dict, list, tuple, int, float, type(None))


def _iterated(stream: AsyncIterable[T]) -> AsyncIterator[T]:
    if hasattr(stream, "__aiter__"):
        return aiter(stream)
    if isinstance(stream, Coroutine):
        # No warning that it was never awaited.
        stream.close()
    raise _misused(f"is a {type(stream).__name__}")


def _misused(how: str) -> WorkerError:
    """The error of a worker that is no worker of ours."""
    return WorkerError(
        f"A worker's stream {how}, where an asynchronous generator is due: `async def stream(self, request)` "
        "yields Delta(text) for each piece and then one Completion(text=...).",
        used=NOTHING_USED,
    )


def unended(worker: str) -> WorkerError:
    """The error of a stream without an end."""
    return WorkerError(f"{worker} stopped without ending its answer; call it again.")


def fault(worker: str, error: Exception) -> WorkerError:
    """The error of a worker whose program broke with `error`, which is logged."""
    _log.error("the worker %s broke", worker, exc_info=error)
    if isinstance(error, ConductorError):
        return WorkerError(f"{worker} failed: {error}", outage=outage_of(error))
    return WorkerError(
        f"{worker} broke with {type(error).__name__}, a fault of its program and not of the plan; give the "
        "step another worker or try again.",
        outage=outage_of(error),
    )


async def _close(items: AsyncIterator[object]) -> None:
    close = getattr(items, "aclose", None)
    if close is not None:
        try:
            await close()
        except Exception:  # noqa: BLE001 - a worker is foreign code
            _log.exception("a stream cannot be closed")


BATCH_SECONDS = 0.03
"""Batches are at least this far apart; a page redraws no faster."""


class DeltaBatch:
    """Hands text to `emit`: what comes in the first turn of the loop after it, later pieces gathered over
    `BATCH_SECONDS`.
    """

    __slots__ = ("_emit", "_first", "_pieces", "_timer")

    def __init__(self, emit: Callable[[str], object]) -> None:
        self._emit = emit
        self._pieces: list[str] = []
        self._timer: asyncio.Handle | None = None
        self._first = True

    def add(self, text: str) -> None:
        if not text:
            return
        self._pieces.append(text)
        if self._first:
            # Not at once: where the answer ends in the same turn, no piece of it is needed.
            self._first = False
            self._timer = asyncio.get_running_loop().call_soon(self.flush)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self.flush)

    def flush(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self.drop()
            self._emit(text)

    def drop(self) -> None:
        # There is a timer only where there are pieces.
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._pieces.clear()


class CallBatches:
    """Hands pieces of calls to `emit`: the first of each at once, later ones gathered as texts are."""

    __slots__ = ("_batches", "_emit")

    def __init__(self, emit: Callable[[CallDelta], None]) -> None:
        self._emit = emit
        self._batches: dict[int, DeltaBatch] = {}

    def add(self, piece: CallDelta) -> None:
        if piece.index in self._batches:
            self._batches[piece.index].add(piece.text)
            return
        # Clients take a call as whole once the next one begins.
        self.flush()
        index = piece.index
        self._batches[index] = DeltaBatch(lambda text: self._emit(CallDelta(index, text)))
        self._emit(piece)

    def flush(self) -> None:
        for batch in self._batches.values():
            batch.flush()

    def drop(self) -> None:
        for batch in self._batches.values():
            batch.drop()

    def begin_again(self) -> None:
        """Flush; what comes next belongs to another answer."""
        self.flush()
        self._batches.clear()


def _no_calls(_: CallDelta) -> None:
    """For a stream that is not expected to call tools."""


async def read_stream(
    stream: AsyncIterable[object],
    *,
    on_text: Callable[[Delta], object],
    on_thought: Callable[[Thought], object],
    on_call: Callable[[CallDelta], None] = _no_calls,
    note: Callable[[Any], None],
    count: Callable[[str], None],
) -> Completion | None:
    """The completion of a stream, or None if it ends without one. Raises what the stream raises.

    `on_text`, `on_thought` and `on_call` are called with batches of text, of thoughts and of calls of tools,
    except for the end that the completion holds as well: of an answer that comes whole they
    get nothing, of a broken one everything. `note` is called with every other item, `count` with every piece
    of text at once.
    """
    logprobs: list[TokenLogprob] = []

    def emit(text: str) -> None:
        # What was thought comes first.
        thought.flush()
        on_text(Delta(text, tuple(logprobs)))
        logprobs.clear()

    def think(text: str) -> None:
        on_thought(Thought(text, members=members))

    members: tuple[str, ...] = ()
    answer, thought, calls = DeltaBatch(emit), DeltaBatch(think), CallBatches(on_call)
    # Without `Opened`, which would cost as much as a twentieth of a whole step.
    items = _iterated(stream)
    try:
        async for item in items:
            if isinstance(item, Delta):
                logprobs += item.logprobs
                answer.add(item.text)
                count(item.text)
            elif isinstance(item, Completion):
                thought.drop()
                answer.drop()
                calls.drop()
                return item
            elif isinstance(item, Thought):
                if item.recalls:
                    answer.flush()
                    thought.flush()
                    logprobs.clear()
                    on_thought(item)
                    continue
                members = item.members
                thought.add(item.text)
                count(item.text)
            elif isinstance(item, CallDelta):
                thought.flush()
                answer.flush()
                calls.add(item)
                count(item.text)
            else:
                if isinstance(item, ToolsCalled) or (isinstance(item, Retried) and item.withdrawn):
                    # What was gathered belongs before the item that ends or withdraws it.
                    thought.flush()
                    answer.flush()
                    logprobs.clear()
                    calls.begin_again()
                elif isinstance(item, _NOT_ITEMS):
                    raise _misused(f"yields a {type(item).__name__}")
                note(item)
    finally:
        thought.flush()
        answer.flush()
        calls.flush()
        await _close(items)
    return None
