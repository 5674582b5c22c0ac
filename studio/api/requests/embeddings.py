"""A request to `/v1/embeddings`, its worker and its answer: texts in, a vector for each out.

Knows OpenAI's shapes and which workers have an endpoint; the call is the endpoint's client's.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from conductor.errors import WorkerError
from conductor.values.charge import Charge, total_of
from conductor.values.messages import Usage
from conductor.workers.endpoint.embeddings import EmbeddingClient
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.fallback import chain
from conductor.workers.pool.pool import Pool
from conductor.workers.tools.tool_worker import without_tools
from studio.access.auth import Principal
from studio.api.error_answers import failed_run, unsupported
from studio.api.models import model_of, unknown_model
from studio.api.requests.parameters import EMBEDDINGS_REFUSED, unheeded
from studio.api.requests.request import MAX_ECHOES, MAX_LISTED, RequestBody

MAX_TEXTS = 2_048
"""Texts of one request, as many as OpenAI takes."""

_Text = Annotated[str, Field(min_length=1)]


class EmbeddingsRequest(RequestBody):
    """Texts, and the worker whose endpoint makes vectors of them."""

    model_config = ConfigDict(extra="allow")

    refused = EMBEDDINGS_REFUSED
    reasons: ClassVar[Mapping[str, str]] = {
        "input": f"it is a text, or 1 to {MAX_TEXTS:,} texts, none of them empty; tokens are not taken.",
    }

    model: Annotated[str, Field(min_length=1)]
    input: _Text | Annotated[tuple[_Text, ...], Field(fail_fast=True, min_length=1, max_length=MAX_TEXTS)]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(ge=1)] | None = None
    user: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.input,) if isinstance(self.input, str) else self.input

    @property
    def ignored(self) -> list[str]:
        """The parameters that have no effect."""
        user = [] if self.user is None else ["user"]
        added = unheeded(self.model_extra or {}, self.refused)
        return [*user, *(name[:MAX_LISTED] for name in islice(added, MAX_ECHOES))]


class EmbeddingList(BaseModel):
    """A vector for each text, as far as the API's document describes it."""

    object: Literal["list"]
    data: list[dict[str, Any]]
    model: str
    usage: dict[str, int] | None


def embedding_worker(request: EmbeddingsRequest, pool: Pool, principal: Principal) -> OpenAIWorker:
    """The worker that has an endpoint. Raises `ApiError` without one for this token."""
    model = model_of(request.model)
    card = pool.cards.get(model.id) if model.kind == "worker" else None
    if model.kind != "worker":
        raise unsupported("model", "embeddings are made by one worker; ask for worker:NAME.")
    if card is None or not principal.may_use(card):
        raise unknown_model(request.model)
    first = without_tools(chain(pool[model.id])[0])
    if not isinstance(first, OpenAIWorker):
        raise unsupported("model", f"{model.id} is no model of an endpoint, so it makes no embeddings.")
    return first


async def embeddings(
    request: EmbeddingsRequest, worker: OpenAIWorker, charges: list[Charge]
) -> dict[str, Any]:
    """The answer; adds to `charges` what each request to the endpoint took, also where a later one fails.

    Raises `ApiError` where the endpoint gives no vectors.
    """
    client, card = EmbeddingClient(worker.client.endpoint, name=worker.card.name), worker.card

    def note(used: Usage) -> None:
        usage = card.cost_of(used)
        charges.append(Charge(worker=card.name, kind=card.kind, purpose="embedding", usage=usage))

    try:
        vectors = await client.embed(request.texts, dimensions=request.dimensions, note=note)
    except WorkerError as error:
        raise failed_run(str(error), code="run_failed") from error
    finally:
        await client.aclose()
    written = [_base64(vector) if request.encoding_format == "base64" else vector for vector in vectors]
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(written)]
    read = total_of(charges).usage.prompt_tokens
    usage = None if read is None else {"prompt_tokens": read, "total_tokens": read}
    return {"object": "list", "data": data, "model": request.model, "usage": usage}


def _base64(vector: Sequence[float]) -> str:
    """As OpenAI writes it: 32-bit floats, little-endian."""
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
