"""A client of an endpoint that sends its calls in batches, and the prices of these.

Knows chat completions and the queue; an answer comes whole.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import httpx

from conductor.values.messages import Completion, Message, Retried, Sampling
from conductor.workers.endpoint.batches.batch_forms import Line, form_of
from conductor.workers.endpoint.batches.batch_queue import Batches, BatchQueue
from conductor.workers.endpoint.client import NOTHING, UNSET, ChatClient, ChatItem
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.endpoint.reply.reply import Reply
from conductor.workers.endpoint.transport.timing import Deadlines
from conductor.workers.endpoint.wire import read_chunk
from conductor.workers.keys.mask import Mask

PRICE_SHARE = 0.5
"""What a call in a batch costs of its price, at OpenAI ("Batch API: 50% lower costs") and at Anthropic ("all
usage is charged at 50% of the standard API prices").
"""

_MOST_CHARACTERS = 200_000_000
"""Of a file with the answers of a batch."""


class BatchClient(ChatClient):
    """Calls one endpoint as `ChatClient` does, a batch at a time. Belongs to one event loop."""

    def __init__(self, endpoint: Endpoint, *, name: str, batches: Batches) -> None:
        super().__init__(endpoint, name=name)
        self._form = form_of(endpoint)
        self._queue = BatchQueue(name, self._form, self._send, batches, self._masked)

    async def stream(
        self, messages: Sequence[Message], *, sampling: Sampling = UNSET, extra: Mapping[str, Any] = NOTHING
    ) -> AsyncGenerator[ChatItem, None]:
        """The answer to `messages`. One that fails in a way that may pass, or that a batch did not come to
        within its day, is asked for again in the next batch, as often as the endpoint's `retries`.
        """
        _, mask = self._key_and_mask(self.endpoint)
        id, last_body, adapted = "", None, set[str]()
        form, whole = sampling.response_format, self._body(messages, sampling=sampling, extra=extra)
        for attempt in count(1):
            body, left_out = self._adaptation.fit(whole, form)
            body = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
            reply = Reply(mask, tools=sampling.tools, logprobs=sampling.logprobs)
            if body != last_body:
                id, last_body = self._queue.id_of(body), body
            line = await self._queue.line(id, body)
            try:
                items = self._read(line, reply, mask)
            except EndpointFailure as failure:
                learned = self._adaptation.learn(failure, body, form, adapted)
                if learned is None and (not failure.transient or attempt > self.endpoint.retries):
                    raise failure.after(attempt) from failure.__cause__
                how = learned or "in the next batch"
                message = f"{failure.reason}; asked again {how}."
                yield Retried(attempt=attempt, message=message, seconds=0)
                continue
            for item in items:
                yield replace(item, left_out=left_out) if isinstance(item, Completion) else item
            return

    def _read(self, line: Line, reply: Reply, mask: Mask) -> Sequence[ChatItem]:
        if line.completion is None:
            raise self._failure(line, mask)
        try:
            chunk = read_chunk(json.dumps(line.completion))
        except ValueError as error:
            raise self._failures.malformed(str(error)) from None
        deadlines = Deadlines(self.endpoint, self._failures)
        items = [*self._items(chunk, reply, deadlines), *self._items(None, reply, deadlines)]
        id = line.completion.get("id")
        return [*items, *self._ended(reply, mask(id) if isinstance(id, str) else None)]

    def _failure(self, line: Line, mask: Mask) -> EndpointFailure:
        if line.status is None:
            return EndpointFailure(
                f"{self.name}: {self.endpoint.host} did not come to it within the time of a batch",
                advice="go on with `evaluate resume`, or without --batch",
                transient=True,
                outage="not in its batch",
            )
        return self._failures.status(
            httpx.Response(line.status), json.dumps({"error": line.error}).encode(), mask
        )

    def _masked(self, text: str) -> str:
        return self._key_and_mask(self.endpoint)[1](text)

    async def _send(self, method: str, path: str, *, json: object = None, file: bytes | None = None) -> bytes:
        endpoint, key, mask = await self._reach()
        client = await self._client()
        url, headers = endpoint.url(path), self._form.headers(key)
        if file is None:
            request = client.build_request(method, url, json=json, headers=headers)
        else:
            upload = {"file": ("requests.jsonl", file)}
            request = client.build_request(
                method, url, data={"purpose": "batch"}, files=upload, headers=headers
            )
        try:
            return await self._document(client, request, mask, most=_MOST_CHARACTERS)
        except EndpointFailure as failure:
            if method == "POST" and failure.status in (404, 405, 501):
                host, status = self.endpoint.host, failure.status
                failure.reason = f"{self.name}: {host} has no batches (it answered {status} to {path})"
                failure.advice = "evaluate without --batch"
            raise
