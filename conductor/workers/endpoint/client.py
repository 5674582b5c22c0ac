"""A client of one endpoint's chat completions: limits, attempts, deadlines, and the answer as items.

Knows messages and an endpoint; knows no workflow, no price and no pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from types import MappingProxyType
from typing import Any

import httpx

from conductor.errors import PoolError, WorkerError
from conductor.messages import Completion, Delta, Message, Retried, Sampling, Thought
from conductor.workers.body import Wording
from conductor.workers.call import Call
from conductor.workers.catalogue import ServedModel, read_catalogue
from conductor.workers.chunks import Chunk
from conductor.workers.clock import Clock
from conductor.workers.endpoint import Endpoint
from conductor.workers.exchange import Reader, chunks, document
from conductor.workers.failures import EndpointFailure, Failures
from conductor.workers.lanes import Lane, Lanes
from conductor.workers.reply import Reply
from conductor.workers.retries import Retries, pause_note

_UNSET = Sampling()
_NOTHING: Mapping[str, Any] = MappingProxyType({})

ChatItem = Delta | Thought | Retried | Completion


class ChatClient:
    """Asks one endpoint, in any number of event loops. `name` is the worker's, for sentences."""

    def __init__(self, endpoint: Endpoint, *, name: str) -> None:
        self.endpoint = endpoint
        self.name = name
        self._failures = Failures(name, endpoint)
        self._wording = Wording(endpoint)
        self._lanes = Lanes(endpoint)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        sampling: Sampling = _UNSET,
        extra: Mapping[str, Any] = _NOTHING,
    ) -> AsyncGenerator[ChatItem, None]:
        """The answer to `messages`; `extra` goes into the JSON body beside the endpoint's own.

        A failed attempt is followed by another as long as nothing of an answer has been yielded, each
        announced by a `Retried` before its pause. Raises `EndpointFailure`, or another `WorkerError` where
        the key is missing.
        """
        call = self._call(lane := await self._lanes.here())
        for attempt in count(1):
            body = self._wording.body(messages, sampling=sampling, extra=extra)
            reply = Reply()
            until = await self._entered(call)
            try:
                async with aclosing(self._attempt(lane, call, body, reply, until=until)) as items:
                    async for item in items:
                        yield item
                return
            except EndpointFailure as failure:
                if reply.shown:
                    raise
                retried = self._again(call, failure, body=body, attempt=attempt)
            finally:
                call.leave()
            yield retried
            await asyncio.sleep(retried.seconds)

    async def served(self) -> tuple[ServedModel, ...]:
        """The models in the endpoint's list, asked once. Raises `WorkerError`."""
        key = self._key()
        client = (await self._lanes.here()).client
        patience = self.endpoint.patience
        clock = Clock(patience, until=asyncio.get_running_loop().time() + patience.total)
        request = client.build_request("GET", self.endpoint.url("models"), headers=_headers(key))
        try:
            return read_catalogue(await document(client, request, self._reader(clock, key)))
        except TimeoutError:
            raise clock.late(self._failures, 0) from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise self._failures.of(error, 0) from error
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None

    async def models(self) -> tuple[str, ...]:
        """The names in the endpoint's list of models. Raises `WorkerError`."""
        return tuple(model.name for model in await self.served())

    async def aclose(self) -> None:
        """Close the connections of the running loop now; otherwise they close with the loop."""
        await self._lanes.aclose()

    def _key(self) -> str | None:
        try:
            return self.endpoint.key()
        except PoolError as error:
            raise WorkerError(f"{self.name}: {error}") from None

    def _call(self, lane: Lane) -> Call:
        endpoint = self.endpoint
        return Call(
            limits=lane.limits,
            retries=Retries(endpoint.retries),
            total=endpoint.patience.total,
            key=self._key(),
        )

    async def _entered(self, call: Call) -> float:
        try:
            return await call.enter()
        except TimeoutError:
            raise self._failures.too_slow() from None

    def _reader(self, clock: Clock, key: str | None) -> Reader:
        return Reader(clock=clock, failures=self._failures, most=self.endpoint.max_characters, key=key)

    async def _attempt(
        self, lane: Lane, call: Call, body: Mapping[str, Any], reply: Reply, *, until: float
    ) -> AsyncGenerator[Delta | Thought | Completion, None]:
        clock = Clock(self.endpoint.patience, until=until)
        url = self.endpoint.url("chat/completions")
        request = lane.client.build_request("POST", url, json=body, headers=_headers(call.key))
        try:
            async with aclosing(chunks(lane.client, request, self._reader(clock, call.key))) as received:
                async for chunk in received:
                    for item in self._taken(chunk, reply, clock=clock, key=call.key):
                        yield item
        except TimeoutError:
            if not reply.whole:
                raise clock.late(self._failures, reply.characters) from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            if not reply.whole:
                raise self._failures.of(error, reply.characters) from error
        if not reply.whole:
            raise self._failures.broken(reply.characters)
        for item in reply.end():
            yield item
        self._check_answered(reply)
        yield reply.completion()

    def _taken(
        self, chunk: Chunk | None, reply: Reply, *, clock: Clock, key: str | None
    ) -> list[Delta | Thought]:
        """What the next chunk says; None is the server's word that there is no further one."""
        if chunk is None:
            reply.done = True
            clock.tail()
            return []
        if chunk.error:
            raise self._failures.in_stream(chunk.error, key)
        items, went_on = reply.take(chunk)
        if reply.characters > self.endpoint.max_characters:
            raise self._failures.too_long()
        if reply.whole:
            clock.tail()
        elif went_on:
            clock.token()
        return items

    def _check_answered(self, reply: Reply) -> None:
        """An empty answer is one, but not where the server says why there is none."""
        if not reply.empty:
            return
        if reply.called:
            raise self._failures.tool_calls()
        if reply.finish == "content_filter":
            raise self._failures.filtered()
        if reply.finish == "error":
            raise self._failures.in_stream(None, None)

    def _again(
        self, call: Call, failure: EndpointFailure, *, body: Mapping[str, Any], attempt: int
    ) -> Retried:
        """What is said before the next attempt. Raises `EndpointFailure` where there is none."""
        learned = self._wording.learn(failure, body)
        if learned is not None:
            return Retried(attempt=attempt, message=f"{failure.reason}; {learned}.", seconds=0)
        try:
            seconds = call.retries.pause(failure)
        except EndpointFailure:
            raise failure.after(attempt) from failure.__cause__
        if not call.can_wait(seconds):
            raise self._failures.no_time_to_wait(failure, seconds) from failure.__cause__
        note = pause_note(failure)
        return Retried(attempt=attempt, message=f"{failure.reason}{note}.", seconds=seconds)


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}
