"""Paired differences by question: intervals, exact tests, and several of them at once. Pure.

Sources: Newcombe's hybrid interval for paired proportions (1998, method 10) and Q. McNemar, "Note on the
sampling error of the difference between correlated proportions" (1947), in its exact, two-sided form, where
each question is right or wrong. Where questions have shares of several answers: Student, "The probable error
of a mean" (1908), and the randomisation test of paired differences by their signs (R. A. Fisher, "The design
of experiments", 1935, section 21), which is McNemar's where each question is right or wrong. S. Holm, "A
simple sequentially rejective multiple test procedure" (1979).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist, fmean
from typing import TypeVar

from conductor.evaluation.statistics.rates import ALPHA, LEAST, Interval, normal, student_t, whole, wilson

K = TypeVar("K", bound=Hashable)

_FINEST = 120
"""Parts of an answer in which shares are compared exactly; finer ones are rounded to these."""

_EXACT = 1_000
"""Questions apart up to which the test by signs is exact; of more its normal approximation is the same."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How two planners differ on the questions that both have: `difference` of their accuracies with its
    interval, on how many questions the `first` and on how many the `second` has more right, and the exact p
    by signs. `adjusted` is that p by Holm's procedure over all that are read together; None for one alone.
    """

    difference: float
    interval: Interval
    questions: int
    first: int
    second: int
    p: float
    adjusted: float | None = None

    @property
    def significant(self) -> bool:
        """At the level of 5 %, with all that are read together."""
        return self.read_p < ALPHA

    @property
    def read_p(self) -> float:
        """The p that is read: adjusted where several are read together."""
        return self.p if self.adjusted is None else self.adjusted


def paired_difference(
    first: Mapping[K, float], second: Mapping[K, float], *, alpha: float = ALPHA
) -> PairedDifference | None:
    """The accuracy of `first` minus that of `second` over the questions in both, each with its share of right
    answers (True is 1), with the interval at 1 - `alpha`; None for no question in both.
    """
    both = sorted(first.keys() & second.keys(), key=str)
    if not both:
        return None
    mine, others = [float(first[each]) for each in both], [float(second[each]) for each in both]
    apart = [one - other for one, other in zip(mine, others, strict=True)]
    ahead, behind = sum(each > 0 for each in apart), sum(each < 0 for each in apart)
    if whole(mine) and whole(others):
        interval = newcombe(mine, others, alpha)
        p = mcnemar(ahead, behind)
    else:
        # One question shows nothing of how questions differ.
        interval = _students(apart, alpha, least=LEAST / len(apart)) or Interval(-1.0, 1.0)
        p = sign_flip(mine, others)
    return PairedDifference(fmean(apart), interval, len(both), ahead, behind, p)


def mcnemar(first: int, second: int) -> float:
    """The exact two-sided p of so many questions that only the first, or only the second, answers right."""
    discordant = first + second
    tail = sum(math.comb(discordant, at) for at in range(min(first, second) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 1 << discordant)))


def sign_flip(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p of these shares, question by question: how often the sum of the differences is as large
    where the sign of each is drawn.
    """
    import numpy as np  # noqa: PLC0415 - large, and needed for several answers alone

    shares = {*first, *second}
    parts = math.lcm(*(Fraction(share).limit_denominator(100).denominator for share in shares))
    parts = min(parts, _FINEST)
    apart = [round(parts * (one - other)) for one, other in zip(first, second, strict=True)]
    steps = [abs(each) for each in apart if each]
    if len(steps) > _EXACT:
        return 2 * NormalDist().cdf(-abs(sum(apart)) / math.sqrt(sum(each * each for each in steps)))
    chances = np.ones(1)
    for step in steps:
        longer = np.zeros(len(chances) + step)
        longer[: len(chances)] = chances
        longer[step:] += chances
        chances = longer / 2
    sums = 2 * np.arange(len(chances)) - sum(steps)
    return min(1.0, float(chances[abs(sums) >= abs(sum(apart))].sum()))


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """These p-values adjusted together, in their order; each is then compared with the level as it is."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    adjusted = [1.0] * len(ps)
    largest = 0.0
    for before, at in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - before) * ps[at]))
        adjusted[at] = largest
    return tuple(adjusted)


def with_holm(differences: Sequence[PairedDifference | None]) -> tuple[PairedDifference | None, ...]:
    """The same, which are read together; None stays where nothing is to be compared."""
    adjusted = iter(holm([each.p for each in differences if each is not None]))
    return tuple(None if each is None else replace(each, adjusted=next(adjusted)) for each in differences)


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """A mean of paired differences with its interval, over so many `pairs`; `interval` is None for one."""

    mean: float
    interval: Interval | None
    pairs: int


def mean_difference(first: Mapping[K, float], second: Mapping[K, float]) -> MeanDifference | None:
    """The mean of `first` minus `second` over the questions in both, with Student's paired interval:
    mean +- t * s / sqrt(n), t the 97.5 % quantile with n - 1 degrees of freedom; None for no pair.
    """
    both = sorted(first.keys() & second.keys(), key=str)
    if not both:
        return None
    apart = [first[each] - second[each] for each in both]
    return MeanDifference(fmean(apart), _students(apart, ALPHA), len(apart))


def _students(apart: Sequence[float], alpha: float, *, least: float = 0.0) -> Interval | None:
    """Student's interval of the mean; None for one. The variance counts as `least` or more, see `LEAST`."""
    n, mean = len(apart), fmean(apart)
    if n == 1:
        return None
    variance = sum((each - mean) ** 2 for each in apart) / (n - 1)
    half = student_t(n - 1, alpha) * math.sqrt(max(variance, least) / n)
    return Interval(mean - half, mean + half)


