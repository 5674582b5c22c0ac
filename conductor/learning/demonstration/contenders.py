"""The contenders of a Conductor on the same questions: each worker alone, a router, Mixture-of-Agents.

Knows workflows and outcomes; knows no model. The perfect router is no planner: it is right wherever any
worker alone is, which no choice of one worker for a question can exceed. Neither is the best constant plan of
a family: it is given the family of each question, and has the one plan that was right most often on the
family's validation questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from conductor.baselines.ensembles import mixture_of_agents, single
from conductor.evaluation.statistics import Interval, paired_difference, wilson, with_holm
from conductor.learning.demonstration.exam import Exam, Result, exam_item, right_by_question
from conductor.learning.reward import Judge, Outcome
from conductor.orchard import FAMILIES, Family
from conductor.values.messages import Sampling, Value
from conductor.workflow.model import Workflow

AGGREGATOR = "generalist"
LAYERS = 3
"""Of the usual Mixture-of-Agents: two of all workers, and the one that aggregates."""

ROUTER = "perfect router"
MIXTURE = "Mixture-of-Agents, 3 layers"
ORACLE = "perfect planner"
CONDUCTOR = "this Conductor"
START = "the same before GRPO"
CONSTANT = "best constant plan of each family"

_VALIDATION, _VALIDATION_SEED = 180, 6


class Contender(Value):
    """A planner's line of the table. `ahead` is by how much the Conductor's accuracy exceeds its own, on the
    same questions, `between` the 95 % interval of that, and `p` its exact p by Holm's procedure over all of
    the table; None for the Conductor itself, and `p` of a table that an earlier version wrote.
    """

    planner: str
    accuracy: float
    interval: tuple[float, float]
    steps: float | None
    tokens: float | None
    ahead: float | None = None
    between: tuple[float, float] | None = None
    p: float | None = None


async def contenders(exam: Exam, judge: Judge, names: Sequence[str]) -> Mapping[str, list[Outcome]]:
    """The outcomes of each on the exam's questions, with the whole pool."""
    count, best = len(exam.questions), await constant_plans(judge, names)
    alone = {name: await judge.run([single(name, Sampling())] * count, exam.items) for name in names}
    mixture = mixture_of_agents(names, AGGREGATOR, Sampling(), layers=LAYERS)
    return {
        **{f"{name} alone": outcomes for name, outcomes in alone.items()},
        ROUTER: [_routed(outcomes) for outcomes in zip(*alone.values(), strict=True)],
        MIXTURE: await judge.run([mixture] * count, exam.items),
        CONSTANT: await judge.run([best[question.family] for question in exam.questions], exam.items),
        ORACLE: await judge.run([question.oracle for question in exam.questions], exam.items),
    }


async def constant_plans(judge: Judge, names: Sequence[str]) -> Mapping[Family, Workflow]:
    """The plan for each family that is right on most of its validation questions, of the perfect plans for
    those and one step by each worker.
    """
    validation = Exam.of(_VALIDATION, names, seed=_VALIDATION_SEED, split="validation")
    best = {}
    for family in FAMILIES:
        members = [question for question in validation.questions if question.family == family]
        plans = dict.fromkeys([question.oracle for question in members])
        right = {}
        for plan in (*plans, *(single(name, Sampling()) for name in names)):
            outcomes = await judge.run([plan] * len(members), [exam_item(question) for question in members])
            right[plan] = sum(outcome.right for outcome in outcomes)
        best[family] = max(right, key=right.__getitem__)
    return best


def _routed(outcomes: Sequence[Outcome]) -> Outcome:
    """The right one of one-step outcomes, if any is: the one of fewest tokens."""
    right = [outcome for outcome in outcomes if outcome.right]
    return min(right or outcomes, key=lambda outcome: outcome.tokens or 0)


def reachable(exam: Exam, others: Mapping[str, Sequence[Outcome]]) -> float:
    """The share of questions that their own pools can answer: by a perfect plan, or by one of their workers.

    `others` are the outcomes on the same questions with the whole pool.
    """
    count = 0
    for at, (question, pool) in enumerate(zip(exam.questions, exam.pools, strict=True)):
        whole = all(step.worker in pool for step in question.oracle.steps)
        count += whole or any(others[f"{name} alone"][at].right for name in pool)
    return count / len(exam.questions)


def contender_rows(
    exam: Exam, result: Result, start: Result, others: Mapping[str, Sequence[Outcome]]
) -> list[Contender]:
    """The rows of the Conductor and of its `start`, with the tokens of their planning, and those of the
    others, the best first.
    """
    mine = right_by_question(exam, result.outcomes)
    plain = {name: [outcome.tokens for outcome in outcomes] for name, outcomes in others.items()}
    compared = {START: (start.outcomes, _with_planning(start))}
    compared |= {name: (tuple(outcomes), plain[name]) for name, outcomes in others.items()}
    rows = [_row(CONDUCTOR, result.outcomes, _with_planning(result))]
    differences = with_holm(
        [paired_difference(mine, right_by_question(exam, outcomes)) for outcomes, _ in compared.values()]
    )
    for (name, (outcomes, tokens)), paired in zip(compared.items(), differences, strict=True):
        assert paired is not None
        ahead = {"ahead": paired.difference, "between": _pair(paired.interval), "p": paired.read_p}
        rows.append(_row(name, outcomes, tokens).model_copy(update=ahead))
    return sorted(rows, key=lambda row: -row.accuracy)


