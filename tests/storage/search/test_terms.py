"""What is typed becomes terms: words, beginnings, phrases; nothing of it is ever an operator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.search.terms import MAX_TERMS, terms_of, words_of


@pytest.mark.parametrize(
    ("search", "terms"),
    [
        ("", []),
        ("  ", []),
        ('"" % _ *', []),
        ("Blue", [(("blue",), True)]),
        ("blue SKY", [(("blue",), True), (("sky",), True)]),
        ('"blue sky"', [(("blue", "sky"), False)]),
        ('"blue sky', [(("blue", "sky"), True)]),
        ('why "blue sky" now', [(("why",), True), (("blue", "sky"), False), (("now",), True)]),
        ("forty-two", [(("forty", "two"), True)]),
        ("café", [(("cafe",), True)]),
        ("a b1", [(("a",), False), (("b1",), True)]),
        ("數", [(("數",), True)]),
        ("twice twice", [(("twice",), True)]),
    ],
)
def test_a_search_is_terms(search: str, terms: list[tuple[tuple[str, ...], bool]]) -> None:
    assert [(term.words, term.begins) for term in terms_of(search)] == terms


def test_a_search_of_very_many_words_is_cut() -> None:
    assert len(terms_of(" ".join(f"word{number}" for number in range(500)))) == MAX_TERMS


@given(st.text())
def test_every_word_stands_where_it_is_said_to(text: str) -> None:
    words = words_of(text)
    assert all(0 <= word.start < word.end <= len(text) for word in words)
    assert all(words_of(text[word.start : word.end])[0].folded == word.folded for word in words)
