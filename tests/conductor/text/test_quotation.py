"""Quoted words are found in the text that they were selected in, or are reported as gone."""

from __future__ import annotations

import pytest

from conductor.text.quotation import located

TEXT = "The **answer** is 391, and\n- the answer  is\n- certain: `a+b`."


@pytest.mark.parametrize(
    ("quote", "near", "part"),
    [
        ("answer", 0, "answer"),
        ("The answer is 391", 0, "The **answer** is 391"),
        ("answer is certain", 40, "answer  is\n- certain"),
        ("  a+b ", 0, "a+b"),
        ("+", 0, "+"),
        ("Answer", 0, None),
        ("answers", 0, None),
        ("391.*", 0, "391"),
        ("", 0, None),
        ("   ", 0, None),
        ("**", 60, "**"),
    ],
)
def test_words_are_found_whatever_marks_stand_between_them(quote: str, near: int, part: str | None) -> None:
    place = located(TEXT, quote, near=near)
    assert (None if place is None else TEXT[slice(*place)]) == part


def test_of_several_places_the_nearest_one_counts() -> None:
    text = "one two " * 100
    assert [located(text, "two", near=near) for near in (0, 400, 9_999)] == [(4, 7), (396, 399), (796, 799)]
