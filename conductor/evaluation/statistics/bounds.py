"""Bounds of paired differences while answers are missing, and their verdicts. Pure.

A conclusion from them holds however those answers turn out to be, whatever their number is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from conductor.evaluation.statistics.differences import (
    K,
    PairedDifference,
    holm,
    newcombe,
    paired_difference,
)
from conductor.evaluation.statistics.rates import ALPHA, LEAST, Interval, student_t, whole

Bounds = tuple[PairedDifference, PairedDifference]
"""The least and the largest that a difference may come to; p has its extremes at both or at 0."""

Shares = Mapping[K, float]


def paired_bounds(
    least: tuple[Shares[K], Shares[K]],
    most: tuple[Shares[K], Shares[K]],
    *,
    several: bool,
    alpha: float = ALPHA,
) -> Bounds | None:
    """The bounds of `paired_difference` between the shares of both at `least` and at `most`; None for no
    question. With `several` answers to a question their intervals have the least and the largest ends that
    those between them may have.
    """
    low, high = (paired_difference(*shares, alpha=alpha) for shares in (least, most))
    if low is None or high is None or not several:
        return None if low is None or high is None else (low, high)
    questions = sorted(least[0].keys() & least[1].keys(), key=str)
    (own, first), (own_most, first_most) = (
        [[shares[each] for each in questions] for shares in pair] for pair in (least, most)
    )
    wide, narrow = _halves(own, first, own_most, first_most, alpha)
    lows = [low.interval, Interval(low.difference - wide, low.difference + narrow)]
    highs = [high.interval, Interval(high.difference - narrow, high.difference + wide)]
    complete = [
        a for a, b in (*zip(own, own_most, strict=True), *zip(first, first_most, strict=True)) if a == b
    ]
    if whole(complete):
        # All answers to each question may be alike, whose interval is Newcombe's.
        lows.append(newcombe([*map(math.floor, own)], [*map(math.ceil, first)], alpha))
        highs.append(newcombe([*map(math.ceil, own_most)], [*map(math.floor, first_most)], alpha))
    return (
        replace(low, interval=Interval(min(each.low for each in lows), min(each.high for each in lows))),
        replace(high, interval=Interval(max(each.low for each in highs), max(each.high for each in highs))),
    )


def _halves(
    own: Sequence[float],
    first: Sequence[float],
    own_most: Sequence[float],
    first_most: Sequence[float],
    alpha: float,
) -> tuple[float, float]:
    """At most and at least half of Student's interval, whose width does not follow the difference."""
    n = len(own)
    if n == 1:
        return 2.0, 0.0
    apart = [(a - b, c - d) for a, b, c, d in zip(own, first, own_most, first_most, strict=True)]
    middle = fmean(fmean(each) for each in apart)
    fixed = [one for one, other in apart if one == other]
    # Around any other point than their mean the squares are more, and without some of them less.
    largest = sum(max((one - middle) ** 2, (other - middle) ** 2) for one, other in apart) / (n - 1)
    smallest = sum((each - fmean(fixed)) ** 2 for each in fixed) / (n - 1)
    wide, narrow = (
        student_t(n - 1, alpha) * math.sqrt(max(variance, LEAST / n) / n) for variance in (largest, smallest)
    )
    return wide, narrow


def possible_signs(bounds: Sequence[Bounds]) -> tuple[frozenset[int], ...]:
    """For each of the differences between these bounds, read together by Holm's procedure: the signs (1, -1)
    that it may have where it is significant, and 0 if it may be not significant.

    The further a difference is from 0, the smaller is its p, and the smaller any p, the smaller are all
    adjusted ones. The bounds count as independent, so that a set may hold too much and never too little.
    """
    smallest = [min(low.p, high.p) for low, high in bounds]
    largest = [max(low.p, high.p) if low.difference * high.difference > 0 else 1.0 for low, high in bounds]

    def significant(at: int, p: float, others: Sequence[float]) -> bool:
        return holm([*others[:at], p, *others[at + 1 :]])[at] < ALPHA

    signs = []
    for at, (low, high) in enumerate(bounds):
        possible = {
            sign
            for sign, end in ((1, high), (-1, low))
            if sign * end.difference > 0 and significant(at, end.p, smallest)
        }
        certain = any(
            sign * end.difference > 0 and significant(at, end.p, largest)
            for sign, end in ((1, low), (-1, high))
        )
        signs.append(frozenset(possible if certain else {0, *possible}))
    return tuple(signs)


# -- sequential ------------------------------------------------------------------------------------
#
# Differences that may be looked at after every question, and acted on, without more false alarms.
#
# Source: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting" (Journal of
# the Royal Statistical Society B, 2024), section 4: bets of a share of the capital on each next difference
# being above `m` win nothing in the long run where the mean is `m`. The capital ever reaches 1 / alpha with
# at most the probability alpha (Ville's inequality): p is 1 / capital at any time; the values `m` whose
# capital never did are a confidence sequence. The capital here is the mean of those of 19 fixed shares, on
# each side, at half of alpha. Questions have to come in an order that their answers do not decide.


def sequential_difference(
    first: Mapping[int, float], second: Mapping[int, float], order: Sequence[int]
) -> PairedDifference | None:
    """As `paired_difference` over the questions in both, in the `order` in which they are asked, with a p and
    an interval that hold however often they were looked at before.
    """
    difference = paired_difference(first, second)
    if difference is None:
        return None
    apart = [first[at] - second[at] for at in order if at in first and at in second]
    interval = Interval(2 * _least(_shares(apart)) - 1, 1 - 2 * _least(_shares([-each for each in apart])))
    return replace(difference, p=sequential_p(apart), interval=interval)


def sequential_p(apart: Sequence[float]) -> float:
    """The two-sided p of a mean of 0 for these differences in their order, each from -1 to 1."""
    most = max(_capital(_shares(apart), 0.5), _capital(_shares([-each for each in apart]), 0.5))
    return min(1.0, 2 / most)


def _shares(apart: Sequence[float]) -> list[float]:
    """From -1..1 to 0..1, where a bet on more can lose no more than its stake."""
    return [(1 + each) / 2 for each in apart]


def _capital(values: Sequence[float], mean: float) -> float:
    """The most that bets on values above `mean` ever came to, from 1."""
    import numpy as np  # noqa: PLC0415 - large, and needed for sequential evaluations alone

    shares = np.linspace(0.05, 0.95, 19)[:, None]
    capital = np.log1p(shares * (np.asarray(values) / mean - 1)).cumsum(axis=1)
    most = np.logaddexp.reduce(capital, axis=0).max() - np.log(len(shares))
    return max(1.0, float(np.exp(min(most, 700.0))))


def _least(values: Sequence[float]) -> float:
    """The lower end of the confidence sequence: bets on more than that never came to 2 / alpha."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _capital(values, middle) >= 2 / ALPHA else (low, middle)
    return low
