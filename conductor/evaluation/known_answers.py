"""Counts the answers with a verdict and compares planners on them; missing ones widen the bounds.

Knows items and repeats by number; knows neither cells nor pools. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from conductor.baselines.named import WORKER
from conductor.evaluation.statistics import (
    ALPHA,
    Bounds,
    PairedDifference,
    Rate,
    paired_bounds,
    paired_difference,
    rate,
)
from conductor.evaluation.statistics.bounds import sequential_difference

Answers = Mapping[int, Mapping[int, bool]]
"""Whether each answer is right, by item and repeat; without those for which that is unknown."""

Shares = Mapping[int, float]
"""By item the share of its answers that are right."""

Place = tuple[int, int]
"""An item's position and a repeat."""


def rate_of(answers: Answers) -> Rate | None:
    """The rate of right answers; None for no answer."""
    return rate({item: tuple(each.values()) for item, each in answers.items()})


def shares_of(answers: Answers) -> Shares:
    return {item: fmean(each.values()) for item, each in answers.items()}


def missing_of(answers: Answers, places: Iterable[Place]) -> frozenset[Place]:
    """What was asked, and is not known to be right or not."""
    return frozenset((item, repeat) for item, repeat in places if repeat not in answers.get(item, ()))


def completed(answers: Answers, missing: Iterable[Place], *, right: bool) -> Answers:
    """As if every answer that is missing were right, or wrong."""
    whole = {item: dict(each) for item, each in answers.items()}
    for item, repeat in missing:
        whole.setdefault(item, {})[repeat] = right
    return whole


def best_of_workers(answers: Mapping[str, Answers]) -> Answers | None:
    """Where any worker alone is right, on what all of them answered; None with fewer than two workers."""
    workers = [each for planner, each in answers.items() if planner.startswith(WORKER)]
    if len(workers) < 2:
        return None
    best: dict[int, dict[int, bool]] = {}
    for item in set.intersection(*(set(each) for each in workers)):
        for repeat in set.intersection(*(set(each[item]) for each in workers)):
            best.setdefault(item, {})[repeat] = any(each[item][repeat] for each in workers)
    return best


@dataclass(frozen=True)
class Differences:
    """The differences of planners to the first of them, then that of the best worker for each question where
    several were asked alone. `order` is that of a sequential evaluation, None for every other, whose
    intervals are at 1 - `alpha`.
    """

    answers: Mapping[str, Answers]
    order: Sequence[int] | None = None
    alpha: float = ALPHA

    @cached_property
    def measured(self) -> list[PairedDifference | None]:
        """On what both answered; None for nothing in both."""
        return [self._difference(*pair) for pair in self._pairs(self.answers, self.answers)]

    def bounds(self, missing: Mapping[str, Collection[Place]]) -> list[Bounds | None]:
        """Between what each will lie, however the missing answers turn out to be; None for no question."""
        if not any(missing.values()):
            return [None if each is None else (each, each) for each in self.measured]
        wrong, right = (
            {name: completed(each, missing[name], right=right) for name, each in self.answers.items()}
            for right in (False, True)
        )
        several = any(len(each) > 1 for planner in right.values() for each in planner.values())
        ends = zip(self._pairs(right, wrong), self._pairs(wrong, right), strict=True)
        return [self._bounds(least, most, several=several) for least, most in ends]

    def _bounds(
        self, least: tuple[Shares, Shares], most: tuple[Shares, Shares], *, several: bool
    ) -> Bounds | None:
        if self.order is None:
            return paired_bounds(least, most, several=several, alpha=self.alpha)
        low, high = self._difference(*least), self._difference(*most)
        return None if low is None or high is None else (low, high)

    def _difference(self, own: Shares, first: Shares) -> PairedDifference | None:
        if self.order is not None:
            return sequential_difference(own, first, self.order)
        return paired_difference(own, first, alpha=self.alpha)

    def _pairs(
        self, first: Mapping[str, Answers], others: Mapping[str, Answers]
    ) -> list[tuple[Shares, Shares]]:
        """Each of the others' shares of right answers, with those of the first."""
        name = next(iter(self.answers))
        compared = {**others, name: first[name]}
        best = best_of_workers(compared)
        whole = [*list(compared.values())[1:], *([] if best is None else [best])]
        return [(shares_of(each), shares_of(first[name])) for each in whole]
