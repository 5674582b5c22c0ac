"""A session's revisions as rows with lanes: the head's line is the first, no line is cut or crossed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.workflow.history import HistoryRow, history

Parents = dict[str, str | None]


def tree(*parents: int | None) -> Parents:
    """Revisions "1", "2", ... each with the number of what it was made of."""
    return {str(at): None if of is None else str(of) for at, of in enumerate(parents, start=1)}


def newest(parents: Mapping[str, str | None]) -> dict[str, str]:
    """As if an undo had led to each from its newest child."""
    return {parent: id for id, parent in parents.items() if parent is not None}


def picture(rows: tuple[HistoryRow, ...]) -> list[str]:
    """A row a line: "*" the revision, "|" a line that leads past, "/" one that comes down to it."""
    lines = []
    for row in rows:
        width = max([row.lane, *row.joins, *row.passing]) + 1
        cells = [" "] * width
        for lane in row.passing:
            cells[lane] = "|"
        for lane in row.joins:
            cells[lane] = "/"
        cells[row.lane] = "*" if row.current else "o"
        lines.append(f"{''.join(cells)} {row.id}")
    return lines


@pytest.mark.parametrize(
    ("parents", "head", "lines"),
    [
        (tree(), None, []),
        (tree(None), "1", ["* 1"]),
        (tree(None), None, [" o 1"]),
        (tree(None, 1, 2), "3", ["* 3", "* 2", "* 1"]),
        (tree(None, 1, 2), "2", ["o 3", "* 2", "* 1"]),
        (tree(None, 1, 1), "3", ["* 3", "|o 2", "*/ 1"]),
        (tree(None, 1, 1), "2", [" o 3", "*| 2", "*/ 1"]),
        (tree(None, 1, 2, 2, 1, 4), "6", ["* 6", "|o 5", "*| 4", "||o 3", "*|/ 2", "*/ 1"]),
        (tree(None, 1, None, 3), "4", ["* 4", "* 3", " o 2", " o 1"]),
    ],
    ids=[
        "none", "one", "no head", "chain", "undone", "edited after undo", "kept beside", "branches",
        "two roots",
    ],
)  # fmt: skip
def test_the_tree_is_drawn_newest_first_with_the_head_on_the_left(
    parents: Parents, head: str | None, lines: list[str]
) -> None:
    assert picture(history(parents, head, newest(parents))) == lines


def test_what_an_undo_left_is_above_the_head_and_a_newer_branch_beside_it() -> None:
    assert picture(history(tree(None, 1, 1), "1", {"1": "2"})) == [" o 3", "o| 2", "*/ 1"]
    assert picture(history(tree(None, 1, 1), "1", {})) == [" o 3", " |o 2", "*// 1"]


def test_a_parent_that_is_not_given_is_taken_for_none() -> None:
    assert picture(history({"2": "1", "3": "2"}, "3", {})) == ["* 3", "* 2"]


@st.composite
def trees(draw: st.DrawFn) -> Parents:
    count = draw(st.integers(1, 40))
    return tree(None, *(draw(st.none() | st.integers(1, at)) for at in range(1, count)))


def lines_are_whole(parents: Mapping[str, str | None], rows: tuple[HistoryRow, ...]) -> None:
    """Every line that begins above a row leads on below it, in its lane, until its parent takes it up."""
    open_lanes: dict[int, str] = {}
    for row in rows:
        ending = {lane for lane, parent in open_lanes.items() if parent == row.id}
        assert ending == {*row.joins, *([row.lane] if row.above else [])}
        for lane in ending:
            del open_lanes[lane]
        assert set(row.passing) == open_lanes.keys()
        assert row.lane not in row.passing
        parent = parents[row.id]
        assert row.below == (parent is not None)
        if parent is not None:
            open_lanes[row.lane] = parent
    assert not open_lanes


@pytest.mark.slow
@given(trees(), st.data())
def test_no_line_is_cut_or_shared(parents: Parents, data: st.DataObject) -> None:
    head = data.draw(st.sampled_from([*parents, None]))
    rows = history(parents, head, newest(parents))
    assert [row.id for row in rows] == [*reversed(parents)]
    lines_are_whole(parents, rows)
    way = {row.id for row in rows if row.current}
    assert all(row.lane == 0 for row in rows if row.current)
    assert (head in way) == (head is not None)


def test_a_thousand_revisions_with_branches_stay_narrow_where_their_branches_are_short() -> None:
    chance = Random(1)
    parents = tree(None, *(at - (chance.randrange(6) if at > 8 else 0) for at in range(1, 1000)))
    rows = history(parents, "1000", newest(parents))
    lines_are_whole(parents, rows)
    assert max(row.lane for row in rows) < 60
