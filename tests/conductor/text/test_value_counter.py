"""How many values a JSON text has, wherever its pieces end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.text.json_text import ValueCounter
from tests.support.cases.property_cases import cases

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a"\\[{,\n€😀'), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('a"\\,', max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


def values_in(content: bytes, *, at_once: int) -> int:
    counter = ValueCounter()
    for start in range(0, len(content), at_once):
        counter.feed(content[start : start + at_once])
    return counter.values


def values(of: Any) -> int:
    inner = of.values() if isinstance(of, dict) else of if isinstance(of, list) else None
    return 0 if inner is None else max(1, len(inner)) + sum(map(values, inner))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", 0),
        (b'"[,{"', 0),
        (b"[]", 1),
        (b"[1, [2, 3]]", 4),
        (b'{"a": "\\"[,", "b\\\\": {}}', 3),
        (b'{"a": "\\\\\\",,,"}', 1),
        ("[\"\u20ac,\", ','".encode(), 3),
    ],
)
def test_the_values_of_a_text_are_counted(content: bytes, expected: int) -> None:
    assert values_in(content, at_once=1_000) == expected


@pytest.mark.slow
@cases(200)
@given(document=JSON, at_once=st.integers(1, 7), ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_the_count_does_not_depend_on_where_the_pieces_end(
    document: Any, at_once: int, ascii_only: bool, indent: int | None
) -> None:
    content = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    assert values_in(content, at_once=at_once) == values(document)
