"""A client of one endpoint's embeddings: texts in, a vector for each out.

Knows an endpoint; knows nothing of what the vectors are for. A chat client's attempts, deadlines and masks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from conductor.text.json_text import portable
from conductor.values.messages import Usage
from conductor.workers.endpoint.client import ChatClient, authorization
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.endpoint.reply.usage_forms import TokensSoFar
from conductor.workers.endpoint.transport.timing import Call

BATCH = 64
"""Texts of one request; every server takes so many."""


class _IndexedVector(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    index: int
    embedding: list[FiniteFloat]


class _Embeddings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    data: list[_IndexedVector]
    usage: Any = None


class EmbeddingClient(ChatClient):
    """Calls one endpoint's `embeddings`, in any number of event loops."""

    async def embed(
        self,
        texts: Sequence[str],
        *,
        dimensions: int | None = None,
        note: Callable[[Usage], object] = lambda _: None,
    ) -> list[list[float]]:
        """A vector for each text, all of one length: of `dimensions`, if the model can. `note` is called with
        what each request took that was answered, also where a later one fails.

        Raises `WorkerError`, as a chat does.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            batch = await self._embedded(texts[start : start + BATCH], dimensions, note)
            vectors += [entry.embedding for entry in sorted(batch.data, key=lambda entry: entry.index)]
        if len({len(vector) for vector in vectors}) > 1:
            raise self._failures.malformed("its vectors have several lengths")
        return vectors

    async def _embedded(
        self, texts: Sequence[str], dimensions: int | None, note: Callable[[Usage], object]
    ) -> _Embeddings:
        client = await self._client()
        call = Call(self.endpoint, self._failures)
        body = {"model": self.endpoint.model, "input": list(map(portable, texts)), **self.endpoint.extra}
        body |= {} if dimensions is None else {"dimensions": dimensions}
        while True:
            endpoint, key, mask = await self._reach()
            deadlines = await call.enter()
            url, headers = endpoint.url("embeddings"), authorization(key)
            request = client.build_request("POST", url, json=body, headers=headers)
            exchange = self._exchange(client, request, deadlines, mask)
            try:
                answer = self._read(await exchange.document())
                note(_used({"usage": answer.usage}, exchange.bill))
                return self._checked(answer, len(texts))
            except EndpointFailure as failure:
                failure.name_request(exchange.request_id)
                retried = call.retry(failure, withdrawn=0)
            except TimeoutError:
                retried = call.retry(deadlines.late(0), withdrawn=0)
            except httpx.TransportError as error:
                retried = call.retry(self._failures.of(error, 0, self._connections.route), withdrawn=0)
            finally:
                call.leave()
            await asyncio.sleep(retried.seconds)

    def _read(self, body: bytes) -> _Embeddings:
        try:
            return _Embeddings.model_validate_json(body)
        except ValidationError:
            raise self._failures.malformed("its embeddings cannot be read") from None

    def _checked(self, answer: _Embeddings, count: int) -> _Embeddings:
        if sorted(entry.index for entry in answer.data) != list(range(count)):
            raise self._failures.malformed(f"it gave {len(answer.data)} embeddings for {count} texts")
        return answer


def _used(*places: object) -> Usage:
    """What one request took; all of its tokens are the prompt's."""
    tokens = TokensSoFar()
    tokens.take(*places)
    usage = tokens.usage(wrote=False)
    counts = [n for n in (usage.prompt_tokens, usage.completion_tokens) if n is not None]
    prompt = sum(counts) if counts else None
    cost = usage.reported_cost
    return Usage(prompt_tokens=prompt, completion_tokens=0, cost=cost, reported_cost=cost)
