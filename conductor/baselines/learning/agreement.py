"""Smoothie over a set of questions: which worker the others agree with, learnt from answers without labels.

Source: Guha et al., "Smoothie: Label Free Language Model Routing" (2024; HazyResearch/smoothie,
`src/run_smoothie.py`): one set of weights for all questions (`sample_independent`), or one for each question
from its nearest neighbours among those of the set, itself included (`sample_dependent`). The worker with the
largest weight answers. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from conductor.baselines.learning.vectors import Matrix
from conductor.values.messages import Value
from conductor.workers.computed.select import smoothie_weights

FARTHEST = 2.0
"""The squared distance between two answers without a word in common."""
_DIGITS = 6


class AgreementParameters(Value):
    """For each question of the set its vector, by place where it is not 0, and the squared distances between
    the workers' answers to it.
    """

    questions: tuple[Mapping[int, float], ...]
    apart: tuple[tuple[tuple[float, ...], ...], ...]


def fit(
    questions: Matrix, responses: Matrix, declined: Sequence[bool], *, workers: int
) -> AgreementParameters:
    """`questions` has a row for each question, `responses` one for each worker's answer to it, in order.

    Those that are `declined` agree with nothing, whatever their words have in common.
    """
    answers = responses.reshape(len(questions), workers, -1)
    apart = ((answers[:, :, None] - answers[:, None]) ** 2).sum(axis=3)
    none = np.array(declined).reshape(len(questions), workers)
    apart[(none[:, :, None] | none[:, None]) & ~np.eye(workers, dtype=bool)] = FARTHEST
    return AgreementParameters(
        questions=tuple(
            {int(at): round(float(row[at]), _DIGITS) for at in np.flatnonzero(row)} for row in questions
        ),
        apart=tuple(
            tuple(tuple(round(float(each), _DIGITS) for each in row) for row in square) for square in apart
        ),
    )


def weights(
    parameters: AgreementParameters, question: Matrix, offered: Sequence[int], *, neighbours: int | None
) -> tuple[float, ...]:
    """The weights of the offered workers for a question, one row: by its nearest neighbours, or by all."""
    apart = np.array(parameters.apart)
    if neighbours is not None:
        near = [
            sum(float(question[0, at]) * value for at, value in row.items()) for row in parameters.questions
        ]
        apart = apart[np.argsort([-each for each in near], kind="stable")[:neighbours]]
    mean = apart.mean(axis=0)[np.ix_(offered, offered)]
    return smoothie_weights(mean.tolist())
