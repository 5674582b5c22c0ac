"""Halves of characters are joined wherever a stream is cut; what stays alone is replaced, as NUL is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.text.json_text import HalfJoiner, portable

HIGH, LOW = "\ud83d", "\ude00"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Grüße 😀 \ufeff", "Grüße 😀 \ufeff"),
        ("a\x00b", "a\ufffdb"),
        (f"\x00{HIGH}{LOW}", "\ufffd😀"),
        ("\x1b\x07\x7f\x85\u202e\u2028\ufffe\U0001ffff", "\x1b\x07\x7f\x85\u202e\u2028\ufffe\U0001ffff"),
        (f"a{HIGH}{LOW}b", "a😀b"),
        (f"a{HIGH}b", "a\ufffdb"),
        (f"a{LOW}b", "a\ufffdb"),
        (HIGH, "\ufffd"),
        (f"{LOW}{HIGH}", "\ufffd\ufffd"),
        (f"{HIGH}{HIGH}{LOW}{LOW}", "\ufffd😀\ufffd"),
        (f"\ufeff{HIGH}", "\ufeff\ufffd"),
    ],
)
def test_a_pair_is_one_character_and_a_half_is_replaced(text: str, expected: str) -> None:
    assert portable(text) == expected


PIECES = st.lists(st.text(st.sampled_from([HIGH, LOW, "a", "\x00", "😀", "\ufeff", "\ufffd"])), max_size=8)


@given(pieces=PIECES)
def test_a_stream_gives_the_same_wherever_it_is_cut(pieces: list[str]) -> None:
    joiner = HalfJoiner()
    streamed = [joiner.feed(piece) for piece in pieces]
    assert "".join(streamed) + joiner.end() == portable("".join(pieces))
    assert all(piece.encode() is not None for piece in streamed)
    assert joiner.end() == ""


def test_text_without_halves_is_handed_on_at_once() -> None:
    joiner = HalfJoiner()
    assert joiner.feed("all 😀") == "all 😀"
    assert joiner.feed(f"half {HIGH}") == "half "
    assert joiner.feed(f"{LOW}!") == "😀!"
