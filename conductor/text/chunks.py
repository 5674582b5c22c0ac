"""A long text in chunks: its beginning, which is shown at first, and the rest.

The page does the same in `pages/components/widgets/long_text.js`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

BEGINNING = 20_000
"""Characters of a chunk at most."""

_NEAR = 500
"""So many characters before the limit, a cut looks for the end of a line or a word."""

_JOINERS = "\u200d\ufe0f"


def chunks(text: str) -> list[str]:
    """The text in chunks; one for a text that is not long."""
    return [first for ((first, *_),) in chunks_of([(text, "")])]


def chunks_of(parts: Iterable[tuple[str, *tuple[str, ...]]]) -> list[list[tuple[str, ...]]]:
    """Parts that each begin with a text, in chunks. Of a part that is cut, only the first piece has its last
    entry, which names it.
    """
    chunks: list[list[tuple[str, ...]]] = [[]]
    room = BEGINNING
    for text, *marks in parts:
        start = 0
        while len(text) - start > room:
            end = start + _cut_place(text[start : start + room + 1], room)
            if end > start:
                chunks[-1].append((text[start:end], *_marks(marks, start)))
            chunks.append([])
            start, room = end, BEGINNING
        chunks[-1].append((text[start:], *_marks(marks, start)))
        room -= len(text) - start
    return chunks


def _marks(marks: Sequence[str], start: int) -> Sequence[str]:
    """What a piece that starts there has of its part's entries."""
    return [*marks[:-1], ""] if marks and start else marks


def _cut_place(text: str, most: int) -> int:
    """Where a text of more than `most` characters is cut: behind a line or a word, else between letters."""
    for end in "\n ":
        if (at := text.rfind(end, max(0, most - _NEAR), most)) >= 0:
            return at + 1
    place = most
    while place > max(0, most - _NEAR) and (
        unicodedata.combining(text[place]) or text[place] in _JOINERS or text[place - 1] in _JOINERS
    ):
        place -= 1
    return place