def newcombe(first: Sequence[float], second: Sequence[float], alpha: float) -> Interval:
    """The interval at 1 - `alpha` of the difference of two paired proportions, by method 10."""
    n, one, other = len(first), round(sum(first)), round(sum(second))
    p1, p2 = one / n, other / n
    mine, others = wilson(one, n, alpha=alpha), wilson(other, n, alpha=alpha)
    assert mine is not None
    assert others is not None
    phi = _phi(one, other, sum(a == b == 1 for a, b in zip(first, second, strict=True)), n)

    def half(a: float, b: float) -> float:
        return math.sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))

    return Interval(
        p1 - p2 - half(p1 - mine.low, others.high - p2), p1 - p2 + half(mine.high - p1, p2 - others.low)
    )


def _phi(first: int, second: int, both: int, of: int) -> float:
    """The correlation of the two, with Newcombe's correction for continuity where it is positive."""
    margins = first * (of - first) * second * (of - second)
    if margins == 0:
        return 0.0
    neither = of - first - second + both
    product = float(both * neither - (first - both) * (second - both))
    if product > 0:
        product = max(product - of / 2, 0.0)
    return product / math.sqrt(margins)


# -- how many questions show a difference ----------------------------------------------------------
#
# Source: R. J. Connor, "Sample size for testing differences in proportions for the paired-sample design"
# (1987), in the form for large samples: n = (z_alpha + z_power)^2 s^2 / difference^2, with s^2 the variance
# of the difference on one question. A test of non-inferiority has the margin in the place of the difference.

POWER = 0.8
"""How probable it is to be that a difference is shown."""

DIFFERENCE = 0.05
"""The difference of accuracies that is worth seeing, unless another is chosen."""

VARIANCE = 0.15
"""What is assumed before anything is measured: on 15 of 100 questions one planner alone is right."""


def questions_needed(
    variance: float = VARIANCE, *, difference: float = DIFFERENCE, comparisons: int = 1
) -> int:
    """The questions that show such a difference, by the strictest of so many comparisons."""
    return math.ceil(_quantiles(comparisons) ** 2 * variance / difference**2)


def difference_seen(differences: Sequence[PairedDifference | None]) -> float | None:
    """The difference that each of these comparisons can show, read together; None for no comparison."""
    halves = [(each.interval.high - each.interval.low) / 2 for each in differences if each is not None]
    return max(halves) / normal(ALPHA) * _quantiles(len(halves)) if halves else None


def difference_by(questions: int, *, variance: float = VARIANCE, comparisons: int = 1) -> float:
    """The difference that so many questions can show."""
    return _quantiles(comparisons) * math.sqrt(variance / questions)


def _quantiles(comparisons: int) -> float:
    return normal(ALPHA / max(1, comparisons)) + NormalDist().inv_cdf(POWER)
