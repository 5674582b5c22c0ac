"""An embedded model as a worker: the endpoint worker, whose endpoint is a process of this program.

Knows the endpoint and how the process is reached; it is labelled by its card's kind, "embedded".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from conductor.errors import PoolError, WorkerError
from conductor.values.messages import Sampling, Usage
from conductor.workers.embedded.model_file import SHIPPED_MODEL, model_file, runner_fault
from conductor.workers.embedded.process import CONTEXT, process_of
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.embeddings import EmbeddingClient
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.protocol import Price, Worker

STRENGTHS = "a tiny language model on this machine, often wrong: short answers to easy questions"

SAMPLING = Sampling(temperature=0, max_tokens=512)
"""The likeliest answer: of 14 capitals and currencies 9 were right so, and 7 at its makers' 0.2. A tiny model
may never end, and 512 tokens take it 15 seconds.
"""

_NO_LOOPS = MappingProxyType({"dry_multiplier": 0.8})
"""llama.cpp's penalty on sentences that repeat: without it the likeliest words of a tiny model never end."""

EMBEDDED_CHARACTERS = CONTEXT // 4
"""No character is more than four tokens."""

_FREE = Price(prompt=0.0, completion=0.0)


class EmbeddedEndpoint(Endpoint):
    """A model at whatever port its process listens. One request at a time.

    `source` is the shipped model's name or the path of a GGUF file, `model` the same without a folder. With
    `embeds` it makes vectors of texts, and no answers.
    """

    source: str
    embeds: bool = False
    base_url: str = "http://127.0.0.1"
    retries: int = 2
    concurrency: int | None = 1

    @property
    def host(self) -> str:
        return f"the process of {self.model}"

    def key_fault(self) -> str | None:
        """Why the model cannot be served now, None if it can."""
        try:
            model_file(self.source)
        except PoolError as error:
            return str(error)
        return runner_fault()

    async def reach(self) -> Endpoint:
        """See `Endpoint.reach`. Starts the process unless it lives. Raises `EndpointFailure`."""
        if (fault := self.key_fault()) is not None:
            raise _no_process(self.host, fault)
        process = process_of(model_file(self.source), self.model, embeds=self.embeds)
        try:
            # Shielded: others wait for the same start.
            address = await asyncio.shield(asyncio.wrap_future(process.address()))
        except WorkerError as error:
            raise _no_process(self.host, str(error)) from error
        return _Reached(base_url=f"{address.url}/v1", model=self.model, own_key=address.key)

    @classmethod
    def of(cls, source: str, **more: Any) -> EmbeddedEndpoint:
        """The one of that model."""
        return cls(source=source, model=source if source == SHIPPED_MODEL else Path(source).stem, **more)


class _Reached(Endpoint):
    """The process where it listens now, with the key that it was given."""

    own_key: str

    def key(self) -> str | None:
        return self.own_key


def _no_process(host: str, fault: str) -> EndpointFailure:
    reason, _, advice = fault.rstrip(".").partition("; ")
    return EndpointFailure(
        f"{host} did not start: {reason}", advice=advice or "see the Pool page", outage="not started"
    )


class EmbeddedWorker(OpenAIWorker):
    """See `OpenAIWorker`. Its answers cost nothing. `extra` goes into each request's body."""

    def __init__(
        self,
        model: str = SHIPPED_MODEL,
        *,
        name: str,
        strengths: str | None = None,
        sampling: Sampling = SAMPLING,
        extra: Mapping[str, Any] = _NO_LOOPS,
    ) -> None:
        super().__init__(
            EmbeddedEndpoint.of(model, extra=extra),
            name=name,
            strengths=strengths or STRENGTHS,
            sampling=sampling,
            price=_FREE,
            context=CONTEXT,
        )
        # The address changes with each start, and decides no answer.
        self.card = self.card.model_copy(update={"kind": "embedded", "endpoint": None})


class EmbeddedEmbeddings(EmbeddingClient):
    """See `EmbeddingClient`. A text counts by its first `EMBEDDED_CHARACTERS`, which fit into a context."""

    async def embed(
        self,
        texts: Sequence[str],
        *,
        dimensions: int | None = None,
        note: Callable[[Usage], object] = lambda _: None,
    ) -> list[list[float]]:
        cut = [text[:EMBEDDED_CHARACTERS] for text in texts]
        return await super().embed(cut, dimensions=dimensions, note=note)


def embedded_workers() -> tuple[Worker, ...]:
    """The set of one worker, `smol`: the model that comes with the program."""
    return (EmbeddedWorker(name="smol"),)
