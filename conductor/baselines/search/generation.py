"""A generation of a search: which plans go on to more questions, and which children are tried. Pure.

Successive halving over questions: a child answers the question that it is for, then those nearest to it,
and goes on to more of them where it beats the plan that was the best there, on the same questions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from conductor.baselines.learning.vectors import Indexes, Matrix, Vector
from conductor.baselines.planner_file.plan_choice import leave_one_out
from conductor.baselines.planner_file.planner_file import TriedPlan, TriedQuestion
from conductor.baselines.search.instructions import Instructions
from conductor.baselines.search.moves import LESS, Making, child
from conductor.workflow.model import Workflow

_LESS = 0.005
"""How much a question is worth another plan whose best one is right: a cheaper one may be."""

_ALIKE = 0.1
"""Plans whose worth differs by less are as good."""


@dataclass(frozen=True)
class Archive:
    """What a search knows: which plan was right on which question, and how well a question is solved.

    As well as a planner would solve it that learnt from all the others: plans that were lucky there, or that
    know half of all questions, do not solve it. `rows` are the questions' vectors, of length 1; `most`
    neighbours count.
    """

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


RUNGS = (1, 3, 8, 18)
"""On how many of the nearest questions a plan is tried, one after the other."""

_WINS = {1: 1, 3: 1, 8: 2}
"""By how many questions more it is to be right than the best plan there before it goes on."""

_ANYWHERE = 0.03
"""How much any question counts as one that is near."""

_ALONE = 0.4
"""How often a parent is a worker alone."""

_LEAST_GAIN = 0.5
"""Of how many questions a plan is to solve more in the end to be worth trying on all."""

_CHEAPER = 0.9
"""A plan that loses nowhere goes on as well where it takes less than this share of tokens."""


@dataclass(frozen=True)
class PlanToTry:
    """A plan to try on these `questions`, None: on all. `origin`: whose plan it is, or by which moves."""

    workflow: Workflow
    origin: str
    questions: tuple[int, ...] | None


def promoted(archive: Archive, *, most: int) -> tuple[PlanToTry, ...]:
    """The plans that go on to more questions, those first that got furthest, then those whose question is
    solved least well.
    """
    best = archive.worth.max(axis=0)
    ranked: list[tuple[int, float, int, tuple[int, ...]]] = []
    for plan in np.flatnonzero(archive.right.any(axis=1) & ~archive.tried.all(axis=1)):
        if archive.plans[plan].workflow is None:
            continue
        target = int(np.argmax(archive.right[plan] * (1 - best)))
        order = archive.order[target]
        answered = int(np.argmin(archive.tried[plan, order]))
        rung = max((each for each in RUNGS if each <= answered), default=0)
        if rung == RUNGS[-1] or (rung and not _beats(archive, int(plan), order[:rung])):
            continue
        more = next(each for each in RUNGS if each > rung)
        ranked.append((-rung, float(best[target]), int(plan), tuple(map(int, order[:more]))))
    return tuple(
        _candidate(archive.plans[plan], questions) for _, _, plan, questions in sorted(ranked)[:most]
    )


def _candidate(plan: TriedPlan, questions: tuple[int, ...] | None) -> PlanToTry:
    assert plan.workflow is not None, "only plans that are written are tried"
    return PlanToTry(plan.workflow, plan.origin, questions)


def _beats(archive: Archive, plan: int, questions: Sequence[int]) -> bool:
    """Whether the plan is better, on these questions, than the other one that solves the first one best."""
    others = archive.worth[:, questions[0]].copy()
    others[plan] = -1
    best = int(np.argmax(others))
    own, its = archive.right[plan, questions], archive.right[best, questions]
    wins, losses = int((own > its).sum()), int((own < its).sum())
    if not losses and archive.tokens[plan] < _CHEAPER * archive.tokens[best]:
        return True
    return wins - losses >= _WINS[len(questions)]


def children(
    archive: Archive,
    instructions: Instructions,
    *,
    workers: Sequence[str],
    max_steps: int,
    count: int,
    rng: random.Random,
) -> tuple[PlanToTry, ...]:
    """So many new plans, fewer where no other was found, each for a question that is not solved well.

    Parents are the best plans of questions near to it or of any, and workers alone.
    """
    alone = {
        plan.workflow.steps[0].worker: plan.workflow
        for at, plan in reversed([*enumerate(archive.plans)])
        if plan.workflow is not None and len(plan.workflow) == 1 and archive.tried[at].all()
    }
    elite = {
        at: workflow
        for at, plan in enumerate(archive.elite)
        if plan >= 0 and (workflow := archive.plans[plan].workflow) is not None and len(workflow) <= max_steps
    }
    if not elite:
        return ()
    places = {plan.workflow: at for at, plan in enumerate(archive.plans)}
    every, best = list(elite.values()), list(elite)
    worth = archive.worth[archive.elite[best], best] ** 2 + _ANYWHERE
    new_plans: dict[Workflow, PlanToTry] = {}
    for target in rng.choices(range(len(archive.questions)), list(archive.unsolved), k=count):
        near = (archive.weights[target, best] + _ANYWHERE) * worth
        # Less of what is right may do as well.
        is_solved = bool(archive.is_solved[target]) and target in elite
        if is_solved:
            parent = elite[target]
        elif alone and rng.random() < _ALONE:
            parent = alone[instructions.worker(archive.questions[target].question, [*alone], rng)]
        else:
            parent = rng.choices(every, list(near))[0]
        others = (*rng.choices(every, list(near), k=2), rng.choice(every))
        making = Making(
            archive.questions[target].question, tuple(workers), max_steps, instructions, others, rng
        )
        new = child(parent, making, LESS if is_solved else ())
        first = tuple(map(int, archive.order[target, : RUNGS[0]]))
        if new is None or new[0] in new_plans:
            continue
        at = places.get(new[0])
        if at is None or not archive.tried[at, first].all():
            new_plans[new[0]] = PlanToTry(*new, questions=first)
    return tuple(new_plans.values())


def finalists(archive: Archive, *, most: int) -> tuple[PlanToTry, ...]:
    """The plans to try on all questions: one after another the plan that adds most to what is solved."""
    solved = archive.worth[archive.tried.all(axis=1)].max(axis=0, initial=0.0)
    chosen: list[int] = []
    while len(chosen) < most:
        gains = np.maximum(archive.worth - solved, 0).sum(axis=1)
        gains[[at for at, plan in enumerate(archive.plans) if plan.workflow is None]] = 0
        best = int(np.argmax(gains))
        if gains[best] < _LEAST_GAIN:
            break
        chosen.append(best)
        solved = np.maximum(solved, archive.worth[best])
    return tuple(_candidate(archive.plans[at], None) for at in chosen if not archive.tried[at].all())
