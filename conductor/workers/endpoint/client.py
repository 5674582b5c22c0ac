"""A client of one endpoint's chat completions: its requests, their attempts, and the answer as items.

Knows messages and an endpoint; knows no workflow, no price and no pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import Any

import httpx

from conductor.errors import PoolError, WorkerError
from conductor.text.json_text import joined
from conductor.values.message_parts.images import in_parts
from conductor.values.messages import (
    FINE_SAMPLING,
    CallDelta,
    Completion,
    Delta,
    Message,
    Retried,
    Sampling,
    Thought,
)
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.endpoint.reply.reply import Item, Reply
from conductor.workers.endpoint.transport.connections import Connections
from conductor.workers.endpoint.transport.exchange import Exchange
from conductor.workers.endpoint.transport.timing import Call, Deadlines
from conductor.workers.endpoint.wire import Chunk, ServedModel, read_catalogue
from conductor.workers.keys.mask import NO_KEYS, Mask
from conductor.workers.keys.secret import known_keys

_UNSET = Sampling()
_NOTHING: Mapping[str, Any] = MappingProxyType({})

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
        self._asks_usage = True
        self._limit = "max_tokens"
        self._in_words: set[str] = set()
        """The forms of an answer that this endpoint has no parameter for."""

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
        key, mask = self._key_and_mask()
        client = await self._connections.client()
        call = Call(self.endpoint, self._failures)
        withdrawn = False
        while True:
            body = self._body(messages, sampling=sampling, extra=extra)
            reply = Reply(mask, with_tools=sampling.tools is not None, logprobs=sampling.logprobs)
            deadlines = await call.enter()
            try:
                exchange = self._exchange(client, "chat/completions", deadlines, mask, key=key, body=body)
                async with aclosing(self._attempt(exchange, reply, deadlines)) as items:
                    async for item in items:
                        yield item
                return
            except EndpointFailure as failure:
                failure.name_request(exchange.request_id)
                if sampling.tools is not None and failure.refuses("tool"):
                    failure.advice = "give the final step a worker whose endpoint takes tools"
                if sampling.logprobs is not None and failure.refuses("logprobs"):
                    failure.advice = "ask for fewer log probabilities or for none, or ask another worker"
                if reply.shown and not failure.cut_short:
                    raise
                if reply.shown and withdrawn:
                    raise failure.after(call.attempt) from failure.__cause__
                withdrawn = withdrawn or bool(reply.shown)
                learned = self._learn(failure, body, sampling)
                if learned is None:
                    retried = call.retry(failure, withdrawn=reply.shown)
                else:
                    message = f"{failure.reason}; asked again {learned}."
                    retried = Retried(attempt=call.attempt, message=message, seconds=0)
            finally:
                call.leave()
            yield retried
            await asyncio.sleep(retried.seconds)

    async def served(self) -> tuple[ServedModel, ...]:
        """The models in the endpoint's list, by one request. Raises `WorkerError`."""
        key, mask = self._key_and_mask()
        client = await self._connections.client()
        deadlines = Deadlines(self.endpoint, self._failures)
        exchange = self._exchange(client, "models", deadlines, mask, key=key)
        try:
            return read_catalogue(await exchange.document(), mask)
        except EndpointFailure as failure:
            failure.name_request(exchange.request_id)
            raise
        except TimeoutError:
            raise deadlines.late(0) from None
        except httpx.TransportError as error:
            raise self._failures.of(error, 0) from error
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None

    async def aclose(self) -> None:
        """Close the connections of the running loop now; otherwise they close with the loop."""
        await self._connections.aclose()

    # -- the request -------------------------------------------------------------------------------

    def _key_and_mask(self) -> tuple[str | None, Mask]:
        try:
            key = self.endpoint.key()
        except PoolError as error:
            raise WorkerError(f"{self.name}: {error}") from None
        # A server may repeat any key that it was shown, also one from another worker's answer.
        return key, Mask((key, *known_keys()))

    def _exchange(
        self,
        client: httpx.AsyncClient,
        path: str,
        deadlines: Deadlines,
        mask: Mask,
        *,
        key: str | None,
        body: Mapping[str, Any] | None = None,
    ) -> Exchange:
        method = "GET" if body is None else "POST"
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return Exchange(
            client,
            client.build_request(method, self.endpoint.url(path), json=body, headers=headers),
            deadlines=deadlines,
            failures=self._failures,
            most=self.endpoint.max_characters,
            mask=mask,
        )

    def _body(
        self, messages: Sequence[Message], *, sampling: Sampling, extra: Mapping[str, Any]
    ) -> dict[str, Any]:
        named = {
            "temperature": sampling.temperature,
            self._limit: sampling.max_tokens,
            **{name: getattr(sampling, name) for name in FINE_SAMPLING},
            "reasoning_effort": self.endpoint.reasoning_effort,
        }
        form = sampling.response_format
        written = [_written(message) for message in messages]
        if form is not None and form.type in self._in_words:
            last = written[-1]
            request = f"\n\n{form.request}"
            last["content"] += (
                request if isinstance(last["content"], str) else [{"type": "text", "text": request}]
            )
            form = None
        return {
            "model": self.endpoint.model,
            "messages": written,
            "stream": True,
            **({"stream_options": {"include_usage": True}} if self._asks_usage else {}),
            **{name: value for name, value in named.items() if value is not None},
            **self.endpoint.extra,
            # After the pool file's own: the form of this answer was asked for.
            **({} if form is None else {"response_format": form.wire}),
            **({} if sampling.tools is None else sampling.tools.wire),
            **({} if sampling.logprobs is None else {"logprobs": True}),
            **({"top_logprobs": sampling.logprobs} if sampling.logprobs else {}),
            **extra,
        }

    def _learn(self, failure: EndpointFailure, body: Mapping[str, Any], sampling: Sampling) -> str | None:
        """Adapts to this refusal of `body`; the change in words, None where nothing changes."""
        if "stream_options" in body and (
            failure.refuses("stream_options") or failure.refuses("include_usage")
        ):
            self._asks_usage = False
            return "without stream_options, so its tokens stay unknown"
        if "max_tokens" in body and failure.refuses("max_completion_tokens"):
            self._limit = "max_completion_tokens"
            return "with max_completion_tokens"
        form = sampling.response_format
        # A schema that is refused for its own fault is the client's to correct.
        if (
            form is not None
            and form.type not in self._in_words
            and failure.refuses("response_format")
            and "invalid schema" not in failure.server_message.lower()
        ):
            self._in_words.add(form.type)
            return "with the form of the answer in words"
        return None

    # -- the answer --------------------------------------------------------------------------------

    async def _attempt(
        self, exchange: Exchange, reply: Reply, deadlines: Deadlines
    ) -> AsyncGenerator[Delta | Thought | CallDelta | Completion, None]:
        try:
            async with aclosing(exchange.chunks()) as chunks:
                async for chunk in chunks:
                    for item in self._taken(chunk, reply, deadlines):
                        yield item
        except TimeoutError:
            if not reply.whole:
                raise deadlines.late(reply.characters) from None
        except httpx.TransportError as error:
            if not reply.whole:
                raise self._failures.of(error, reply.characters) from error
        if not reply.whole:
            raise self._failures.broken(reply.characters)
        try:
            rest = reply.end()
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None
        for item in rest:
            yield item
        self._check_answered(reply)
        yield reply.completion(exchange.request_id)

    def _taken(self, chunk: Chunk | None, reply: Reply, deadlines: Deadlines) -> list[Item]:
        """The items of the next chunk; None marks the end that the server has announced."""
        if chunk is None:
            reply.done = True
            deadlines.tail()
            return []
        if chunk.error:
            raise self._failures.in_stream(chunk.error, reply.mask)
        try:
            items, went_on = reply.take(chunk)
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
        """An empty answer counts as one, but not where the server gives a reason why it is empty."""
        if not reply.empty:
            return
        if reply.called:
            raise self._failures.tool_calls()
        if reply.finish == "content_filter":
            raise self._failures.filtered()
        if reply.finish == "error":
            raise self._failures.in_stream(None, NO_KEYS)


def _written(message: Message) -> dict[str, Any]:
    """The message in OpenAI's words; content beside calls of tools may be null."""
    written: dict[str, Any] = {"role": message.role, "content": joined(message.content)}
    if message.images:
        pieces = in_parts(message.content, message.images)
        written["content"] = [
            {"type": "text", "text": joined(piece)} if isinstance(piece, str) else piece.wire
            for piece in pieces
        ]
    if message.name is not None:
        written["name"] = message.name
    if message.tool_call_id is not None:
        written["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        written["content"] = written["content"] or None
        written["tool_calls"] = [call.wire for call in message.tool_calls]
    return written
