"""What a person typed into a search box, as terms to look for. Knows no database.

Words are runs of letters and digits; case and diacritics are ignored.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from storage.database.encoding import plain

MAX_TERMS = 20
"""The most terms that are searched for; further ones are ignored."""

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
    """The terms of a search, all of which must match; empty where it has no letter or digit.

    A part in quotes is a phrase of whole words; every other part may be the beginning of a word, as may the
    end of a phrase without its closing quote. One ASCII letter is a whole word: too many words begin with it.
    Words joined without a space, as by a hyphen, are a phrase, too.
    """
    found: dict[tuple[tuple[str, ...], bool], Term] = {}
    for match in _PARTS.finditer(plain(search)):
        text = match[match.lastgroup or 0]
        words = tuple(word.folded for word in words_of(text))
        if words:
            begins = match.lastgroup != "closed" and not (len(words[-1]) == 1 and words[-1].isascii())
            found.setdefault((words, begins), Term(text, words, begins=begins))
    return tuple(found.values())[:MAX_TERMS]


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
        for made in _fold(letter):
            letters.append(made)
            places.append(at)
    return "".join(letters), [*places, len(text)]


@lru_cache(maxsize=4096)
def _fold(letter: str) -> str:
    apart = unicodedata.normalize("NFD", letter)
    return "".join(part for part in apart if not unicodedata.combining(part)).lower()
