"""Compares the results of a trained Conductor with what it has to reach. Pure.

Knows results as `training.py` writes them; measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from conductor.learning.demonstration.contenders import CONDUCTOR, MIXTURE, ROUTER, START, Contender
from conductor.values.messages import Value

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
