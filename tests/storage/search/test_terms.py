"""What is typed becomes terms: words, beginnings, phrases; nothing of it is ever an operator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.search.terms import MAX_TERMS, SEARCHED, Snippet, TextKind, snippet, terms_of, words_of


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


@pytest.mark.slow
@given(st.text())
def test_every_word_stands_where_it_is_stated_to(text: str) -> None:
    words = words_of(text)
    assert all(0 <= word.start < word.end <= len(text) for word in words)
    assert all(words_of(text[word.start : word.end])[0].folded == word.folded for word in words)


def marked(stretch: Snippet | None) -> list[str]:
    assert stretch is not None
    return [text for text, matched in stretch.parts if matched]


@pytest.mark.parametrize(
    ("text", "search", "words"),
    [
        ("Why is the sky blue?", "BLU", ["blue"]),
        ("Le café, la CAFETERIA", "cafe", ["café", "CAFETERIA"]),
        ("the blue sky, a sky of blue", '"blue sky"', ["blue sky"]),
        ("forty-two", "forty-tw", ["forty-two"]),
        ("e\u0301te\u0301", "ete", ["e\u0301te\u0301"]),
        ("<b>bold</b>", "bold", ["bold"]),
    ],
)
def test_what_matched_is_marked_as_it_is_written(text: str, search: str, words: list[str]) -> None:
    stretch = snippet([("answer", text)], terms_of(search))
    assert marked(stretch) == words
    assert stretch is not None
    assert "".join(part for part, _ in stretch.parts) == text


@pytest.mark.parametrize(
    ("texts", "search", "text_kind"),
    [
        ([("title", "sky")], "sky", None),
        ([("query", "sky"), ("answer", "sky")], "sky", "answer"),
        ([("answer", "sky"), ("query", "blue sky")], "blue sky", "query"),
        ([("tag", "sky"), ("instruction", "sky")], "sky", "instruction"),
        ([("answer", "nothing")], "sky", None),
        ([("answer", " " * SEARCHED + "sky")], "sky", None),
    ],
)
def test_the_text_that_has_most_of_the_terms_is_shown(
    texts: list[tuple[TextKind, str]], search: str, text_kind: str | None
) -> None:
    stretch = snippet(texts, terms_of(search))
    assert (stretch and stretch.kind) == text_kind


def test_a_long_text_is_cut_around_the_match() -> None:
    stretch = snippet([("answer", "before " * 100 + "here" + " after" * 100)], terms_of("here"))
    assert stretch is not None
    text = "".join(part for part, _ in stretch.parts)
    assert text.startswith("…before ")
    assert text.endswith("…")
    assert marked(stretch) == ["here"]
    assert len(text) < 200


@given(st.text(), st.text())
def test_any_text_and_any_search_give_a_stretch_of_the_text_or_nothing(text: str, search: str) -> None:
    stretch = snippet([("answer", text)], terms_of(search))
    assert stretch is None or "".join(part for part, _ in stretch.parts).strip("…") in text
