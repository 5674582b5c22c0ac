"""A client of one endpoint's chat completions: its requests, their attempts, and the answer as items.

Knows messages and an endpoint; knows no workflow, no price and no pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import httpx

from conductor.errors import NO_CONNECTION, PoolError, WorkerError
from conductor.text.json_text import portable
from conductor.values.message_parts.images import in_parts
from conductor.values.message_parts.opaque import members_of
from conductor.values.messages import (
    FINE_SAMPLING,
    NOTHING_USED,
    CallDelta,
    Completion,
    Delta,
    Message,
    Retried,
    Sampling,
    Thought,
)
from conductor.workers.endpoint.adaptation import Adaptation
from conductor.workers.endpoint.catalogue import ServedModel, read_catalogue
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.endpoint.reply.reply import Item, Reply
from conductor.workers.endpoint.transport.exchange import Exchange
from conductor.workers.endpoint.transport.http_connections import Connections
from conductor.workers.endpoint.transport.timing import Call, Deadlines
from conductor.workers.endpoint.wire import Chunk
from conductor.workers.keys.mask import Mask
from conductor.workers.keys.secret import known_keys

UNSET = Sampling()
NOTHING: Mapping[str, Any] = MappingProxyType({})

ChatItem = Delta | Thought | CallDelta | Retried | Completion


class ChatClient:
    """Calls one endpoint, in any number of event loops. `name` is the worker's, for messages.

    Endpoints differ in a few parameters: what this one has refused is remembered and not sent to it again.
    """

    def __init__(self, endpoint: Endpoint, *, name: str) -> None:
        self.endpoint = endpoint
        self.name = name
        self._failures = Failures(name, endpoint)
        self._connections = Connections(endpoint)
        self._adaptation = Adaptation(endpoint.leave_out)
        self._thinks_in_prompt = False

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        sampling: Sampling = UNSET,
        extra: Mapping[str, Any] = NOTHING,
    ) -> AsyncGenerator[ChatItem, None]:
        """The answer to `messages`; `extra` is added to the JSON body's own keys.

        A failed attempt is followed by another as long as nothing of an answer has been yielded, each
        announced by a `Retried` before its pause. An answer whose connection breaks after its first words is
        requested once more: the `Retried` withdraws them, and a caller that has sent them on closes the
        stream. Raises `EndpointFailure`, or another `WorkerError` where the key is missing.
        """
        client = await self._client()
        waited_for = self.endpoint.for_prompt(sum(len(message.content) for message in messages))
        call = Call(waited_for, Failures(self.name, waited_for))
        form, whole = sampling.response_format, self._body(messages, sampling=sampling, extra=extra)
        withdrawn, adapted = False, set[str]()
        while True:
            body, left_out = self._adaptation.fit(whole, form)
            endpoint, key, mask = await self._reach()
            reply = Reply(
                mask, tools=sampling.tools, logprobs=sampling.logprobs, in_prompt=self._thinks_in_prompt
            )
            deadlines = await call.enter()
            if not body["stream"]:
                deadlines.whole()
            try:
                url, headers = endpoint.url("chat/completions"), authorization(key)
                request = client.build_request("POST", url, json=body, headers=headers)
                exchange = self._exchange(client, request, deadlines, mask)
                async with aclosing(self._attempt(exchange, reply, deadlines)) as items:
                    async for item in items:
                        yield replace(item, left_out=left_out) if isinstance(item, Completion) else item
                return
            except EndpointFailure as failure:
                failure.name_request(exchange.request_id)
                failure.used = reply.used or failure.used
                if sampling.tools is not None and failure.refuses("tool"):
                    failure.advice = "give the final step a worker whose endpoint takes tools"
                if sampling.logprobs is not None and failure.refuses("logprobs"):
                    failure.advice = "ask for fewer log probabilities or for none, or ask another worker"
                if reply.sent_characters and not failure.cut_short:
                    raise
                if reply.sent_characters and withdrawn:
                    raise failure.after(call.attempt) from failure.__cause__
                withdrawn = withdrawn or bool(reply.sent_characters)
                learned = self._adaptation.learn(failure, body, form, adapted)
                if learned is None:
                    retried = call.retry(failure, withdrawn=reply.sent_characters)
                else:
                    message = f"{failure.reason}; asked again {learned}."
                    retried = Retried(attempt=call.attempt, message=message, seconds=0)
                retried = retried.model_copy(update={"used": failure.used})
            finally:
                call.leave()
            yield retried
            await asyncio.sleep(retried.seconds)

    async def served(self) -> tuple[ServedModel, ...]:
        """The models in the endpoint's list, by one request. Raises `WorkerError`."""
        endpoint, key, mask = await self._reach()
        client = await self._client()
        request = client.build_request("GET", endpoint.url("models"), headers=authorization(key))
        try:
            return read_catalogue(await self._document(client, request, mask), mask)
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None

    async def aclose(self) -> None:
        """Close the connections of the running loop now; otherwise they close with the loop."""
        await self._connections.aclose()

    # -- the request -------------------------------------------------------------------------------

    async def _client(self) -> httpx.AsyncClient:
        """The running loop's client. Raises `EndpointFailure` where the environment has none for it."""
        try:
            return await self._connections.client()
        except PoolError as error:
            raise self._failures.unusable(error) from error

    async def _reach(self) -> tuple[Endpoint, str | None, Mask]:
        """Where the next request goes, with which key. Raises `WorkerError` where that cannot be."""
        try:
            endpoint = await self.endpoint.reach()
        except PoolError as error:
            raise WorkerError(f"{self.name}: {error}", outage=NO_CONNECTION, used=NOTHING_USED) from None
        return endpoint, *self._key_and_mask(endpoint)

    def _key_and_mask(self, endpoint: Endpoint) -> tuple[str | None, Mask]:
        try:
            key = endpoint.key()
        except PoolError as error:
            raise WorkerError(f"{self.name}: {error}", outage="no key", used=NOTHING_USED) from None
        # A server may repeat any key that it was shown, also one from another worker's answer.
        return key, Mask((key, *known_keys()))

    def _exchange(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        deadlines: Deadlines,
        mask: Mask,
        *,
        most: int | None = None,
    ) -> Exchange:
        most = most or self.endpoint.max_characters
        return Exchange(client, request, deadlines=deadlines, failures=self._failures, most=most, mask=mask)

    async def _document(
        self, client: httpx.AsyncClient, request: httpx.Request, mask: Mask, *, most: int | None = None
    ) -> bytes:
        """What a request returns, of `most` characters. Raises `EndpointFailure`."""
        deadlines = Deadlines(self.endpoint, self._failures)
        exchange = self._exchange(client, request, deadlines, mask, most=most)
        try:
            return await exchange.document()
        except EndpointFailure as failure:
            failure.name_request(exchange.request_id)
            raise
        except TimeoutError:
            raise deadlines.late(0) from None
        except httpx.TransportError as error:
            raise self._failures.of(error, 0, self._connections.route) from error

    def _body(
        self, messages: Sequence[Message], *, sampling: Sampling, extra: Mapping[str, Any]
    ) -> dict[str, Any]:
        named = {
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens,
            **{name: getattr(sampling, name) for name in FINE_SAMPLING},
            "reasoning_effort": sampling.reasoning_effort or self.endpoint.reasoning_effort,
        }
        form = sampling.response_format
        return {
            "model": self.endpoint.model,
            "messages": [_written(message) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **{name: value for name, value in named.items() if value is not None},
            **self.endpoint.extra,
            # After the pool file's own: the form of this answer was asked for.
            **({} if form is None else {"response_format": form.wire}),
            **({} if sampling.tools is None else sampling.tools.wire),
            **({} if sampling.logprobs is None else {"logprobs": True}),
            **({"top_logprobs": sampling.logprobs} if sampling.logprobs else {}),
            **extra,
        }

    # -- the answer --------------------------------------------------------------------------------

    async def _attempt(
        self, exchange: Exchange, reply: Reply, deadlines: Deadlines
    ) -> AsyncGenerator[Delta | Thought | CallDelta | Completion, None]:
        try:
            async with aclosing(exchange.chunks()) as chunks:
                async for chunk in chunks:
                    for item in self._items(chunk, reply, deadlines):
                        yield item
        except TimeoutError:
            if not reply.whole:
                raise deadlines.late(reply.characters) from None
        except httpx.TransportError as error:
            if not reply.whole:
                raise self._failures.of(error, reply.characters, self._connections.route) from error
        if not reply.whole:
            raise self._failures.broken(reply.characters)
        for rest in self._ended(reply, exchange.request_id):
            yield rest

    def _ended(self, reply: Reply, request_id: str | None) -> Iterator[Item | Completion]:
        """The rest of a reply, and the whole."""
        try:
            rest = reply.end()
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None
        self._thinks_in_prompt = reply.in_prompt
        yield from rest
        self._check_answered(reply)
        yield reply.completion(request_id)

    def _items(self, chunk: Chunk | None, reply: Reply, deadlines: Deadlines) -> list[Item]:
        """The items of the next chunk; None marks the end that the server has announced."""
        if chunk is None:
            reply.done = True
            deadlines.tail()
            return []
        if reply.done:
            reply.tokens.take(*chunk.places)
            return []
        if chunk.error is not None:
            raise self._failures.in_stream(chunk.error, reply.mask)
        try:
            items, went_on = reply.take(chunk)
            self._thinks_in_prompt = self._thinks_in_prompt or reply.in_prompt
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None
        if reply.longest > self.endpoint.max_characters:
            raise self._failures.too_long()
        if reply.whole:
            deadlines.tail()
        elif went_on:
            deadlines.token()
        return items

    def _check_answered(self, reply: Reply) -> None:
        """An empty answer counts as one, but not where the server gives a reason why it is empty; one that
        may be cut off does not.
        """
        if not reply.has_choice:
            raise self._failures.malformed("it has no answer among its choices", reply.unread)
        if reply.cut:
            raise self._failures.ended(reply.finish or "", reply.characters, reply.unread)
        if not reply.empty:
            return
        if reply.called:
            raise self._failures.tool_calls()
        if reply.refused:
            raise self._failures.filtered()


def authorization(key: str | None) -> Mapping[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def _written(message: Message) -> dict[str, Any]:
    """The message in OpenAI's words; content beside calls of tools may be null."""
    written: dict[str, Any] = {"role": message.role, "content": portable(message.content)}
    if message.images:
        pieces = in_parts(message.content, message.images)
        written["content"] = [
            {"type": "text", "text": portable(piece)} if isinstance(piece, str) else piece.wire
            for piece in pieces
        ]
    if message.name is not None:
        written["name"] = message.name
    if message.tool_call_id is not None:
        written["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        written["content"] = written["content"] or None
        written["tool_calls"] = [call.wire for call in message.tool_calls]
    return written | members_of(message.thoughts)
