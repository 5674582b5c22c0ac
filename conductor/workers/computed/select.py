"""The worker `select`: the visible response that the others agree with most, unchanged. Needs no labels.

Source: Smoothie (Guha et al., 2024; HazyResearch/smoothie, `src/model.py`): each response's distance from the
unknown right one is estimated from triplets of distances between embeddings. Embeddings here are TF-IDF over
the visible responses, which the card names; one question is one sample. Knows no workflow.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import combinations

from conductor.errors import WorkerError
from conductor.text.final_answer import final_answer
from conductor.values.messages import NOTHING_USED, Completion, Request
from conductor.workers.protocol import WorkerCard

_WORD = re.compile(r"\w+")

Embedding = Mapping[str, float]
"""A sparse vector of length 1: a weight for each word; empty for a text without words."""


class SelectWorker:
    """See `Worker` for the protocol. With fewer than three responses nothing can be estimated: the first one
    is returned.
    """

    card = WorkerCard(
        name="select",
        kind="offline",
        strengths="returns the visible response that the others agree with most; calls no model",
        model="computed/select (TF-IDF)",
    )

    async def stream(self, request: Request) -> AsyncIterator[Completion]:
        """The chosen response, the estimates as reasoning. Raises `WorkerError` where none is visible."""
        seen = [each for each in request.seen if final_answer(each.response)]
        if not seen:
            raise WorkerError("select sees no answer; let its step read steps that answer the question.")
        distances = smoothie_distances(tf_idf([each.response for each in seen]))
        chosen = min(range(len(seen)), key=distances.__getitem__)
        reasoning = "\n".join(
            f"step {each.step + 1} ({each.worker}): estimated distance {distance:.3f}"
            for each, distance in zip(seen, distances, strict=True)
        )
        yield Completion(text=seen[chosen].response, reasoning=reasoning, usage=NOTHING_USED)


def tf_idf(texts: Sequence[str]) -> tuple[Embedding, ...]:
    """Each text's embedding over the words of all: counts, smoothed inverse document frequency, length 1."""
    counts = [Counter(_WORD.findall(text.casefold())) for text in texts]
    documents = Counter(word for each in counts for word in each)
    weight = {word: math.log((1 + len(texts)) / (1 + among)) + 1 for word, among in documents.items()}
    return tuple(_unit({word: count * weight[word] for word, count in each.items()}) for each in counts)


def _unit(vector: Mapping[str, float]) -> Embedding:
    length = math.hypot(*vector.values())
    return {word: value / length for word, value in vector.items()} if length else {}


def smoothie_distances(embeddings: Sequence[Embedding]) -> tuple[float, ...]:
    """For each embedding the estimate of its squared distance from the right one's, by all triplets with two
    others; the smallest has the largest weight. All 0 for fewer than three.
    """
    apart = [[_squared_distance(one, other) for other in embeddings] for one in embeddings]
    found = []
    for i in range(len(embeddings)):
        others = [at for at in range(len(embeddings)) if at != i]
        triplets = [(apart[i][j] + apart[i][k] - apart[j][k]) / 2 for j, k in combinations(others, 2)]
        found.append(sum(triplets) / len(triplets) if triplets else 0.0)
    return tuple(found)


def _squared_distance(one: Embedding, other: Embedding) -> float:
    return sum((one.get(word, 0.0) - other.get(word, 0.0)) ** 2 for word in one.keys() | other.keys())
