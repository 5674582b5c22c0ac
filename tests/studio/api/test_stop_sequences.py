"""A text that ends where one of some texts begins, however it comes in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.api.answer import StopSequences


def fed(pieces: list[str], stops: list[str]) -> list[str]:
    sequences = StopSequences(stops)
    return [*(sequences.feed(piece) for piece in pieces), sequences.end()]


@given(
    pieces=st.lists(st.text("ab\n", max_size=4), max_size=12),
    stops=st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=4),
)
def test_the_pieces_do_not_matter(pieces: list[str], stops: list[str]) -> None:
    whole = "".join(pieces)
    ends = [at for stop in stops if (at := whole.find(stop)) >= 0]
    assert "".join(fed(pieces, stops)) == whole[: min(ends, default=len(whole))]


@pytest.mark.parametrize(
    ("pieces", "stops", "given_out"),
    [
        (["one two"], [], ["one two", ""]),
        (["one E", "N", "D two"], ["END"], ["one ", "", "", ""]),
        (["one E", "N", " two"], ["END"], ["one ", "", "EN two", ""]),
        (["one EN"], ["END"], ["one ", "EN"]),
        (["aab", "x"], ["ab", "bx"], ["a", "", ""]),
        (["b\n", "\n"], ["\n", "b\n\n"], ["", "", ""]),
        (["b\n", "a"], ["\n", "b\n\n"], ["", "b", ""]),
        (["b\n"], ["\n", "b\n\n"], ["", "b"]),
    ],
)
def test_only_what_may_begin_a_stop_is_held_back(
    pieces: list[str], stops: list[str], given_out: list[str]
) -> None:
    assert fed(pieces, stops) == given_out
