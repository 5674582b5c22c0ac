"""Chooses for a question the tried plan that did best on the questions nearest to it.

Pure; vectors are rows of length 1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from conductor.baselines.learning.vectors import Matrix
from conductor.baselines.planner_file.planner_file import PlannerFile

PRIOR = 1.5
"""How much similarity a plan's share of right answers on all questions weighs like."""

_BY_HAND = 3.0
"""By how many times more a plan counts that a person gave a question."""

_ALIKE = 0.03
"""Plans whose shares differ by less than that are as good: the one of fewer tokens is taken."""


@dataclass(frozen=True)
class Neighbour:
    """A question that was tried, by its position, and how similar it is: above 0, at most 1."""

    question: int
    similarity: float


@dataclass(frozen=True)
class PlanChoice:
    """A plan by its position, and on how many of the neighbours that tried it it was right."""

    plan: int
    right: int
    tried: int


def neighbours(vector: Matrix, questions: Matrix, *, most: int) -> tuple[Neighbour, ...]:
    """The `most` questions that are most similar to that of `vector` (one row), nearest first; none that has
    nothing in common with it.
    """
    similarities = (questions @ vector.T).ravel()
    order = np.argsort(-similarities, kind="stable")[:most]
    return tuple(
        Neighbour(int(at), float(similarities[at])) for at in order if similarities[at] > np.finfo(float).eps
    )


def choose(
    file: PlannerFile,
    near: Sequence[Neighbour],
    plans: Collection[int] | None = None,
    *,
    prior: float = PRIOR,
) -> PlanChoice | None:
    """The plan, of `plans` (None: of all), that was right most often on these neighbours, weighted by how
    similar they are; of plans that are as good the one of fewest tokens. None if none was tried there.
    """
    rates = file.rates()
    right: dict[int, list[float]] = {}
    tried: dict[int, list[float]] = {}
    for each in near:
        question = file.questions[each.question]
        for plan in (*question.right, *question.wrong):
            tried.setdefault(plan, []).append(each.similarity)
        for plan in question.right:
            right.setdefault(plan, []).append(each.similarity)
        if question.by_hand is not None:
            right[question.by_hand].append(_BY_HAND * each.similarity)
    allowed = [plan for plan in tried if plans is None or plan in plans]
    if not allowed:
        return None
    # A plan that a neighbour did not try counts as not right there, or one lucky answer would win.
    hands = [each.similarity for each in near if file.questions[each.question].by_hand is not None]
    whole = sum(each.similarity for each in near) + _BY_HAND * sum(hands) + prior
    worth = {plan: (sum(right.get(plan, ())) + prior * rates[plan]) / whole for plan in allowed}
    best = max(worth.values())
    good = [plan for plan in allowed if worth[plan] > best - _ALIKE]

    def cost(plan: int) -> tuple[float, int, float]:
        tokens, workflow = file.plans[plan].tokens, file.plans[plan].workflow
        length = 0 if workflow is None else len(workflow)
        return np.inf if tokens is None else tokens, length, -worth[plan]

    chosen = min(good, key=cost)
    counts = [chosen in file.questions[each.question].right for each in near]
    return PlanChoice(chosen, sum(counts), len(tried[chosen]))


def best_right(file: PlannerFile, question: int, plans: Collection[int]) -> int | None:
    """Of these plans the one that a person gave that question, else the one that was right there and stands
    best on all: the cheapest of those that are as good. None if none of them was right.
    """
    if (by_hand := file.questions[question].by_hand) in plans:
        return by_hand
    right = [plan for plan in file.questions[question].right if plan in plans]
    written = [plan for plan in right if file.plans[plan].workflow is not None]
    choice = choose(file, [Neighbour(question, 1.0)], written)
    return None if choice is None else choice.plan


# -- which questions are like a new one for the plans of a file ------------------------------------
#
# For plans that were tried on all questions: those on which the same plans are likely right. A ridge
# regression over the words weighs those by which kinds of questions differ, where the nearest questions are
# often near by words that do not matter. What it expects of a plan leans to the plan's mean, in favour of
# plans that suit many kinds; so it only places a question, and plans are compared by what they came to on the
# questions nearest to that place.

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
