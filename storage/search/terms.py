"""Turns the text of a search box into terms, and finds their place in a text.

Words are runs of letters and digits; case and diacritics are ignored. A snippet's text is a person's or a
model's: untrusted. Knows no database.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal, get_args

from conductor.text.json_text import portable

MAX_TERMS = 20
"""The most terms that are searched for; further ones are ignored."""

TextKind = Literal["title", "query", "tag", "instruction", "answer", "note"]
"""What a text is in its session."""

BEFORE, LENGTH = 40, 180
"""Characters shown before the first match, and in all."""

SEARCHED = 100_000
"""Characters of a session's texts in which a place is looked for."""

_PARTS = re.compile(r'"(?P<closed>[^"]*)"|"(?P<open>[^"]*)|(?P<bare>[^\s"]+)')
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Term:
    """Consecutive words; `begins`: the last may be the beginning of a longer one.

    `text` is how they were typed, for a database that folds words differently; `words` are folded.
    """

    text: str
    words: tuple[str, ...]
    begins: bool


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, folded, and its place: text[start:end]."""

    folded: str
    start: int
    end: int


def terms_of(search: str) -> tuple[Term, ...]:
    """The terms of a search, which must all match; empty if it has no letter or digit.

    A part in quotes is a phrase of whole words; every other part may be the beginning of a word, as may the
    end of a phrase without its closing quote. One ASCII letter is a whole word: too many words begin with it.
    Words joined without a space, as by a hyphen, are a phrase, too.
    """
    terms: dict[tuple[tuple[str, ...], bool], Term] = {}
    for match in _PARTS.finditer(portable(search)):
        text = match[match.lastgroup or 0]
        words = tuple(word.folded for word in words_of(text))
        if words:
            begins = match.lastgroup != "closed" and not (len(words[-1]) == 1 and words[-1].isascii())
            terms.setdefault((words, begins), Term(text, words, begins=begins))
    return tuple(terms.values())[:MAX_TERMS]


def has_term(text: str, term: Term) -> bool:
    """Whether a text has the words of a term, as SQLite's index has them."""
    return _pattern(term).search(_indexed(text)) is not None


@lru_cache(maxsize=256)
def _pattern(term: Term) -> re.Pattern[str]:
    phrase = r"[\W_]+".join(map(re.escape, index_words(term)))
    end = "" if term.begins else r"(?![^\W_])"
    return re.compile(rf"(?<![^\W_]){phrase}{end}")


def index_words(term: Term) -> tuple[str, ...]:
    """The words of a term, as SQLite's index has them."""
    return tuple(_WORD.findall(_indexed(term.text)))


def _indexed(text: str) -> str:
    return text.lower() if text.isascii() else "".join(map(_index_letter, text))


@lru_cache(maxsize=4096)
def _index_letter(letter: str) -> str:
    """The letter as SQLite's index has it, which takes accents from Latin letters alone."""
    if unicodedata.combining(letter):
        return "" if letter <= "\u0331" else " "
    base = unicodedata.normalize("NFD", letter)[0]
    if base.isascii():
        return base.lower()
    return {"ς": "σ", "ſ": "s"}.get(letter, letter.lower())


def words_of(text: str) -> tuple[Word, ...]:
    """The words of a text in order."""
    if text.isascii():
        return tuple(Word(match[0], *match.span()) for match in _WORD.finditer(text.lower()))
    folded, places = _folded(text)
    return tuple(
        Word(match[0], places[match.start()], places[match.end()]) for match in _WORD.finditer(folded)
    )


def _folded(text: str) -> tuple[str, list[int]]:
    """The text without case and diacritics; the original position of each letter, and then of the end.

    A combining accent belongs to the letter before it.
    """
    letters, places = [], []
    for at, letter in enumerate(text):
        for base in _fold(letter):
            letters.append(base)
            places.append(at)
    return "".join(letters), [*places, len(text)]


@lru_cache(maxsize=4096)
def _fold(letter: str) -> str:
    apart = unicodedata.normalize("NFD", letter)
    return "".join(part for part in apart if not unicodedata.combining(part)).lower()


# -- snippets --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Snippet:
    """Stretches of a text of this kind, each with whether a term matched it; joined they are the text."""

    kind: TextKind
    parts: tuple[tuple[str, bool], ...]


def snippet(texts: Sequence[tuple[TextKind, str]], terms: Sequence[Term]) -> Snippet | None:
    """The text that contains most of the terms, cut around them; None without one. Titles are left out.

    Of texts that contain as many, the first of note, answer, instruction, query and tag counts.
    """
    order = get_args(TextKind)
    best: tuple[int, int] = (0, 0)
    match: tuple[TextKind, str, tuple[tuple[int, int], ...]] | None = None
    left = SEARCHED
    for kind, text in texts:
        if kind == "title":
            continue
        words = words_of(text[:left])
        left -= min(len(text), left)
        places = [place for term in terms if (place := tuple(_places(words, term)))]
        rank = (len(places), order.index(kind))
        if places and rank > best:
            best, match = rank, (kind, text, tuple(sorted(each for place in places for each in place)))
    return None if match is None else _cut(*match)


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
