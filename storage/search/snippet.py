"""The place in a session's texts where a search found something: a few words, with what matched marked.

Knows texts and terms, no database. The text it returns is a person's or a model's: untrusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

from storage.search.terms import Term, Word, words_of

TextKind = Literal["title", "query", "tag", "instruction", "answer"]
"""What a text is in its session."""

BEFORE, LENGTH = 40, 180
"""Characters shown before the first match, and in all."""

SEARCHED = 100_000
"""Characters of a session's texts in which a place is looked for."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """Stretches of a text of this kind, each with whether a term matched it; joined they are the text."""

    kind: TextKind
    parts: tuple[tuple[str, bool], ...]


def snippet(texts: Sequence[tuple[TextKind, str]], terms: Sequence[Term]) -> Snippet | None:
    """The text that contains most of the terms, cut around them; None without one. Titles are left out.

    Of texts that contain as many, the first of answer, instruction, query and tag counts.
    """
    order = get_args(TextKind)
    best: tuple[int, int] = (0, 0)
    found: tuple[TextKind, str, tuple[tuple[int, int], ...]] | None = None
    left = SEARCHED
    for kind, text in texts:
        if kind == "title":
            continue
        words = words_of(text[:left])
        left -= min(len(text), left)
        places = [place for term in terms if (place := tuple(_places(words, term)))]
        rank = (len(places), order.index(kind))
        if places and rank > best:
            best, found = rank, (kind, text, tuple(sorted(each for place in places for each in place)))
    return None if found is None else _cut(*found)


def _places(words: Sequence[Word], term: Term) -> Iterator[tuple[int, int]]:
    """Where a term occurs, as (start, end) in the text."""
    *whole, last = term.words
    for at in range(len(words) - len(whole)):
        end = words[at + len(whole)]
        if (end.folded.startswith(last) if term.begins else end.folded == last) and all(
            words[at + ahead].folded == word for ahead, word in enumerate(whole)
        ):
            yield words[at].start, end.end


def _cut(kind: TextKind, text: str, places: Sequence[tuple[int, int]]) -> Snippet:
    """A stretch of the text around the first place, with all places in it marked; "…" where it was cut."""
    start = _word_start(text, max(0, places[0][0] - BEFORE))
    end = min(len(text), max(start + LENGTH, places[0][1]))
    marked = bytearray(end - start)
    for first, last in places:
        for at in range(max(first, start), min(last, end)):
            marked[at - start] = 1
    letters = zip(text[start:end], marked, strict=True)
    parts = [
        ("".join(letter for letter, _ in run), bool(is_marked))
        for is_marked, run in groupby(letters, key=lambda each: each[1])
    ]
    before = [("…", False)] if start else []
    after = [("…", False)] if end < len(text) else []
    return Snippet(kind, (*before, *parts, *after))


def _word_start(text: str, at: int) -> int:
    """The beginning of the first word behind `at`, not further than a word may be long."""
    if at == 0:
        return 0
    blank = text.find(" ", at, at + 20)
    return at if blank < 0 else blank + 1
