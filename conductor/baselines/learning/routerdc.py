"""RouterDC: each question goes to the worker whose learnt vector is the most similar to the question's.

Source: Chen et al., "RouterDC: Query-Based Router by Dual Contrastive Learning" (2024; shuhao02/RouterDC,
`train_router_mdeberta.py`): both losses, their numbers of positives and negatives, cosine similarity at
temperature 1. There the encoder is a language model that learns as well; here it is fixed, and a linear map
of its vectors learns in its place. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conductor.baselines.learning.vectors import AdamW, Indexes, Matrix, batches, softmax, stated, unit
from conductor.values.messages import Value

POSITIVES = 3
"""Of how many of the best workers each question pulls the vectors near: k+ of the reference."""
NEGATIVES = 3
"""From how many of the worst, and how many other questions, it pushes away: k- and H of the reference."""
CLUSTERS = 5
STEPS = 1000
BATCH = 64
DIMENSIONS = 32
LEARNING_RATE = 0.01


class RouterDcParameters(Value):
    """`projection` maps a question's vector (columns) to `DIMENSIONS` rows; a row of `workers` is a worker's
    vector there.
    """

    projection: tuple[tuple[float, ...], ...]
    workers: tuple[tuple[float, ...], ...]


def similarities(parameters: RouterDcParameters, question: Matrix) -> Sequence[float]:
    """The cosine of a question's vector, one row, with each worker's."""
    hidden = unit(question @ np.array(parameters.projection).T)
    return [float(each) for each in (hidden @ unit(np.array(parameters.workers)).T)[0]]


def fit(questions: Matrix, scores: Matrix, *, seed: int) -> RouterDcParameters:
    """The parameters after `STEPS` steps of AdamW on the sum of both losses.

    `questions` has a row for each question, `scores` each worker's share of right answers to it.
    """
    draw = np.random.default_rng(seed)
    clusters = k_means(questions, min(CLUSTERS, len(questions)), draw)
    model = _Model(
        draw.normal(0, 1 / np.sqrt(questions.shape[1]), (DIMENSIONS, questions.shape[1])),
        draw.normal(0, 0.78, (scores.shape[1], DIMENSIONS)),
    )
    optimizer = AdamW(model.projection, model.workers, rate=LEARNING_RATE)
    for batch in batches(len(questions), STEPS, BATCH, draw):
        optimizer.step(model.gradients(questions[batch], scores[batch], clusters[batch], draw))
    return RouterDcParameters(projection=stated(model.projection), workers=stated(model.workers))


# -- the losses ------------------------------------------------------------------------------------


def sample_llm_loss(
    similarity: Matrix, scores: Matrix, *, positives: int = POSITIVES, negatives: int = NEGATIVES
) -> tuple[float, Matrix]:
    """The sample-LLM contrastive loss and its gradient by `similarity`, both questions x workers.

    For each of the best workers with a score above 0: minus the logarithm of its share in the softmax over
    itself and the worst ones, without those whose score is above 0.5. A mean over questions.
    """
    count, workers = similarity.shape
    every = np.arange(count)
    best = np.argsort(-scores, axis=1, kind="stable")
    worst = np.argsort(scores, axis=1, kind="stable")[:, : min(negatives, workers)]
    is_wrong = np.take_along_axis(scores, worst, axis=1) <= 0.5
    loss, gradient = 0.0, np.zeros_like(similarity)
    for positive in best[:, : min(positives, workers)].T:
        counts = scores[every, positive] > 0
        compared = np.column_stack([positive, worst])
        logits = np.take_along_axis(similarity, compared, axis=1)
        logits[:, 1:] = np.where(is_wrong, logits[:, 1:], -np.inf)
        share = softmax(logits)
        loss += float(np.sum(-np.log(share[counts, 0]))) / count
        share[:, 0] -= 1
        share *= counts[:, None] / count
        np.add.at(gradient, (every[:, None], compared), share)
    return loss, gradient


def sample_sample_loss(similarity: Matrix, compared: Indexes, of: Indexes) -> tuple[float, Matrix]:
    """The sample-sample contrastive loss and its gradient by `similarity`, questions x questions.

    Row by row, the question in `of` is compared with those in `compared`: first one of its own cluster, then
    others' (see `drawn_neighbours`).
    """
    gradient = np.zeros_like(similarity)
    if not len(of):
        return 0.0, gradient
    share = softmax(similarity[of[:, None], compared])
    loss = float(np.mean(-np.log(share[:, 0])))
    share[:, 0] -= 1
    np.add.at(gradient, (of[:, None], compared), share / len(of))
    return loss, gradient


def drawn_neighbours(
    clusters: Indexes, draw: np.random.Generator, *, negatives: int = NEGATIVES
) -> tuple[Indexes, Indexes]:
    """For the sample-sample loss: drawn for each question one of its own cluster and `negatives` of others.

    A question for which there are too few others is left out. `compared` and `of` of `sample_sample_loss`.
    """
    own = clusters[:, None] == clusters
    lots = draw.random(own.shape)
    positive = np.argmax(np.where(own, lots, -1), axis=1)
    others = np.argsort(np.where(own, 2, lots), axis=1)[:, :negatives]
    of = np.flatnonzero((~own).sum(axis=1) >= negatives)
    return np.column_stack([positive, others])[of], of


# -- learning --------------------------------------------------------------------------------------


@dataclass
class _Model:
    """The parameters while they change."""

    projection: Matrix
    workers: Matrix

    def gradients(
        self, questions: Matrix, scores: Matrix, clusters: Indexes, draw: np.random.Generator
    ) -> tuple[Matrix, Matrix]:
        """Those of both losses together by `projection` and by `workers`."""
        hidden = questions @ self.projection.T
        near, vectors = unit(hidden), unit(self.workers)
        _, by_worker = sample_llm_loss(near @ vectors.T, scores)
        _, by_question = sample_sample_loss(near @ near.T, *drawn_neighbours(clusters, draw))
        by_near = by_worker @ vectors + (by_question + by_question.T) @ near
        by_hidden = _through_unit(hidden, near, by_near)
        return by_hidden.T @ questions, _through_unit(self.workers, vectors, by_worker.T @ near)


def _through_unit(rows: Matrix, units: Matrix, by_units: Matrix) -> Matrix:
    """The gradient by `rows` of what has the gradient `by_units` by the rows at length 1."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    across = by_units - np.sum(by_units * units, axis=1, keepdims=True) * units
    through: Matrix = np.divide(across, length, out=np.zeros_like(across), where=length > 0)
    return through


def k_means(rows: Matrix, count: int, draw: np.random.Generator) -> Indexes:
    """Each row's cluster, by 20 rounds of Lloyd's algorithm from rows that are far apart (k-means++)."""
    centres = rows[draw.integers(len(rows))][None]
    while len(centres) < count:
        far = np.min(_squared_distances(rows, centres), axis=1)
        total = far.sum()
        chosen = draw.choice(len(rows), p=far / total) if total > 0 else draw.integers(len(rows))
        centres = np.vstack([centres, rows[chosen]])
    for _ in range(20):
        nearest: Indexes = np.argmin(_squared_distances(rows, centres), axis=1)
        centres = np.array(
            [
                rows[nearest == at].mean(axis=0) if np.any(nearest == at) else centres[at]
                for at in range(count)
            ]
        )
    return nearest


def _squared_distances(rows: Matrix, centres: Matrix) -> Matrix:
    apart: Matrix = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * rows @ centres.T
    return np.maximum(apart, 0.0)
