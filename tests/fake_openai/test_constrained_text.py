"""Text for a regular expression is matched by it; what constrained decoding cannot do is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.fake_openai.matching import matching
from conductor.fake_openai.refusal import Refusal
from conductor.fake_openai.text import seeded

ATOMS = ("a", " ", "7", "é", r"\.", r"\[", r"\n", r"\x41", r"\u00e9", ".", r"\d", r"\w", r"\s", r"\S", r"\W")
CLASSES = (
    "[abc]",
    "[a-z ]",
    '[^"\\\\\n]',
    "[]x]",
    "[^]x]",
    "[a-]",
    r"[\d_]",
    r"[^\w ]",
    r"[\x20-\x7e]",
    "[À-Ö]",
)
REPEATS = ("", "", "*", "+", "?", "{2}", "{1,3}", "{0,40}", "{2,}", "{,4}", "*?")


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    series = st.lists(inner, min_size=1, max_size=3).map("".join)
    groups = st.builds("({}{})".format, st.sampled_from(("", "?:")), series)
    choices = st.lists(inner, min_size=2, max_size=3).map(lambda options: f"({'|'.join(options)})")
    return st.builds("{}{}".format, groups | choices, st.sampled_from(REPEATS))


LEAVES = st.builds("{}{}".format, st.sampled_from(ATOMS + CLASSES), st.sampled_from(REPEATS))
EXPRESSIONS = st.recursive(LEAVES, _grown, max_leaves=6)


@given(EXPRESSIONS, st.integers(0, 3))
def test_what_is_written_is_matched(expression: str, seed: int) -> None:
    text = matching(expression, seeded(str(seed)))
    assert re.fullmatch(expression, text), (expression, text)


def test_room_for_words_is_filled_with_words() -> None:
    text = matching(r'"[A-Za-z ,.]{1,40}"', seeded("x"))
    assert len(text.split()) > 2
    assert matching("[a-z]{3,9}", seeded("x")).isalpha()
    assert matching(r'"([^"\\]|\\["\\])*"', seeded("x")).count(" ") > 1


def test_anchors_and_named_groups_are_read() -> None:
    assert matching(r"^(?P<one>a)(?<two>b)$", seeded("x")) == "ab"
    assert matching(r"\Aa{}\Z", seeded("x")) == "a{}"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("a)", "no opening one"),
        ("(a", "not closed"),
        ("[a", "not closed"),
        ("[a\\", "not supported"),
        ("*a", "nothing to repeat"),
        ("a**", "repeated"),
        ("a{3,1}", "ends before it begins"),
        ("(?=a)", "look around"),
        ("(?i)a", "look around"),
        (r"(a)\1", "not supported"),
        (r"\bword", "not supported"),
        (r"\xZZ", "hexadecimal"),
        ("[z-a]", "range"),
        (r"[^\s\S]", "no printable character"),
        ("a{999999}", "too long"),
        ("(a{999}){999}", "too long"),
        ("(" * 5000, "deep"),
    ],
)
def test_what_constrained_decoding_cannot_do_is_refused(expression: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        matching(expression, seeded("x"))
