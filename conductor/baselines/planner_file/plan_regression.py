"""Finds the questions of a file on which the same plans are likely right as on a new one.

For plans that were tried on all questions. A ridge regression over the words weighs those by which kinds of
questions differ, where the nearest questions are often near by words that do not matter. What it expects of a
plan leans to the plan's mean, in favour of plans that suit many kinds; so it only places a question, and
plans are compared by what they came to on the questions nearest to that place. Pure; vectors are rows of
length 1.
"""

from __future__ import annotations

import numpy as np

from conductor.baselines.learning.vectors import Matrix
from conductor.baselines.planner_file.plan_choice import Neighbour
from conductor.baselines.planner_file.planner_file import PlannerFile

_RIDGE = 0.1
"""How little an answer is trusted. Of .03, .1 and .3 the best on the orchard, by a hair."""

_SPREAD = 0.02
"""Added to the variance of what is expected of a plan, or one that is never right would decide alone."""

_SAME = 1 - 1e-6
"""How similar a question is to itself at least."""


def neighbours_by_plans(file: PlannerFile, vector: Matrix, questions: Matrix) -> tuple[Neighbour, ...]:
    """The file's nearest questions by how likely each plan is right, nearest first, with how similar their
    words are; none that has nothing in common, and only one for the same words that a person gave a plan.
    `vector` is one row, `questions` has one for each question.
    """
    right = np.zeros((len(file.plans), len(file.questions)))
    for at, question in enumerate(file.questions):
        right[list(question.right), at] = 1
    similarities = (questions @ vector.T).ravel()
    for same in np.flatnonzero(similarities > _SAME):
        if file.questions[same].by_hand is not None:
            return (Neighbour(int(same), 1.0),)
    expected, weights = _regression(right, questions)
    new = right.mean(axis=1) + weights @ _alike(similarities)
    variance = ((right - expected) ** 2).mean(axis=1) + _SPREAD
    apart = (expected.T - np.clip(new, 0, 1)) ** 2 @ (1 / variance)
    apart[similarities <= np.finfo(float).eps] = np.inf
    order = np.argsort(apart, kind="stable")[: file.neighbours]
    return tuple(Neighbour(int(at), float(similarities[at])) for at in order if apart[at] < np.inf)


def leave_one_out(right: Matrix, questions: Matrix) -> Matrix:
    """For each plan, a row of `right`, how likely it is right on each question by what it did on others."""
    return _regression(right, questions)[0]


def _regression(right: Matrix, questions: Matrix) -> tuple[Matrix, Matrix]:
    """What is expected of each plan on each question by the others, and by how much each question counts."""
    inverse = np.linalg.inv(_alike(questions @ questions.T) + _RIDGE * np.eye(len(questions)))
    weights = (right - right.mean(axis=1, keepdims=True)) @ inverse
    return np.clip(right - weights / np.diag(inverse), 0, 1), weights


def _alike(similarities: Matrix) -> Matrix:
    """A kernel in which pairs of words count, too."""
    squared: Matrix = ((1 + similarities) / 2) ** 2
    return squared
