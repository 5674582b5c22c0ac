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
from conductor.values.messages import Completion, Delta, Message, Retried, Sampling, Thought
from conductor.workers.endpoint.attempts import Call, Deadlines, Retries, pause_note
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.connections import Connections
from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.endpoint.rate_limits import Limits
from conductor.workers.endpoint.reply import Reply
from conductor.workers.endpoint.request_body import RequestBody
from conductor.workers.endpoint.transport import Head, Reader, chunks, document
from conductor.workers.endpoint.wire import Chunk, ServedModel, read_catalogue
from conductor.workers.keys.mask import NO_KEYS, Mask
from conductor.workers.keys.secret import known_keys

_UNSET = Sampling()
_NOTHING: Mapping[str, Any] = MappingProxyType({})

ChatItem = Delta | Thought | Retried | Completion


class ChatClient:
    """Calls one endpoint, in any number of event loops. `name` is the worker's, for messages."""

    def __init__(self, endpoint: Endpoint, *, name: str) -> None:
        self.endpoint = endpoint
        self.name = name
        self._failures = Failures(name, endpoint)
        self._request_body = RequestBody(endpoint)
        self._connections = Connections(endpoint)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        sampling: Sampling = _UNSET,
        extra: Mapping[str, Any] = _NOTHING,
    ) -> AsyncGenerator[ChatItem, None]:
        """The answer to `messages`; `extra` is added to the JSON body's own keys.

        A failed attempt is followed by another as long as nothing of an answer has been yielded, each
        announced by a `Retried` before its pause. An answer whose connection breaks after its first words is
        requested once more: the `Retried` withdraws them, and a caller that has sent them on closes the
        stream. Raises `EndpointFailure`, or another `WorkerError` where the key is missing.
        """
        withdrawn = False
        client = await self._connections.client()
        call = self._call()
        for attempt in count(1):
            body = self._request_body.of(messages, sampling=sampling, extra=extra)
            reply = Reply(call.mask)
            until = await self._entered(call)
            try:
                async with aclosing(self._attempt(client, call, body, reply, until=until)) as items:
                    async for item in items:
                        yield item
                return
            except EndpointFailure as failure:
                failure.name_request(reply.request_id)
                if reply.shown and not failure.cut_short:
                    raise
                if reply.shown and withdrawn:
                    raise failure.after(attempt) from failure.__cause__
                retried = self._again(call, failure, body=body, attempt=attempt, withdrawn=reply.shown)
                withdrawn = withdrawn or bool(reply.shown)
            finally:
                call.leave()
            yield retried
            await asyncio.sleep(retried.seconds)

    async def served(self) -> tuple[ServedModel, ...]:
        """The models in the endpoint's list, by one request. Raises `WorkerError`."""
        key, mask = self._key_and_mask()
        client = await self._connections.client()
        patience = self.endpoint.patience
        deadlines = Deadlines(patience, until=asyncio.get_running_loop().time() + patience.total)
        request = client.build_request("GET", self.endpoint.url("models"), headers=_headers(key))
        try:
            return read_catalogue(await document(client, request, self._reader(deadlines, mask)), mask)
        except TimeoutError:
            raise deadlines.late(self._failures, 0) from None
        except httpx.TransportError as error:
            raise self._failures.of(error, 0) from error
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None

    async def models(self) -> tuple[str, ...]:
        """The names in the endpoint's list of models. Raises `WorkerError`."""
        return tuple(model.name for model in await self.served())

    async def aclose(self) -> None:
        """Close the connections of the running loop now; otherwise they close with the loop."""
        await self._connections.aclose()

    def _key_and_mask(self) -> tuple[str | None, Mask]:
        try:
            key = self.endpoint.key()
        except PoolError as error:
            raise WorkerError(f"{self.name}: {error}") from None
        # A server may repeat any key that it was shown, also one from another worker's answer.
        return key, Mask((key, *known_keys()))

    def _call(self) -> Call:
        endpoint = self.endpoint
        key, mask = self._key_and_mask()
        return Call(
            limits=Limits.of(endpoint),
            retries=Retries(endpoint.retries),
            total=endpoint.patience.total,
            key=key,
            mask=mask,
        )

    async def _entered(self, call: Call) -> float:
        try:
            return await call.enter()
        except TimeoutError:
            raise self._failures.too_slow() from None

    def _reader(self, deadlines: Deadlines, mask: Mask) -> Reader:
        return Reader(
            deadlines=deadlines, failures=self._failures, most=self.endpoint.max_characters, mask=mask
        )

    async def _attempt(
        self, client: httpx.AsyncClient, call: Call, body: Mapping[str, Any], reply: Reply, *, until: float
    ) -> AsyncGenerator[Delta | Thought | Completion, None]:
        deadlines = Deadlines(self.endpoint.patience, until=until)
        url = self.endpoint.url("chat/completions")
        request = client.build_request("POST", url, json=body, headers=_headers(call.key))
        try:
            async with aclosing(chunks(client, request, self._reader(deadlines, call.mask))) as received:
                async for chunk in received:
                    if isinstance(chunk, Head):
                        reply.request_id = chunk.request_id
                        continue
                    for item in self._taken(chunk, reply, deadlines=deadlines, mask=call.mask):
                        yield item
        except TimeoutError:
            if not reply.whole:
                raise deadlines.late(self._failures, reply.characters) from None
        except httpx.TransportError as error:
            if not reply.whole:
                raise self._failures.of(error, reply.characters) from error
        if not reply.whole:
            raise self._failures.broken(reply.characters)
        for item in reply.end():
            yield item
        self._check_answered(reply)
        yield reply.completion()

    def _taken(
        self, chunk: Chunk | None, reply: Reply, *, deadlines: Deadlines, mask: Mask
    ) -> list[Delta | Thought]:
        """The items of the next chunk; None marks the end that the server has announced."""
        if chunk is None:
            reply.done = True
            deadlines.tail()
            return []
        if chunk.error:
            raise self._failures.in_stream(chunk.error, mask)
        items, went_on = reply.take(chunk)
        if reply.characters > self.endpoint.max_characters:
            raise self._failures.too_long()
        if reply.whole:
            deadlines.tail()
        elif went_on:
            deadlines.token()
        return items

    def _check_answered(self, reply: Reply) -> None:
        """An empty answer counts as one, but not where the server gives a reason why it is empty."""
        if not reply.empty:
            return
        if reply.called:
            raise self._failures.tool_calls()
        if reply.finish == "content_filter":
            raise self._failures.filtered()
        if reply.finish == "error":
            raise self._failures.in_stream(None, NO_KEYS)

    def _again(
        self, call: Call, failure: EndpointFailure, *, body: Mapping[str, Any], attempt: int, withdrawn: int
    ) -> Retried:
        """The announcement of the next attempt. Raises `EndpointFailure` where there is none."""
        learned = self._request_body.learn(failure, body)
        if learned is not None:
            return Retried(attempt=attempt, message=f"{failure.reason}; {learned}.", seconds=0)
        try:
            seconds = call.retries.pause(failure)
        except EndpointFailure:
            raise failure.after(attempt) from failure.__cause__
        if not call.can_wait(seconds):
            raise self._failures.no_time_to_wait(failure, seconds) from failure.__cause__
        note = pause_note(failure)
        message = f"{failure.reason}{note}."
        return Retried(attempt=attempt, message=message, seconds=seconds, withdrawn=withdrawn)


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}
