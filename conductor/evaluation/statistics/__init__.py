"""What may be concluded from right and wrong answers. Pure.

The unit is the question: several answers to one are its share of right ones, and never raise the number of
questions.
"""

from conductor.evaluation.statistics.bounds import Bounds, paired_bounds, possible_signs
from conductor.evaluation.statistics.differences import (
    MeanDifference,
    PairedDifference,
    holm,
    mcnemar,
    mean_difference,
    paired_difference,
    sign_flip,
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
    student_t,
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
    "holm",
    "mcnemar",
    "mean_difference",
    "paired_bounds",
    "paired_difference",
    "pareto_front",
    "pass_at",
    "possible_signs",
    "rate",
    "sign_flip",
    "student_t",
    "wilson",
    "with_holm",
]
