"""A long text in chunks: none too long, none cut inside of a letter, together the text."""

from __future__ import annotations

import pytest

from conductor.report.steps import BEGINNING, chunks, chunks_of


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", ""),
        ("short", "short"),
        ("x" * BEGINNING, "x"),
        ("a line of it\n" * 4_000, "a line of it\n"),
        ("words " * 9_000, "words "),
        ("x" * 50_000, "x"),
        ("😀" * 50_000, "😀"),
        ("x" + "e\u0301" * 30_000, "e\u0301"),
        ("x" + "👩\u200d🚀" * 30_000, "👩\u200d🚀"),
        ("\u0301" * 50_000, ""),
    ],
)
def test_a_text_is_cut_behind_a_line_a_word_or_a_letter(text: str, end: str) -> None:
    pieces = chunks(text)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= BEGINNING
    assert [piece[-len(end) :] for piece in pieces if end] == [end] * len(pieces) * bool(end)


def test_parts_are_cut_where_they_are_long_and_only_the_first_piece_is_named() -> None:
    parts = [("x" * 15_000, "tone", "one"), ("y" * 30_000, "tone", "two"), ("", "tone", "three")]
    cut = chunks_of(parts)
    assert [[(len(text), name) for text, _, name in chunk] for chunk in cut] == [
        [(15_000, "one"), (5_000, "two")],
        [(20_000, "")],
        [(5_000, ""), (0, "three")],
    ]
    assert {tone for chunk in cut for _, tone, _ in chunk} == {"tone"}
