"""The worker `select`: the visible response that the others agree with most, unchanged. Needs no labels.

Source: Smoothie (Guha et al., 2024; HazyResearch/smoothie, `src/model.py`): each response's squared distance
from the unknown right one is estimated from triplets of distances between embeddings, and its weight is the
share of the estimate's reciprocal. Here one question is one sample. Embeddings are TF-IDF over the visible
responses, or a model's; the card names which. Knows no workflow.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import add

from conductor.errors import WorkerError
from conductor.text.final_answer import final_answer
from conductor.values.messages import NOTHING_USED, Completion, Request, Usage
from conductor.workers.endpoint.embeddings import EmbeddingClient
from conductor.workers.protocol import WorkerCard

SELECT = "select"
SELECT_BY_EMBEDDINGS = "select-embeddings"
"""The same, in a pool that has a model for embeddings."""

_WORD = re.compile(r"\w+")
_EQUAL = 1e-12
"""An estimate so near 0 is 0: what is left of equal distances."""

Embedding = Mapping[str, float]
"""A sparse vector: a weight for each word, empty for a text without words."""


class SelectWorker:
    """See `Worker` for the protocol. With fewer than three responses nothing can be estimated: the first one
    is returned. `client` gives the embeddings, None: TF-IDF.
    """

    def __init__(self, client: EmbeddingClient | None = None) -> None:
        self._client = client
        encoder = "TF-IDF" if client is None else client.endpoint.model
        calls = "calls no model" if client is None else "calls a model for embeddings alone"
        self.card = WorkerCard(
            name=SELECT if client is None else SELECT_BY_EMBEDDINGS,
            kind="offline" if client is None else "model",
            strengths=f"returns the visible response that the others agree with most; {calls}",
            model=f"computed/select ({encoder})",
            parameters="" if client is None else client.endpoint.base_url,
        )

    async def stream(self, request: Request) -> AsyncIterator[Completion]:
        """The chosen response, the weights as reasoning; the only visible one also where it declines to
        answer. Raises `WorkerError` where there is no answer to choose, or no embeddings.
        """
        if len(request.seen) == 1:
            (only,) = request.seen
            answers = bool(final_answer(only.response))
            yield Completion(
                text=only.response, usage=NOTHING_USED, finish_reason="stop" if answers else "refused"
            )
            return
        seen = [each for each in request.seen if final_answer(each.response)]
        if not seen:
            raise WorkerError(
                f"{self.card.name} sees no answer; let its step read steps that answer the question.",
                used=NOTHING_USED,
            )
        texts, usage = [each.response for each in seen], NOTHING_USED
        if self._client is None:
            embeddings = tf_idf(texts)
        else:
            requests: list[Usage] = []
            vectors = await self._client.embed(texts, note=requests.append)
            usage = reduce(add, requests, NOTHING_USED)
            embeddings = tuple(_unit({str(at): value for at, value in enumerate(each)}) for each in vectors)
        weights = smoothie_weights(squared_distances(embeddings))
        reasoning = "\n".join(
            f"step {each.step + 1} ({each.worker}): weight {weight:.3f}"
            for each, weight in zip(seen, weights, strict=True)
        )
        yield Completion(text=seen[heaviest(weights)].response, reasoning=reasoning, usage=usage)


def tf_idf(texts: Sequence[str]) -> tuple[Embedding, ...]:
    """Each text's embedding over the words of all: counts, smoothed inverse document frequency, length 1."""
    counts = [Counter(_WORD.findall(text.casefold())) for text in texts]
    documents = Counter(word for each in counts for word in each)
    weight = {word: math.log((1 + len(texts)) / (1 + among)) + 1 for word, among in documents.items()}
    return tuple(_unit({word: count * weight[word] for word, count in each.items()}) for each in counts)


def _unit(vector: Mapping[str, float]) -> Embedding:
    length = math.hypot(*vector.values())
    return {word: value / length for word, value in vector.items()} if length else {}


def squared_distances(embeddings: Sequence[Embedding]) -> list[list[float]]:
    """Between each two of them."""
    return [
        [sum((one.get(word, 0.0) - other.get(word, 0.0)) ** 2 for word in one.keys() | other.keys())
         for other in embeddings]
        for one in embeddings
    ]  # fmt: skip


def smoothie_weights(apart: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The reference's weights, which add up to 1, from squared distances or their means over samples.

    The estimate of a voter's distance is the mean over all triplets with two others j and k of
    (ij + ik - jk) / 2. An estimate may be negative, and its weight is so then, as there. Voters with an
    estimate of 0 have all the weight; fewer than three voters have equal weights.
    """
    count = len(apart)
    if count < 3:
        return (1 / count,) * count
    estimates = []
    for i in range(count):
        others = [at for at in range(count) if at != i]
        triplets = [(apart[i][j] + apart[i][k] - apart[j][k]) / 2 for j, k in combinations(others, 2)]
        estimates.append(sum(triplets) / len(triplets))
    zeros = [abs(estimate) < _EQUAL for estimate in estimates]
    if any(zeros):
        return tuple(zero / sum(zeros) for zero in zeros)
    total = sum(1 / estimate for estimate in estimates)
    return tuple(1 / (estimate * total) for estimate in estimates)


def heaviest(weights: Sequence[float]) -> int:
    """The position of the largest weight, the first of equal ones."""
    return max(range(len(weights)), key=weights.__getitem__)
