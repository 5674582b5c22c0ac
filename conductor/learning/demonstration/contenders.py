"""What a Conductor has to beat on the same questions: each worker alone, a perfect router, Mixture-of-Agents.

Knows workflows and outcomes; knows no model. The perfect router is no planner: it is right wherever any
worker alone is, which no choice of one worker for a question can exceed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from conductor.baselines.ensembles import mixture_of_agents, single
from conductor.evaluation.statistics import Interval, paired_difference, wilson
from conductor.learning.demonstration.exam import Exam, Result, right_by_question
from conductor.learning.reward import Judge, Outcome
from conductor.values.messages import Sampling, Value

AGGREGATOR = "generalist"
LAYERS = 3
"""Of the usual Mixture-of-Agents: two of all workers, and the one that aggregates."""

ROUTER = "perfect router"
MIXTURE = "Mixture-of-Agents, 3 layers"
ORACLE = "perfect planner"
CONDUCTOR = "this Conductor"


class Row(Value):
    """A planner's line of the table. `ahead` is by how much the Conductor's accuracy exceeds its own, on the
    same questions, and `between` the 95 % interval of that; None for the Conductor itself.
    """

    planner: str
    accuracy: float
    interval: tuple[float, float]
    steps: float | None
    tokens: float | None
    ahead: float | None = None
    between: tuple[float, float] | None = None


async def contenders(exam: Exam, judge: Judge, names: Sequence[str]) -> Mapping[str, list[Outcome]]:
    """The outcomes of each on the exam's questions, with the whole pool."""
    count = len(exam.questions)
    alone = {name: await judge.run([single(name, Sampling())] * count, exam.items) for name in names}
    mixture = mixture_of_agents(names, AGGREGATOR, Sampling(), layers=LAYERS)
    return {
        **{f"{name} alone": outcomes for name, outcomes in alone.items()},
        ROUTER: [_routed(outcomes) for outcomes in zip(*alone.values(), strict=True)],
        MIXTURE: await judge.run([mixture] * count, exam.items),
        ORACLE: await judge.run([question.oracle for question in exam.questions], exam.items),
    }


def _routed(outcomes: Sequence[Outcome]) -> Outcome:
    """The right one of one-step outcomes, if any is: the one of fewest tokens."""
    right = [outcome for outcome in outcomes if outcome.right]
    return min(right or outcomes, key=lambda outcome: outcome.tokens or 0)


def reachable(exam: Exam, others: Mapping[str, Sequence[Outcome]]) -> float:
    """The share of questions that their own pools can answer: by a perfect plan, or by one of their workers.

    `others` are the outcomes on the same questions with the whole pool.
    """
    found = 0
    for at, (question, pool) in enumerate(zip(exam.questions, exam.pools, strict=True)):
        whole = all(step.worker in pool for step in question.oracle.steps)
        found += whole or any(others[f"{name} alone"][at].right for name in pool)
    return found / len(exam.questions)


def table_of(exam: Exam, result: Result, others: Mapping[str, Sequence[Outcome]]) -> list[Row]:
    """The Conductor's row, with the tokens of its planning, and those of the others, the best first."""
    mine = right_by_question(exam, result.outcomes)
    rows = []
    for name, outcomes in others.items():
        paired = paired_difference(mine, right_by_question(exam, outcomes))
        assert paired is not None
        rows.append(
            _row(name, outcomes, [outcome.tokens for outcome in outcomes]).model_copy(
                update={"ahead": paired.difference, "between": _pair(paired.interval)}
            )
        )
    tokens = [
        None if outcome.tokens is None else outcome.tokens + planned
        for outcome, planned in zip(result.outcomes, result.planning, strict=True)
    ]
    rows.append(_row(CONDUCTOR, result.outcomes, tokens))
    return sorted(rows, key=lambda row: -row.accuracy)


def _row(name: str, outcomes: Sequence[Outcome], tokens: Sequence[int | None]) -> Row:
    right = sum(outcome.right for outcome in outcomes)
    interval = wilson(right, len(outcomes))
    assert interval is not None
    known = [each for each in tokens if each is not None]
    steps = [outcome.steps for outcome in outcomes if outcome.valid]
    return Row(
        planner=name,
        accuracy=right / len(outcomes),
        interval=_pair(interval),
        steps=fmean(steps) if steps else None,
        tokens=fmean(known) if len(known) == len(tokens) else None,
    )


def _pair(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high
