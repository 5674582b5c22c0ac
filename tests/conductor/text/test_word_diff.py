"""The difference between two texts: exact, readable, bounded."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.text.word_diff import DiffPiece, TextDiff, compare_texts

TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(["the", "cat", " ", "\n", "\n\n", "3.14", "é", "猫", "!", "a b"]), max_size=40
    ).map("".join),
)


def marked(old: str, new: str) -> str:
    """The difference as [-removed-] and {+added+}."""
    forms = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(forms[kind].format(text) for kind, text in compare_texts(old, new).pieces)


def restored(diff: TextDiff) -> tuple[str, str]:
    """Both texts, put together from the pieces."""
    old = "".join(piece.text for piece in diff.pieces if piece.kind != "added")
    new = "".join(piece.text for piece in diff.pieces if piece.kind != "removed")
    return old, new


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("the same", "the same", "the same"),
        ("", "all new", "{+all new+}"),
        ("all gone", "", "[-all gone-]"),
        ("Add two numbers.", "Add three numbers.", "Add [-two -]{+three +}numbers."),
        ("Add numbers.", "Add all the numbers.", "Add {+all the +}numbers."),
        ("Add all the numbers.", "Add numbers.", "Add [-all the -]numbers."),
        ("one two", "one  two", "one[- -]{+  +}two"),
        ("one\ntwo", "one\n\ntwo", "one[-\n-]{+\n\n+}two"),
        ("  indented", "indented", "[-  -]indented"),
        ("It is 3.14.", "It is 3.15.", "It is [-3.14-]{+3.15+}."),
        ("价格是三元", "价格是四元", "价格是[-三-]{+四+}元"),
        ("<b>bold</b>", "<i>bold</i>", "<[-b-]{+i+}>bold</[-b-]{+i+}>"),
        ("Case counts", "case counts", "[-Case -]{+case +}counts"),
    ],
)
def test_words_that_went_and_came_are_distinguished_from_those_that_stayed(
    old: str, new: str, expected: str
) -> None:
    assert marked(old, new) == expected


def test_a_stray_word_in_common_does_not_break_up_a_long_change() -> None:
    old = "The weather in the northern mountains is a matter of great concern"
    new = "Nobody who reads books would say a word against libraries"
    assert [piece.kind for piece in compare_texts(old, new).pieces] == ["removed", "added"]


@given(TEXTS, TEXTS)
def test_the_pieces_put_together_are_both_texts_letter_for_letter(old: str, new: str) -> None:
    diff = compare_texts(old, new)
    assert restored(diff) == (old, new)
    assert diff.equal == (old == new)


@given(TEXTS, TEXTS)
def test_no_piece_is_empty_and_neighbours_differ_in_kind(old: str, new: str) -> None:
    pieces = compare_texts(old, new).pieces
    assert all(piece.text for piece in pieces)
    kinds = [piece.kind for piece in pieces]
    assert all(one != other for one, other in pairwise(kinds))
    assert ("added", "removed") not in set(pairwise(kinds))


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [("", "", 1.0), ("same", "same", 1.0), ("one", "two", 0.0), ("ab ab", "ab cd", 0.6), ("x", "", 0.0)],
)
def test_the_share_states_how_much_is_in_common(old: str, new: str, share: float) -> None:
    assert compare_texts(old, new).share == pytest.approx(share)


def _prose(random: Random, words: int, vocabulary: int = 2_000) -> list[str]:
    return [f"w{int(vocabulary ** random.random())}" for _ in range(words)]


@pytest.mark.slow
def test_in_a_very_long_text_single_changed_words_are_found() -> None:
    random = Random(1)
    words = _prose(random, 20_000)
    changed = list(words)
    for at in range(50, 20_000, 100):
        changed[at] = "changed"
    old, new = " ".join(words), " ".join(changed)
    assert len(old) > 80_000
    diff = compare_texts(old, new)
    assert diff.grain == "words"
    assert restored(diff) == (old, new)
    assert [piece.text.split() for piece in diff.pieces if piece.kind == "added"] == [["changed"]] * 200


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "grain"),
    [
        ("a b c\n" * 18_000, "a c b\n" * 17_000, "whole"),
        ("\n".join(["x y z w"] * 9_000 + ["end"]), "\n".join(["z y w x"] * 9_000 + ["end"]), "lines"),
    ],
    ids=["nothing alike", "one line alike"],
)
def test_what_would_take_too_long_word_by_word_is_compared_in_larger_parts(
    old: str, new: str, grain: str
) -> None:
    diff = compare_texts(old, new)
    assert diff.grain == grain
    assert restored(diff) == (old, new)


def test_a_moved_paragraph_goes_in_one_place_and_comes_in_another() -> None:
    random = Random(2)
    first, second, third = (" ".join(_prose(random, 300, 50_000)) + "\n\n" for _ in range(3))
    kinds = [piece.kind for piece in compare_texts(first + second + third, second + third + first).pieces]
    assert kinds == ["removed", "same", "added"]


def test_a_replaced_text_is_shown_before_what_replaced_it() -> None:
    assert compare_texts("one", "two").pieces == (DiffPiece("removed", "one"), DiffPiece("added", "two"))
