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
