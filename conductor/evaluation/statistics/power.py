"""Computes how many questions show a difference, and which difference so many questions show. Pure.

Source: R. J. Connor, "Sample size for testing differences in proportions for the paired-sample design"
(1987), in the form for large samples: n = (z_alpha + z_power)^2 s^2 / difference^2, with s^2 the variance of
the difference on one question. A test of non-inferiority has the margin in the place of the difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from conductor.evaluation.statistics.differences import PairedDifference
from conductor.evaluation.statistics.rates import ALPHA, normal

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
