"""The assignment under the difference of two workflows."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from conductor.workflow.matching import best_assignment

WORTHS = st.integers(1, 5).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 9), min_size=columns, max_size=columns), min_size=1, max_size=5
    )
)


def _best_of_all(worth: list[list[int]]) -> int:
    rows, columns = len(worth), len(worth[0])
    padded = [[*row, *([0] * rows)] for row in worth]
    return max(
        sum(padded[row][column] for row, column in enumerate(chosen))
        for chosen in permutations(range(columns + rows), rows)
    )


@given(WORTHS)
def test_no_assignment_is_worth_more(worth: list[list[int]]) -> None:
    pairs = best_assignment(worth)
    assert sum(worth[row][column] for row, column in pairs) == _best_of_all(worth)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)


def test_a_pair_that_is_worth_nothing_is_none() -> None:
    assert best_assignment([[0, 0], [0, 5]]) == [(1, 1)]
