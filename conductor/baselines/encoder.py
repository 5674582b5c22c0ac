"""Questions and answers as vectors, for the baselines that compare texts: hashed TF-IDF, or an endpoint's.

An encoder is kept with what was fitted on its vectors: the same text has the same vector then and later.
Knows no planner.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from conductor.errors import PlanError
from conductor.values.messages import NOTHING_USED, Usage, Value
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.embeddings import EmbeddingClient

if TYPE_CHECKING:
    from conductor.baselines.learning.vectors import Matrix


class CountedEmbeddings:
    """The client of an endpoint for embeddings; `requests` are what each one through this took."""

    def __init__(self, client: EmbeddingClient) -> None:
        self._client = client
        self.requests: list[Usage] = []

    @property
    def used(self) -> Usage:
        """What they took together."""
        return reduce(add, self.requests, NOTHING_USED)

    @property
    def endpoint(self) -> Endpoint:
        return self._client.endpoint

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text. Raises `WorkerError`."""
        return await self._client.embed(texts, note=self.requests.append)


class Encoder(Value):
    """How texts become vectors of length 1, or 0 for a text without words.

    `tf-idf`: words, their pairs and signs, numbers all as one, counted by hash and weighted by
    `weights`: their inverse document frequency in the texts that it was made of, or 1 for what several
    of these have and 0 for the rest. `endpoint`: the vectors of `model` at `base_url`, whatever their length.
    """

    kind: Literal["tf-idf", "endpoint"] = "tf-idf"
    weights: tuple[float, ...] = Field(default=(), repr=False)
    model: str | None = None
    base_url: str | None = None

    @property
    def title(self) -> str:
        return "TF-IDF" if self.kind == "tf-idf" else f"embeddings by {self.model}"

    @classmethod
    def of(cls, texts: Sequence[str], client: CountedEmbeddings | None = None) -> Encoder:
        """An encoder for texts like these: TF-IDF, or the client's model."""
        if client is not None:
            return cls(kind="endpoint", model=client.endpoint.model, base_url=client.endpoint.base_url)
        from conductor.baselines.learning.vectors import inverse_frequencies  # noqa: PLC0415 - it brings numpy

        return cls(weights=inverse_frequencies(texts))

    @classmethod
    def of_shared(cls, texts: Sequence[str]) -> Encoder:
        """An encoder by the words that several of these texts have, all of one weight."""
        from conductor.baselines.learning.vectors import shared_places  # noqa: PLC0415 - it brings numpy

        return cls(weights=shared_places(texts))

    async def encode(self, texts: Sequence[str], client: CountedEmbeddings | None) -> Matrix:
        """A row for each text. Raises `PlanError` where it needs another endpoint than `client`'s,
        `WorkerError` where that gives no vectors.
        """
        from conductor.baselines.learning.vectors import from_lists, weighted_counts  # noqa: PLC0415

        if self.kind == "tf-idf":
            return weighted_counts(texts, self.weights)
        if client is None or (client.endpoint.model, client.endpoint.base_url) != (self.model, self.base_url):
            raise PlanError(
                f"This was fitted with embeddings by {self.model} at {self.base_url}; name that endpoint "
                "under [embeddings] in the pool file, or fit it again."
            )
        return from_lists(await client.embed(texts))
