"""Collects the calls of one worker until no more come, sends them as one batch, and hands out its lines.

Calls wait for each other: a workflow's next steps come once its first ones were answered, so each batch is
one layer of all questions under way. Belongs to one event loop. Knows batches by their ids, and nothing of
prices.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TypeVar

from conductor.errors import WorkerError
from conductor.workers.endpoint.batches.batch_forms import BatchForm, Body, Line, Send
from conductor.workers.endpoint.failures import EndpointFailure

T = TypeVar("T")

SAMPLE: ContextVar[int] = ContextVar("SAMPLE", default=0)
"""Which of several answers to one question a call is for: equal requests of two are two requests."""

QUIET_SECONDS = 3.0
"""A batch is sent once no call came for so long."""

FIRST_POLL, LAST_POLL = 1.0, 60.0
"""Seconds between two looks at a batch: each half as long again as the one before."""

LONGEST_PAUSE = 3_600.0
"""Seconds; a server that asks to be left alone for longer is asked again all the same."""

MOST_REQUESTS, MOST_BYTES = 10_000, 50 * 1024**2
"""Of one batch: OpenAI takes 50,000 requests of 200 MB together, Anthropic 100,000 of 256 MB."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Batches:
    """What a set of workers has to do with batches: `earlier` ones, each with its worker's name and its id,
    whose lines are handed out first; `on_submit` is called with the same of each new one, and `on_failure`
    with the reason why no batch can be made. Calls that wait then wait until they are cancelled.
    """

    on_submit: Callable[[str, str], None]
    on_failure: Callable[[str], None]
    earlier: Sequence[tuple[str, str]] = ()


NO_BATCHES = Batches(on_submit=lambda *_: None, on_failure=lambda _: None)


@dataclass
class BatchQueue:
    """The calls of the worker of that `name`; `masked` hides keys in what a server sends."""

    name: str
    form: BatchForm
    send: Send
    batches: Batches
    masked: Callable[[str], str]
    _waiting: dict[str, tuple[Body, asyncio.Future[Line]]] = field(default_factory=dict)
    _unsent: dict[str, Body] = field(default_factory=dict)
    _unread_lines: dict[str, Line] | None = None
    _times: Counter[str] = field(default_factory=Counter)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _sending: asyncio.Task[None] | None = None
    _came: float = 0.0

    def id_of(self, body: Body) -> str:
        """The id of a request that is asked for now: in another process, which asks in the same order, it is
        the same.
        """
        content = json.dumps([SAMPLE.get(), body], sort_keys=True)
        key = sha256(content.encode()).hexdigest()[:40]
        self._times[key] += 1
        return f"{key}-{self._times[key]}"

    async def line(self, id: str, body: Body) -> Line:
        """What a batch has for this request."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Line] = loop.create_future()
        self._waiting[id], self._unsent[id], self._came = (body, answered), body, loop.time()
        if self._sending is None or self._sending.done():
            self._sending = self._begin(self._send_all)
        try:
            return await answered
        finally:
            del self._waiting[id]
            self._unsent.pop(id, None)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Work for all calls, which none of them takes along where it is cancelled."""

        async def guarded() -> None:
            try:
                await work()
            except EndpointFailure as failure:
                self.batches.on_failure(str(failure))
            except WorkerError as error:
                self.batches.on_failure(self.masked(f"{self.name}: {error}."))
            except ValueError as error:
                self.batches.on_failure(
                    self.masked(f"{self.name}: its endpoint answered with no batch ({error}).")
                )

        task = asyncio.get_running_loop().create_task(guarded(), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send_all(self) -> None:
        if self._unread_lines is None:
            self._unread_lines = await self._earlier_lines()
        while self._unsent:
            for id in [id for id in self._unsent if id in self._unread_lines]:
                del self._unsent[id]
                self._hand_out({id: self._unread_lines.pop(id)})
            remaining = self._came + QUIET_SECONDS - asyncio.get_running_loop().time()
            if remaining > 0:
                await asyncio.sleep(remaining)
                continue
            if requests := self._next_requests():
                batch = await _retried_call(partial(self.form.submit, self.send, requests))
                self.batches.on_submit(self.name, batch)
                self._begin(partial(self._collect, batch, tuple(requests)))

    def _next_requests(self) -> Mapping[str, Body]:
        """As many as one batch takes, which count as sent from now on."""
        bodies: dict[str, Body] = {}
        size = 0
        for id, body in list(self._unsent.items()):
            size += len(json.dumps(body))
            if bodies and (size > MOST_BYTES or len(bodies) == MOST_REQUESTS):
                break
            bodies[id] = self._unsent.pop(id)
        return bodies

    async def _collect(self, batch: str, ids: Sequence[str]) -> None:
        lines = await self._lines(batch)
        self._hand_out({id: lines.get(id, Line()) for id in ids})

    def _hand_out(self, lines: Mapping[str, Line]) -> None:
        for id, line in lines.items():
            if id in self._waiting and not self._waiting[id][1].done():
                self._waiting[id][1].set_result(line)

    async def _lines(self, batch: str) -> Mapping[str, Line]:
        """What a batch has once it has ended. Failures that may pass are waited out."""
        pause = FIRST_POLL
        while True:
            lines = await _retried_call(partial(self.form.lines, self.send, batch), times=1_000)
            if lines is not None:
                return lines
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LAST_POLL)

    async def _earlier_lines(self) -> dict[str, Line]:
        """The answers in the batches of an earlier process, which may be under way."""
        by_id: dict[str, Line] = {}
        for name, batch in self.batches.earlier:
            if name != self.name:
                continue
            try:
                lines = await self._lines(batch)
            except WorkerError as error:
                reason = self.masked(str(error))
                _log.warning("batch %s of %s is lost, and its calls are made again: %s", batch, name, reason)
                continue
            by_id |= {id: line for id, line in lines.items() if line.completion is not None}
        return by_id


async def _retried_call(call: Callable[[], Awaitable[T]], *, times: int = 4) -> T:
    """Its result, at the latest at the last of so many attempts where failures may pass."""
    for attempt in range(times - 1):
        try:
            return await call()
        except EndpointFailure as failure:
            if not failure.transient:
                raise
            pause = failure.retry_after or min(FIRST_POLL * 2**attempt, LAST_POLL)
            await asyncio.sleep(min(pause, LONGEST_PAUSE))
    return await call()
