"""Texts in Markdown on one line: without marks, short, and never longer to read than a card can show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.text.excerpt import EXCERPT_LENGTH, excerpt, last_line
from tests.support.cases.reading_work import work


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Plain.", "Plain."),
        ("# Title\n\nThe *answer* is **`42`**.", "Title · The answer is 42."),
        ("First.\n\nThen this", "First. Then this"),
        ("- one\n- [ ] two\n  1. three", "one · [ ] two · three"),
        ("| a | b |\n|---|---|\n| 1 | **2** |", "a · b · 1 · 2"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("[a link](https://example.org) ![a picture](https://example.org/p.png)", "a link a picture"),
        ("> quoted\n> text", "quoted text"),
        ("<b onclick=x>bold</b> & <!-- so -->", "<b onclick=x>bold</b> & <!-- so -->"),
        ("2 ** 3 = 8, f(**given), snake_case", "2 ** 3 = 8, f(**given), snake_case"),
        ("**not closed", "not closed"),
        ("~~gone~~ here", "gone here"),
        ("התשובה היא **41**", "התשובה היא 41"),
    ],
)
def test_an_excerpt_is_what_a_reader_sees(text, expected):
    assert excerpt(text) == expected


def test_what_is_too_long_ends_with_an_ellipsis():
    assert excerpt("word " * 100, 12) == "word word w…"
    assert excerpt("a" * 5000) == "a" * (EXCERPT_LENGTH - 1) + "…"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("one\ntwo\n", "two"),
        ("one\n- **two** and **thr", "two and thr"),
        ("```python\nprint(1)\n```\n", "print(1)"),
        ("| a | b |\n|---|---|\n", "a · b"),
        ("a" * 5000, "…" + "a" * (EXCERPT_LENGTH - 1)),
    ],
)
def test_the_last_line_is_the_newest_that_has_words(text, expected):
    assert last_line(text) == expected


@given(st.text(alphabet="ab *_`#|[]()!<>-~\n\\$", max_size=400))
def test_any_text_gives_a_short_line(text):
    for line in (excerpt(text), last_line(text)):
        assert len(line) <= EXCERPT_LENGTH
        assert "\n" not in line


@pytest.mark.slow
def test_a_hostile_text_costs_no_more_than_its_beginning():
    for text in ("`" * 1_000_000, "*a" * 500_000, "[" * 1_000_000, "> " * 500_000):
        assert len(excerpt(text)) <= EXCERPT_LENGTH
        assert len(last_line(text)) <= EXCERPT_LENGTH


def test_the_excerpts_of_a_thousand_steps_are_read_once() -> None:
    texts = [f"**Part {at}** is done, and `it` is {at}." for at in range(1_000)]

    def of_all() -> None:
        for length in (90, 24):
            for text in texts:
                excerpt(text, length)

    first, second = (work(of_all, package="conductor.text") for _ in range(2))
    assert second < first / 10
