"""Shares of right answers with their intervals, by question; pass@k; shares of calls. Pure.

Sources: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927). Where a
question has several answers, Wilson's interval at the effective number of questions n q / v, with Student's
quantile: E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number of
positive counts estimated from survey data" (1998), in the form for Wilson's interval of N. Dean and
M. Pagano, "Evaluating confidence interval methods for binomial proportions in clustered surveys" (2015).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean

ALPHA = 0.05
"""The level of tests; intervals are two-sided at 1 - ALPHA."""

LEAST = 0.1
"""What the variance of shares over n questions counts as at least, in parts of that of one whole answer apart
(1 / n): without it few shares that happen to be equal would have an interval of no width. By simulation the
least part whose intervals cover .93 and more of 20 questions at a mean of .95; with 1 they cover up to 1.00.
"""


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rate:
    """`right` of so many `answers` to so many `questions`; `mean` is the mean over questions of the share of
    right answers, which with one answer each is `right / answers`, and `interval` is that of the mean.
    """

    right: int
    answers: int
    questions: int
    mean: float
    interval: Interval


def rate(answers: Mapping[Hashable, Sequence[bool]]) -> Rate | None:
    """The rate of right answers by question; None for no answer."""
    questions = [each for each in answers.values() if each]
    if not questions:
        return None
    shares = [fmean(each) for each in questions]
    right, of = sum(map(sum, questions)), sum(map(len, questions))
    return Rate(right, of, len(questions), fmean(shares), _interval(shares))


def _interval(shares: Sequence[float]) -> Interval:
    n, mean = len(shares), fmean(shares)
    at_most = mean * (1 - mean)
    if whole(shares) or n == 1:
        return _wilson(mean, n, normal(ALPHA))
    variance = fmean((share - mean) ** 2 for share in shares)
    variance = min(at_most, max(variance, LEAST / n))
    return _wilson(mean, n * at_most / variance, student_t(n - 1))


def wilson(right: int, of: int, *, alpha: float = ALPHA) -> Interval | None:
    """Wilson's interval of a proportion at 1 - `alpha`; None for no observation."""
    return None if of == 0 else _wilson(right / of, of, normal(alpha))


def _wilson(share: float, of: float, z: float) -> Interval:
    square = z * z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    # At the ends the formula gives exactly 0 and 1; floating point does not.
    return Interval(max(0.0, middle - half) if share else 0.0, min(1.0, middle + half) if share < 1 else 1.0)


def whole(shares: Iterable[float]) -> bool:
    """Whether each question has only right or only wrong answers."""
    return all(share in (0, 1) for share in shares)


def normal(alpha: float) -> float:
    """The quantile of the normal distribution that is exceeded, on one of both sides, with `alpha`."""
    return NormalDist().inv_cdf(1 - alpha / 2)


@lru_cache
def student_t(degrees: int, alpha: float = ALPHA) -> float:
    """The quantile of Student's t that is exceeded, on one of both sides, with `alpha`: P(|T| > t) is the
    regularised incomplete beta function I_x(degrees / 2, 1/2) at x = degrees / (degrees + t^2).
    """
    import mpmath  # noqa: PLC0415 - large, and needed for intervals of means alone

    def excess(x: float) -> float:
        return float(mpmath.betainc(degrees / 2, 0.5, 0, x, regularized=True)) - alpha

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return math.sqrt(degrees * (1 - high) / high)


def pass_at(k: int, answers: Iterable[Sequence[bool]]) -> float | None:
    """The probability that one of `k` answers is right, by the unbiased estimator 1 - C(n-c, k) / C(n, k) for
    c right of n answers, over the questions with at least `k`; None for none.

    Source: M. Chen et al., "Evaluating large language models trained on code" (arXiv 2107.03374), 2.1.
    """
    counts = [(len(each), sum(each)) for each in answers if len(each) >= k]
    if not counts:
        return None
    return fmean(1 - math.comb(n - right, k) / math.comb(n, k) for n, right in counts)


def entropy(counts: Sequence[int]) -> float | None:
    """Shannon's entropy of shares in bits: 0 where one worker gets all calls; None for no call."""
    total = sum(counts)
    if total == 0:
        return None
    return -sum(count / total * math.log2(count / total) for count in counts if count) or 0.0


def pareto_front(points: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """The names whose (cost, accuracy) no other beats in one and equals in the other, cheapest first."""
    front: list[str] = []
    best = -math.inf
    for name, (_, accuracy) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1], item[0])):
        if accuracy > best:
            front.append(name)
            best = accuracy
    return tuple(front)
