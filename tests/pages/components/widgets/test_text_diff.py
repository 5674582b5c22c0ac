"""The difference of two texts as stretches of a text block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conductor.text.word_diff import compare_texts
from pages.components.widgets.text_diff import diff_notes, stretches

SAME = "word " * 100


def tones(old, new, **options):
    return [(stretch.text, stretch.tone) for stretch in stretches(compare_texts(old, new).pieces, **options)]


def test_what_went_and_what_came_have_a_tone_and_are_reported_to_a_pointer():
    parts = stretches(compare_texts("a small cat", "a big cat").pieces)
    assert [(part.text, part.tone, part.title) for part in parts] == [
        ("a ", "", ""),
        ("small ", "removed", "Removed"),
        ("big ", "added", "Added"),
        ("cat", "", ""),
    ]


def test_without_a_context_nothing_is_left_out():
    assert tones(f"{SAME}old {SAME}", f"{SAME}new {SAME}")[0] == (SAME, "")


def test_with_a_context_only_what_stands_beside_a_change_is_shown():
    old, new = f"{SAME}old {SAME}old {SAME}", f"{SAME}new {SAME}new {SAME}"
    gap = " [… 480 characters the same …] "
    middle = " [… 460 characters the same …] "
    edge = "word word word word "
    assert tones(old, new, context=20) == [
        (gap, "quiet"),
        (edge, ""),
        ("old ", "removed"),
        ("new ", "added"),
        (edge, ""),
        (middle, "quiet"),
        (edge, ""),
        ("old ", "removed"),
        ("new ", "added"),
        (edge, ""),
        (gap, "quiet"),
    ]


def test_texts_that_are_the_same_are_shown_whole_and_called_the_same():
    assert tones(SAME, SAME, context=20) == [(SAME, "")]
    assert diff_notes(compare_texts(SAME, SAME)) == ["the same"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("one", "two", "nothing in common"),
        ("ab ab", "ab cd", "60% in common"),
        (f"{SAME * 50}old", f"{SAME * 50}new", "99% in common"),
        ("a", "", "nothing in common"),
    ],
)
def test_how_much_is_in_common_is_stated_and_never_all_of_what_differs(old, new, expected):
    assert diff_notes(compare_texts(old, new)) == [expected]


def test_a_comparison_in_larger_parts_is_called_one():
    diff = compare_texts("one", "two")
    assert diff_notes(replace(diff, grain="whole")) == ["too different to compare in parts"]
