"""Intervals and tests agree with published and hand-computed values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.evaluation.statistics import (
    MeanDifference,
    entropy,
    mean_difference,
    paired_difference,
    pareto_front,
    wilson,
)
from conductor.evaluation.statistics.differences import mcnemar
from conductor.evaluation.statistics.rates import student_t


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilsons_interval(right: int, of: int, low: float, high: float) -> None:
    interval = wilson(right, of)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)


def test_nothing_observed_has_no_interval() -> None:
    assert wilson(0, 0) is None
    assert paired_difference({"a": True}, {"b": True}) is None
    assert entropy([]) is None


@given(st.integers(1, 500), st.data())
def test_wilsons_interval_holds_the_proportion(of: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, of))
    interval = wilson(right, of)
    assert interval is not None
    assert 0 <= interval.low <= right / of <= interval.high <= 1


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1.0), (5, 5, 1.0), (10, 0, 2 / 1024), (8, 2, 0.109375), (1, 0, 1.0), (900, 1100, 8.5e-6)],
)
def test_mcnemars_exact_p(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p, rel=0.02)
    assert mcnemar(second, first) == mcnemar(first, second)


def test_newcombes_interval_of_a_published_example() -> None:
    """Newcombe 1998, method 10: of 50 pairs 36 are both right, 12 only the first, 2 only the second."""
    first = {str(at): at < 48 for at in range(50)}
    second = {str(at): at < 36 or at >= 48 for at in range(50)}
    difference = paired_difference(first, second)
    assert difference is not None
    assert (difference.first, difference.second, difference.questions) == (12, 2, 50)
    assert difference.difference == pytest.approx(0.2)
    assert (difference.interval.low, difference.interval.high) == pytest.approx((0.0569, 0.3404), abs=5e-5)
    assert difference.significant


@given(st.dictionaries(st.text(max_size=3), st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_a_paired_difference_holds_its_estimate_and_is_antisymmetric(
    answers: dict[str, tuple[bool, bool]],
) -> None:
    first = {key: one for key, (one, _) in answers.items()}
    second = {key: other for key, (_, other) in answers.items()}
    difference, swapped = paired_difference(first, second), paired_difference(second, first)
    assert difference is not None
    assert swapped is not None
    assert difference.difference == pytest.approx(-swapped.difference)
    assert (difference.interval.low, difference.interval.high) == pytest.approx(
        (-swapped.interval.high, -swapped.interval.low)
    )
    assert difference.interval.low - 1e-9 <= difference.difference <= difference.interval.high + 1e-9
    assert difference.p == swapped.p


def test_entropy_of_shares() -> None:
    assert entropy([4, 0]) == 0.0
    assert entropy([2, 2]) == 1.0


def test_the_pareto_front_has_what_no_other_beats() -> None:
    points = {
        "cheap": (1.0, 0.5),
        "worse": (2.0, 0.4),
        "same": (1.5, 0.5),
        "best": (9.0, 0.9),
        "dear": (20.0, 0.9),
    }
    assert pareto_front(points) == ("cheap", "best")


@pytest.mark.parametrize(("degrees", "quantile"), [(1, 12.7062), (4, 2.7764), (29, 2.0452), (999, 1.9623)])
def test_students_quantile_is_that_of_the_tables(degrees: int, quantile: float) -> None:
    assert student_t(degrees) == pytest.approx(quantile, abs=5e-5)


def test_a_mean_difference_is_students_paired_interval() -> None:
    """The differences 1, 2 and 3 have the mean 2 and the standard deviation 1."""
    difference = mean_difference({"a": 2, "b": 4, "c": 6, "d": 1}, {"a": 1, "b": 2, "c": 3, "e": 1})
    assert difference is not None
    assert difference.interval is not None
    half = student_t(2) / 3**0.5
    assert (difference.mean, difference.pairs) == (2, 3)
    assert (difference.interval.low, difference.interval.high) == pytest.approx((2 - half, 2 + half))
    assert mean_difference({"a": 1}, {"b": 1}) is None
    assert mean_difference({"a": 3}, {"a": 1}) == MeanDifference(2, None, 1)
