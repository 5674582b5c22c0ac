"""Statistics of right and wrong answers. Pure.

The unit is the question: several answers to one are its share of right ones, and never raise the number of
questions.
"""

from conductor.evaluation.statistics.bounds import Bounds, paired_bounds, possible_signs
from conductor.evaluation.statistics.differences import (
    MeanDifference,
    PairedDifference,
    mean_difference,
    paired_difference,
    with_holm,
)
from conductor.evaluation.statistics.rates import (
    ALPHA,
    Interval,
    Rate,
    entropy,
    pareto_front,
    pass_at,
    rate,
    wilson,
)

__all__ = [
    "ALPHA",
    "Bounds",
    "Interval",
    "MeanDifference",
    "PairedDifference",
    "Rate",
    "entropy",
    "mean_difference",
    "paired_bounds",
    "paired_difference",
    "pareto_front",
    "pass_at",
    "possible_signs",
    "rate",
    "wilson",
    "with_holm",
]
