"""A key is masked in a text, in one piece or in many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.workers.keys.mask import MASK, NO_KEYS, SHORTEST_KEY, Mask, MaskedStream
from tests.support.cases.property_cases import cases

KEY = "sk-marked-0123456789"
LETTERS = "ab"
KEYS = st.lists(st.text(LETTERS, min_size=SHORTEST_KEY, max_size=SHORTEST_KEY + 4), min_size=1, max_size=3)


def _streamed(mask: Mask, pieces: list[str]) -> str:
    stream = MaskedStream(mask)
    return "".join([*map(stream.feed, pieces), stream.end()])


@st.composite
def _split(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.sets(st.integers(0, len(text)))))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@pytest.mark.slow
@given(st.data())
@cases(300)
def test_however_a_text_is_split_its_keys_are_masked_as_in_the_whole(data: st.DataObject) -> None:
    keys = data.draw(KEYS)
    parts = data.draw(st.lists(st.sampled_from(keys) | st.text(f"{LETTERS} ", max_size=10), max_size=6))
    text = "".join(parts)
    mask = Mask(keys)
    came = _streamed(mask, data.draw(_split(text)))
    assert came == mask(text)
    assert not [key for key in keys if key in came]


@given(st.data())
@cases(100)
def test_a_text_without_a_key_comes_unchanged(data: st.DataObject) -> None:
    text = data.draw(st.text(f"{LETTERS}c\U0001f600", max_size=40))
    mask = Mask(["abc-abc-abc", "b" * 60])
    assert mask(text) == text
    assert _streamed(mask, data.draw(_split(text))) == text


@pytest.mark.parametrize(
    ("pieces", "came"),
    [
        (["it is ", KEY], ["it is ", MASK, ""]),
        (["it is sk", "-marked-0123456789, as I said"], ["it is ", f"{MASK}, as I said", ""]),
        (["ask", " me"], ["a", "sk me", ""]),
        (["sk-", "sk-"], ["", "sk-", "sk-"]),
        ([*KEY], [*[""] * (len(KEY) - 1), MASK, ""]),
    ],
)
def test_only_what_could_be_the_beginning_of_a_key_is_held_back(pieces: list[str], came: list[str]) -> None:
    stream = MaskedStream(Mask([KEY, None]))
    assert [*map(stream.feed, pieces), stream.end()] == came


def test_the_longest_of_the_keys_that_begin_alike_is_masked() -> None:
    longer = f"{KEY}-more"
    mask = Mask([KEY, longer])
    assert mask(f"{KEY} {longer}") == f"{MASK} {MASK}"
    assert _streamed(mask, [KEY, "-mo", "ney"]) == f"{MASK}-money"


@pytest.mark.parametrize("mask", [NO_KEYS, Mask([None, "", "none", "EMPTY"])])
def test_a_stand_in_for_a_key_is_an_ordinary_word(mask: Mask) -> None:
    assert mask("none is EMPTY") == _streamed(mask, ["no", "ne is EMPTY"]) == "none is EMPTY"


def test_a_mask_does_not_show_its_keys() -> None:
    mask = Mask([KEY])
    assert KEY not in repr(mask) + repr(MaskedStream(mask))
