"""Differences that may be looked at after every question, and acted on, without more false alarms. Pure.

Source: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting" (Journal of
the Royal Statistical Society B, 2024), section 4: bets of a share of the capital on each next difference
being above `m` win nothing in the long run where the mean is `m`. The capital ever reaches 1 / alpha with at
most the probability alpha (Ville's inequality): p is 1 / capital at any time; the values `m` whose capital
never did are a confidence sequence. The capital here is the mean of those of 19 fixed shares, on each side,
at half of alpha. Questions have to come in an order that their answers do not decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conductor.evaluation.statistics.differences import PairedDifference, paired_difference
from conductor.evaluation.statistics.rates import ALPHA, Interval


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
