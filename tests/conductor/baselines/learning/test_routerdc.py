"""RouterDC's losses are the reference's on cases computed by hand, and what it learns routes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from conductor.baselines.learning.routerdc import (
    RouterDcParameters,
    _Model,
    drawn_neighbours,
    fit,
    k_means,
    sample_llm_loss,
    sample_sample_loss,
    similarities,
)
from conductor.baselines.learning.vectors import Matrix


def share(first: float, *others: float) -> float:
    return -math.log(math.exp(first) / sum(map(math.exp, (first, *others))))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # One worker is right: it is compared with the two wrong ones; they are no positives.
        ([1, 0, 0], share(0.5, 0.1, -0.3)),
        # Two are right: each is a positive, and neither is a negative of the other.
        ([1, 0, 1], share(0.5, 0.1) + share(-0.3, 0.1)),
        # A score of 0.5 is right enough to be pulled near, and not to be spared as a negative.
        ([1, 0.5, 0], share(0.5, -0.3, 0.1) + share(0.1, -0.3, 0.1)),
        ([0, 0, 0], 0.0),
        ([1, 1, 1], 0.0),
    ],
)
def test_the_sample_llm_loss_by_hand(scores: list[float], expected: float) -> None:
    loss, _ = sample_llm_loss(np.array([[0.5, 0.1, -0.3]]), np.array([scores], dtype=float))
    assert loss == pytest.approx(expected)


def test_the_sample_llm_loss_takes_three_of_each_and_a_mean_over_questions() -> None:
    similarity = np.array([[0.4, 0.3, 0.2, 0.1, 0.0], [0.4, 0.3, 0.2, 0.1, 0.0]])
    scores = np.array([[1.0, 0.9, 0.8, 0.7, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]])
    # The fourth of the first question is right, but only three are pulled near; of its three worst ones
    # (the fifth, fourth and third) the two that are right are left out.
    first = share(0.4, 0.0) + share(0.3, 0.0) + share(0.2, 0.0)
    second = share(0.0, 0.4, 0.3, 0.2)
    loss, _ = sample_llm_loss(similarity, scores)
    assert loss == pytest.approx((first + second) / 2)


def test_the_sample_sample_loss_by_hand() -> None:
    similarity = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, -0.4], [0.2, -0.4, 1.0]])
    loss, _ = sample_sample_loss(similarity, np.array([[1, 2], [0, 2]]), np.array([0, 1]))
    assert loss == pytest.approx((share(0.6, 0.2) + share(0.6, -0.4)) / 2)
    nothing = np.empty((0, 4), dtype=np.intp)
    assert sample_sample_loss(similarity, nothing, nothing[:, 0])[0] == 0


def test_a_question_is_compared_with_one_of_its_cluster_and_others_of_others() -> None:
    clusters = np.array([0, 0, 1, 1, 1, 2])
    compared, of = drawn_neighbours(clusters, np.random.default_rng(1), negatives=3)
    assert list(of) == [0, 1, 2, 3, 4, 5]
    for question, (positive, *negatives) in zip(of, compared, strict=True):
        assert clusters[positive] == clusters[question]
        assert all(clusters[each] != clusters[question] for each in negatives)
        assert len(set(negatives)) == 3
    # Too few others: left out, as there is nothing to push away from.
    _, of = drawn_neighbours(np.array([0, 0, 0, 0, 1]), np.random.default_rng(1), negatives=3)
    assert list(of) == [4]


@pytest.mark.slow
def test_the_gradients_are_those_of_the_losses() -> None:
    draw = np.random.default_rng(3)
    questions, scores = draw.normal(size=(6, 5)), draw.integers(0, 2, (6, 3)).astype(float)
    clusters = np.array([0, 0, 1, 1, 2, 2])
    model = _Model(draw.normal(size=(4, 5)), draw.normal(size=(3, 4)))

    def loss() -> float:
        hidden = questions @ model.projection.T
        near = hidden / np.linalg.norm(hidden, axis=1, keepdims=True)
        vectors = model.workers / np.linalg.norm(model.workers, axis=1, keepdims=True)
        pairs = drawn_neighbours(clusters, np.random.default_rng(9))
        return sample_llm_loss(near @ vectors.T, scores)[0] + sample_sample_loss(near @ near.T, *pairs)[0]

    gradients = model.gradients(questions, scores, clusters, np.random.default_rng(9))
    for parameter, gradient in zip((model.projection, model.workers), gradients, strict=True):
        numeric = np.zeros_like(parameter)
        for at in np.ndindex(parameter.shape):
            parameter[at] += 1e-6
            above = loss()
            parameter[at] -= 2e-6
            numeric[at] = (above - loss()) / 2e-6
            parameter[at] += 1e-6
        assert gradient == pytest.approx(numeric, abs=1e-6)


def two_kinds() -> tuple[Matrix, Matrix]:
    """Questions of two kinds with some noise; of each kind one worker knows the answers, a third none."""
    draw = np.random.default_rng(0)
    kinds = np.arange(24) % 2
    questions = np.eye(8)[kinds * 4] + draw.normal(0, 0.2, (24, 8))
    return questions, np.column_stack([kinds == 0, kinds == 1, kinds == 2]).astype(float)


@pytest.mark.thorough
@pytest.mark.slow
def test_it_learns_which_worker_knows_which_kind_of_question() -> None:
    questions, scores = two_kinds()
    parameters = fit(questions, scores, seed=0)
    assert parameters == fit(questions, scores, seed=0)
    for kind in (0, 1):
        near = similarities(parameters, np.eye(8)[[kind * 4]])
        assert int(np.argmax(near)) == kind
    read = RouterDcParameters.model_validate_json(parameters.model_dump_json())
    assert read == parameters


def test_clusters_are_rows_that_are_near_each_other() -> None:
    questions, _ = two_kinds()
    clusters = k_means(questions, 2, np.random.default_rng(0))
    assert len(set(clusters[::2])) == len(set(clusters[1::2])) == 1
    assert clusters[0] != clusters[1]
    assert list(k_means(np.zeros((3, 2)), 3, np.random.default_rng(0))) == [0, 0, 0]
