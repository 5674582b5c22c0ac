"""Rows of cards and lanes: cards keep the order of their steps, lanes cross as little as that allows."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.drawing.layered_layout import Strands, generations_of, ordered, split_rows
from tests.support.cases.property_cases import cases

Access = tuple[tuple[int, ...], ...]


@st.composite
def accesses(draw: st.DrawFn) -> Access:
    steps = draw(st.integers(1, 16))
    most = draw(st.sampled_from([2, 16]))
    return tuple(
        tuple(sorted(draw(st.sets(st.integers(0, i - 1), max_size=most)))) if i else () for i in range(steps)
    )


def strands_of(access: Access, widest: int = 5) -> Strands:
    return ordered(Strands.of(split_rows(generations_of(access), widest), access, 60))


def places(access: Access, widest: int) -> dict[int, tuple[int, int]]:
    """The row of each step and its place among the row's cards."""
    strands = strands_of(access, widest)
    cards = [[node[0] for node in row if not strands.is_lane(node)] for row in strands.rows]
    return {step: (i, at) for i, row in enumerate(cards) for at, step in enumerate(row)}


def with_step(access: Access, at: int) -> Access:
    """The access with a step inserted at `at` that reads the one before it."""

    def moved(step: int) -> int:
        return step if step < at else step + 1

    later = [tuple(map(moved, reads)) for reads in access]
    return (*later[:at], (at - 1,), *later[at:])


def crossings(strands: Strands) -> int:
    """Pairs of edges between neighbouring rows that cross, counted one by one."""
    total = 0
    for upper, lower in zip(strands.rows, strands.rows[1:], strict=False):
        edges = [(upper.index(node), lower.index(to)) for node in upper for to in strands.below[node]]
        total += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(edges, 2))
    return total


@pytest.mark.slow
@given(access=accesses(), widest=st.integers(1, 6))
def test_rows_hold_every_step_once_in_order_and_readers_later(access, widest):
    rows = split_rows(generations_of(access), widest)
    row_of = {step: i for i, row in enumerate(rows) for step in row}
    assert sorted(row_of) == list(range(len(access)))
    assert all(list(row) == sorted(row) and 1 <= len(row) <= widest for row in rows)
    assert all(row_of[read] < row_of[reader] for reader, reads in enumerate(access) for read in reads)


@pytest.mark.parametrize(
    ("steps", "widest", "lengths"), [(4, 5, [4]), (5, 4, [3, 2]), (13, 3, [3, 3, 3, 2, 2]), (6, 3, [3, 3])]
)
def test_a_broad_generation_becomes_even_rows_the_longer_ones_first(steps, widest, lengths):
    assert [len(row) for row in split_rows([list(range(steps))], widest)] == lengths


@pytest.mark.slow
@cases(200)
@given(data=st.data(), access=accesses(), widest=st.integers(2, 6))
def test_a_step_that_is_added_moves_no_card_past_another(data, access, widest):
    at = data.draw(st.integers(1, len(access)), label="at")
    before, after = places(access, widest), places(with_step(access, at), widest)
    for one, other in combinations(range(len(access)), 2):
        (row, place), (beside, next_place) = before[one], before[other]
        there, beside_there = (after[step if step < at else step + 1] for step in (one, other))
        if row == beside and there[0] == beside_there[0]:
            assert (place < next_place) == (there[1] < beside_there[1])


@given(access=accesses())
def test_ordering_keeps_every_node_in_its_row_and_cards_in_the_order_of_their_steps(access):
    unordered = Strands.of(split_rows(generations_of(access), 5), access, 60)
    strands = ordered(unordered)
    assert [sorted(row) for row in strands.rows] == [sorted(row) for row in unordered.rows]
    for row in strands.rows:
        cards = [node for node in row if not strands.is_lane(node)]
        assert cards == sorted(cards)
    assert crossings(strands) <= crossings(unordered)


@pytest.mark.parametrize(
    "access",
    [
        ((), (0,), (0,), (1, 2), (0, 3)),
        ((), (), (0,), (1,), (0, 2), (1, 3)),
        ((), (0,), (1,), (0, 2), (1, 3)),
        ((), (), (), (), (0, 1, 2, 3)),
    ],
)
def test_lanes_go_where_they_cross_nothing(access):
    assert crossings(strands_of(access, 2)) == 0
