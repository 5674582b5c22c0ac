"""How many questions a difference needs, and that so many questions show it as often as is stated."""

from __future__ import annotations

import numpy as np
import pytest

from conductor.evaluation.statistics import paired_difference, pass_at
from conductor.evaluation.statistics.differences import (
    difference_by,
    difference_seen,
    holm,
    mcnemar,
    questions_needed,
    sign_flip,
)


@pytest.mark.parametrize(
    ("variance", "difference", "comparisons", "needed"),
    [(0.15, 0.05, 1, 471), (0.10, 0.05, 1, 314), (0.15, 0.05, 10, 799), (0.15, 0.10, 1, 118)],
)
def test_the_questions_that_a_difference_needs(
    variance: float, difference: float, comparisons: int, needed: int
) -> None:
    assert questions_needed(variance, difference=difference, comparisons=comparisons) == needed
    assert difference_by(needed, variance=variance, comparisons=comparisons) <= difference


@pytest.mark.thorough
def test_so_many_questions_show_the_difference_in_about_80_of_100_samples() -> None:
    random = np.random.default_rng(5)
    needed = questions_needed()
    draws = random.choice([1, -1, 0], p=[0.10, 0.05, 0.85], size=(400, needed))
    seen = sum(mcnemar(int((each > 0).sum()), int((each < 0).sum())) < 0.05 for each in draws)
    # The exact test is a little stricter than the normal approximation that the number is from.
    assert 0.72 <= seen / 400 <= 0.84


def test_a_table_sees_less_the_more_it_compares_and_nothing_without_a_comparison() -> None:
    difference = paired_difference({at: at % 3 > 0 for at in range(90)}, {at: at % 4 > 0 for at in range(90)})
    one, ten = difference_seen([None, difference]), difference_seen([difference] * 10)
    assert one is not None
    assert ten is not None
    assert 0 < one < ten
    assert difference_seen([None]) is None


@pytest.mark.parametrize(
    ("ps", "adjusted"),
    [((), ()), ((0.04,), (0.04,)), ((0.01, 0.04, 0.03), (0.03, 0.06, 0.06)), ((0.9, 0.8), (1.0, 1.0))],
)
def test_holms_procedure(ps: tuple[float, ...], adjusted: tuple[float, ...]) -> None:
    assert holm(ps) == pytest.approx(adjusted)


@pytest.mark.parametrize(("first", "second"), [(5, 0), (8, 2), (1, 1), (0, 0), (700, 600)])
def test_the_test_by_signs_is_mcnemars_where_each_question_is_right_or_wrong(first: int, second: int) -> None:
    ones = [1.0] * first + [0.0] * second
    assert sign_flip(ones, [1 - each for each in ones]) == pytest.approx(mcnemar(first, second), abs=1e-3)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        ((0.6, 0.4), (0.2, 0.0), 0.5),
        ((1 / 3, 2 / 3, 1), (0, 1 / 3, 2 / 3), 0.25),
        ((0.2,), (0.9,), 1.0),
        ((0.5, 0.5), (0.5, 0.5), 1.0),
    ],
)
def test_the_test_by_signs_of_shares(first: tuple[float, ...], second: tuple[float, ...], p: float) -> None:
    """Of n differences the same way, 2 of the 2^n draws of signs are as far apart."""
    assert sign_flip(first, second) == pytest.approx(p)


@pytest.mark.parametrize(
    ("k", "answers", "share"),
    [
        (1, ["1000"], 0.25),
        (2, ["1000"], 0.5),
        (4, ["1000"], 1.0),
        (2, ["1100", "0000"], (1 - 1 / 6) / 2),
        (2, ["1"], None),
        (2, ["1", "10"], 1.0),
    ],
)
def test_pass_at_k_is_the_unbiased_estimate(k: int, answers: list[str], share: float | None) -> None:
    estimate = pass_at(k, [[each == "1" for each in own] for own in answers])
    assert estimate == (None if share is None else pytest.approx(share))


def test_equal_shares_on_few_questions_do_not_show_that_nothing_differs() -> None:
    few = paired_difference(*[dict.fromkeys(range(5), 0.4)] * 2)
    many = paired_difference(*[dict.fromkeys(range(100), 0.4)] * 2)
    assert few is not None
    assert many is not None
    assert (few.difference, few.p) == (0, 1)
    assert few.interval.low < -0.15
    assert -0.03 < many.interval.low < 0
