"""The counters that stand in for a clock distinguish a line from a square, and a hang has an end."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from tests.support.cases.reading_work import growth, patience

READER = ModuleType("reader.words")
READER.WORD = re.compile("a")  # type: ignore[attr-defined]
READER.STOPS = {"b": re.compile("b")}  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with one module, which has two patterns."""
    monkeypatch.setitem(sys.modules, READER.__name__, READER)


def once(text: str) -> None:
    for word in READER.WORD.finditer(text):
        text.find("a", word.end())


def the_rest_again_by_a_pattern(text: str) -> None:
    for word in READER.WORD.finditer(text):
        READER.STOPS["b"].search(text, word.end())


def the_rest_again_in_a_function(text: str) -> None:
    for word in READER.WORD.finditer(text):
        re.findall("c", text[word.end() :])


def the_rest_again_by_a_method(text: str) -> None:
    for word in READER.WORD.finditer(text):
        text[word.end() :].split()


def the_rest_again_letter_by_letter(text: str) -> None:
    for word in READER.WORD.finditer(text):
        for at in range(word.end(), len(text)):
            text.startswith("b", at)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (once, 2),
        (the_rest_again_by_a_pattern, 4),
        (the_rest_again_in_a_function, 4),
        (the_rest_again_by_a_method, 4),
        (the_rest_again_letter_by_letter, 4),
    ],
)
def test_growth_is_that_of_the_work(read: Callable[[str], None], expected: int) -> None:
    assert growth(read, lambda length: "a" * length, package="reader", length=100) == pytest.approx(
        expected, abs=0.2
    )


def test_what_was_counted_is_left_as_it_was() -> None:
    before = (READER.WORD, READER.STOPS["b"], sys.getprofile())
    growth(once, lambda length: "a" * length, package="reader", length=10)
    assert (READER.WORD, READER.STOPS["b"], sys.getprofile()) == before


@pytest.mark.slow
def test_patience_with_a_pattern_that_never_ends_has_an_end() -> None:
    with pytest.raises(pytest.fail.Exception, match="still reading"), patience(seconds=0.05):
        re.match("(a+)+b", "a" * 60)
