"""Halves of characters are joined wherever a stream is cut, and what stays alone is replaced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.text.json_text import HalfJoiner, joined

HIGH, LOW = "\ud83d", "\ude00"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Grüße 😀 \x00\ufeff", "Grüße 😀 \x00\ufeff"),
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
    assert joined(text) == expected


@given(pieces=st.lists(st.text(st.sampled_from([HIGH, LOW, "a", "😀", "\ufeff", "\ufffd"])), max_size=8))
def test_a_stream_gives_the_same_wherever_it_is_cut(pieces: list[str]) -> None:
    joiner = HalfJoiner()
    streamed = [joiner.feed(piece) for piece in pieces]
    assert "".join(streamed) + joiner.end() == joined("".join(pieces))
    assert all(piece.encode() is not None for piece in streamed)
    assert joiner.end() == ""


def test_text_without_halves_is_handed_on_at_once() -> None:
    joiner = HalfJoiner()
    assert joiner.feed("all 😀") == "all 😀"
    assert joiner.feed(f"half {HIGH}") == "half "
    assert joiner.feed(f"{LOW}!") == "😀!"
