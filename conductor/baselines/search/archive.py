"""The archive of a search stores which plan was right on which question. Pure.

A question is solved as well as a planner would solve it that learnt from all the others: plans that were
lucky there, or that know half of all questions, do not solve it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from conductor.baselines.learning.vectors import Indexes, Matrix, Vector
from conductor.baselines.planner_file.plan_regression import leave_one_out
from conductor.baselines.planner_file.planner_file import TriedPlan, TriedQuestion

_LESS = 0.005
"""How much a question is worth another plan whose best one is right: a cheaper one may be."""

_ALIKE = 0.1
"""Plans whose worth differs by less are as good."""


@dataclass(frozen=True)
class Archive:
    """`rows` are the questions' vectors, of length 1; `most` neighbours count."""

    plans: tuple[TriedPlan, ...]
    questions: tuple[TriedQuestion, ...]
    rows: Matrix
    most: int = 8

    @cached_property
    def right(self) -> Matrix:
        """A row for each plan: 1 where it was right."""
        return self._marks([question.right for question in self.questions])

    @cached_property
    def tried(self) -> Matrix:
        """A row for each plan: 1 where it gave an answer."""
        return self._marks([(*question.right, *question.wrong) for question in self.questions])

    def _marks(self, plans: Sequence[Sequence[int]]) -> Matrix:
        marks = np.zeros((len(self.plans), len(self.questions)))
        for at, of_question in enumerate(plans):
            marks[list(of_question), at] = 1
        return marks

    @cached_property
    def similar(self) -> Matrix:
        """Of each two questions; 1 of a question and itself."""
        similar: Matrix = self.rows @ self.rows.T
        np.fill_diagonal(similar, 1.0)
        return similar

    @cached_property
    def order(self) -> Indexes:
        """For each question all of them, itself first, then the nearest."""
        return np.argsort(-self.similar - np.eye(len(self.rows)), axis=1, kind="stable")

    @cached_property
    def weights(self) -> Matrix:
        """For each question how much each one counts as its neighbour, itself among them."""
        weights = np.zeros_like(self.similar)
        np.put_along_axis(weights, self.order[:, : self.most], 1, axis=1)
        return weights * np.maximum(self.similar, 0)

    @cached_property
    def worth(self) -> Matrix:
        """For each plan and question how likely it is right there, by what it came to on the others."""
        return leave_one_out(self.right, self.rows)

    @cached_property
    def is_solved(self) -> NDArray[np.bool_]:
        """Whether the best plan there is right on the question."""
        best = self.worth.argmax(axis=0)
        is_solved: NDArray[np.bool_] = self.right[best, np.arange(len(self.questions))] > 0
        return is_solved

    @cached_property
    def unsolved(self) -> Vector:
        """How much each question is worth another plan."""
        unsolved: Vector = np.where(self.is_solved, _LESS, (1 - self.worth.max(axis=0)) ** 2)
        return unsolved

    @cached_property
    def elite(self) -> Indexes:
        """For each question of the plans that are right there the best one, the cheapest of those as good; -1
        if none is.
        """
        worth = np.where(self.right > 0, self.worth, -1.0)
        good = (worth >= worth.max(axis=0) - _ALIKE) & (self.right > 0)
        cheapest = np.where(good, self.tokens[:, None], np.inf).argmin(axis=0)
        return np.where(good.any(axis=0), cheapest, -1)

    @cached_property
    def tokens(self) -> Vector:
        """For each plan what an answer takes; infinite if that is unknown."""
        return np.array([np.inf if plan.tokens is None else plan.tokens for plan in self.plans])