def _with_planning(result: Result) -> list[int | None]:
    return [
        None if outcome.tokens is None else outcome.tokens + planned
        for outcome, planned in zip(result.outcomes, result.planning, strict=True)
    ]


def _row(name: str, outcomes: Sequence[Outcome], tokens: Sequence[int | None]) -> Contender:
    right = sum(outcome.right for outcome in outcomes)
    interval = wilson(right, len(outcomes))
    assert interval is not None
    counts = [each for each in tokens if each is not None]
    steps = [outcome.steps for outcome in outcomes if outcome.valid]
    return Contender(
        planner=name,
        accuracy=right / len(outcomes),
        interval=_pair(interval),
        steps=fmean(steps) if steps else None,
        tokens=fmean(counts) if len(counts) == len(tokens) else None,
    )


def _pair(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


# -- what a trained Conductor has to reach ---------------------------------------------------------

SPLITS = {
    "wordings": "held-out wordings",
    "combinations": "held-out combinations",
    "shuffled": "pool in any order",
    "subsets": "absent workers",
}
"""What else the likeliest plan is measured on: the fields of `Results`, and their names for people."""


class Results(Value):
    """What a finished run measured, on questions that it never saw.

    Accuracies are shares from 0 to 1. `sampled_before` and `sampled` are those of plans drawn at temperature
    1, before GRPO and after it, and `cooled` those of the start's plans drawn at lower ones, each with its
    temperature; all others of the likeliest plan. `one_step` is the share of plans with one step where the
    question needs more. `reachable` is the share of the questions that the workers of a random subset of the
    pool can answer at all, and `subsets` the accuracy there. `before` has the accuracies before GRPO by the
    names of the fields; a run of an earlier version has none.
    """

    rows: tuple[Contender, ...]
    sampled_before: float
    sampled: float
    greedy_before: float
    one_step: float | None
    combinations: float
    wordings: float
    shuffled: float
    subsets: float
    reachable: float
    before: Mapping[str, float] = {}
    cooled: tuple[tuple[float, float], ...] = ()
    calls: int
    saved: int
    seconds: float

    def row(self, planner: str) -> Contender:
        return next(row for row in self.rows if row.planner == planner)

    @property
    def best_single(self) -> Contender:
        """The row of the worker that is best alone."""
        alone: Sequence[Contender] = [row for row in self.rows if row.planner.endswith(" alone")]
        return max(alone, key=lambda row: row.accuracy)


WEAK = 0.70
"""A start whose likeliest plans are right less often leaves GRPO something to win: those of the strong start
are right before it.
"""


class Check(Value):
    """Something measured, and the bound that it has to keep: not below it, or not above it (`at_most`). What
    could not be measured (None) has not kept it.
    """

    what: str
    measured: float | None
    bound: float
    at_most: bool = False

    @property
    def passed(self) -> bool:
        if self.measured is None:
            return False
        return self.measured <= self.bound if self.at_most else self.measured >= self.bound


def checks(results: Results) -> Iterator[Check]:
    """All that is required of one seed."""
    mine, single, mixture = results.row(CONDUCTOR), results.best_single, results.row(MIXTURE)
    assert single.ahead is not None
    assert single.between is not None
    yield Check(what="right, likeliest plan", measured=mine.accuracy, bound=0.90)
    yield Check(what="ahead of the best single worker", measured=single.ahead, bound=0.25)
    yield Check(what="ahead of it at least, with 95 %", measured=single.between[0], bound=0.10)
    yield Check(what="ahead of the perfect router", measured=results.row(ROUTER).ahead, bound=0.10)
    yield Check(what="ahead of Mixture-of-Agents", measured=mixture.ahead, bound=0.0)
    share = None if mine.tokens is None or not mixture.tokens else mine.tokens / mixture.tokens
    yield Check(what="share of its tokens", measured=share, bound=0.10, at_most=True)
    yield Check(what="one step where more are needed", measured=results.one_step, bound=0.05, at_most=True)
    gain = next((row.ahead for row in results.rows if row.planner == START), None)
    yield Check(
        what="likeliest plan, won by GRPO", measured=gain, bound=0.30 if results.greedy_before < WEAK else 0.0
    )
    yield Check(what="held-out combinations", measured=results.combinations, bound=0.90)
    yield Check(what="held-out wordings", measured=results.wordings, bound=0.75)
    yield Check(what="pool in any order", measured=results.shuffled, bound=0.95)
    yield Check(
        what="absent workers, of what is reachable",
        measured=results.subsets / results.reachable,
        bound=0.90,
    )
