"""How likely each plan of a file is right on a question, by ridge regression over the questions. Pure.

For plans that were tried on all of them: it weighs the words by which kinds of questions differ, where the
nearest questions are often near by words that do not matter. Vectors are rows of length 1.
"""

from __future__ import annotations

import numpy as np

from conductor.baselines.learning.vectors import Matrix, Vector
from conductor.baselines.planner_file.planner_file import PlannerFile

_RIDGE = 0.1
"""How little an answer is trusted. Of .03, .1 and .3 the best on the orchard, by a hair."""

BY_HAND = 4.0
"""By how many times more a question counts whose plan a person chose."""


def likelihoods(file: PlannerFile, vector: Matrix, questions: Matrix) -> Vector:
    """For each plan; `vector` is one row, `questions` has one for each of the file's."""
    right = np.zeros((len(file.plans), len(file.questions)))
    doubt = np.full(len(file.questions), _RIDGE)
    for at, question in enumerate(file.questions):
        right[list(question.right) if question.by_hand is None else question.by_hand, at] = 1
        if question.by_hand is not None:
            doubt[at] /= BY_HAND
    mean = right.mean(axis=1, keepdims=True)
    alike = _alike(questions @ questions.T) + np.diag(doubt)
    fitted = np.linalg.solve(alike, (right - mean).T)
    likely: Vector = mean[:, 0] + (_alike(vector @ questions.T) @ fitted)[0]
    return likely


def left_out(right: Matrix, questions: Matrix) -> Matrix:
    """For each plan, a row of `right`, how likely it is right on each question by what it did on others."""
    alike = _alike(questions @ questions.T)
    smooth = alike @ np.linalg.inv(alike + _RIDGE * np.eye(len(alike)))
    mean = right.mean(axis=1, keepdims=True)
    fitted = mean + (right - mean) @ smooth.T
    likely: Matrix = np.clip(right - (right - fitted) / (1 - np.diag(smooth)), 0, 1)
    return likely


def _alike(similarities: Matrix) -> Matrix:
    """A kernel in which pairs of words count, too."""
    squared: Matrix = ((1 + similarities) / 2) ** 2
    return squared
