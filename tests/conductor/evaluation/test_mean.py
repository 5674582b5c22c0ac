"""A mean states over how many of its amounts it is, and whether it is an upper bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.evaluation.mean import Mean, mean_words
from conductor.values.total import UNKNOWN, BoundedSum

ONE, TWO = BoundedSum(least=1, most=1), BoundedSum(least=2, most=2)
BOUNDED, AT_LEAST = BoundedSum(least=1, most=3), BoundedSum(least=5, most=None)


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        ([], "-"),
        ([UNKNOWN], "-"),
        ([AT_LEAST], "-"),
        ([ONE, TWO], "1.50"),
        ([ONE, UNKNOWN, TWO], "1.50 (2 of 3)"),
        ([ONE, AT_LEAST], "1.00 (1 of 2)"),
        ([ONE, BOUNDED], "≤ 2.00"),
        ([BOUNDED, UNKNOWN], "≤ 3.00 (1 of 2)"),
    ],
)
def test_a_mean_is_over_what_is_known_and_states_over_how_much(amounts: list[BoundedSum], words: str) -> None:
    assert mean_words(Mean.over(amounts), "{:.2f}".format) == words


@given(st.lists(st.one_of(st.none(), st.integers(0, 1000)), min_size=1, max_size=20))
def test_only_a_mean_over_everything_has_no_part(numbers: list[int | None]) -> None:
    mean = Mean.over(UNKNOWN if each is None else BoundedSum(least=each, most=each) for each in numbers)
    there = [each for each in numbers if each is not None]
    if mean is None:
        assert not there
        return
    assert mean.value == pytest.approx(sum(there) / len(there))
    assert (mean.part == "") == (None not in numbers)
