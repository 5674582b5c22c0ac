"""A sequential difference gives no more false alarms for having been looked at, and sees a real one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from conductor.evaluation.statistics import PairedDifference
from conductor.evaluation.statistics.bounds import sequential_difference, sequential_p


def _difference(apart: NDArray[np.float64] | NDArray[np.int64]) -> PairedDifference | None:
    first = {at: max(0.0, float(each)) for at, each in enumerate(apart)}
    second = {at: max(0.0, -float(each)) for at, each in enumerate(apart)}
    return sequential_difference(first, second, range(len(apart)))


def test_one_question_decides_nothing_and_no_question_is_no_difference() -> None:
    difference = _difference(np.array([1.0]))
    assert difference is not None
    assert (difference.p, difference.difference) == (1.0, 1.0)
    assert difference.interval.low < 0
    assert sequential_difference({}, {}, ()) is None


def test_what_was_decided_stays_decided_whatever_comes_after() -> None:
    """The p is that of the strongest look, so that answers under way at the end do not take it back."""
    ahead = np.ones(30)
    decided, later = _difference(ahead), _difference(np.concatenate([ahead, -np.ones(30)]))
    assert decided is not None
    assert later is not None
    assert later.p == decided.p < 0.001
    assert later.interval.low >= decided.interval.low > 0


def test_its_interval_holds_its_estimate_and_leaves_out_0_where_it_is_significant() -> None:
    random = np.random.default_rng(3)
    for chance in (0.5, 0.6, 0.8):
        apart = np.where(random.random(200) < 0.3, np.where(random.random(200) < chance, 1, -1), 0)
        difference = _difference(apart)
        assert difference is not None
        assert difference.significant == (difference.interval.low > 0 or difference.interval.high < 0)


@pytest.mark.thorough
@pytest.mark.parametrize("repeats", [1, 3, 5, 10])
def test_false_alarms_at_any_look_are_at_most_5_of_100_and_most_real_differences_are_seen(
    repeats: int,
) -> None:
    """The p of 300 questions is that of the strongest of 300 looks."""
    random = np.random.default_rng(4)
    alarms: list[bool] = []
    seen: list[bool] = []
    for _ in range(400):
        chances = random.beta(1, 1, 300)
        same = random.binomial(repeats, chances) - random.binomial(repeats, chances)
        better = random.binomial(repeats, np.minimum(1, chances + 0.25)) - random.binomial(repeats, chances)
        for apart, flags in ((same, alarms), (better, seen)):
            flags.append(sequential_p(list(apart / repeats)) < 0.05)
    assert sum(alarms) <= 20
    assert sum(seen) >= 320
