"""Pieces of thoughts and signatures become the members of the whole message."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.values.message_parts.opaque import MAX_OPAQUE, members_of
from conductor.workers.endpoint.reply.opaque_pieces import OpaquePieces
from conductor.workers.keys.mask import NO_KEYS, Mask
from tests.support.cases.property_cases import cases

KEY = "sk-secret-1234567890"


def whole(*pieces: dict[str, Any], mask: Mask = NO_KEYS) -> dict[str, Any] | None:
    opaque = OpaquePieces(mask)
    for piece in pieces:
        opaque.take(piece)
    return None if opaque.whole is None else members_of(opaque.whole)


def block(**more: Any) -> dict[str, Any]:
    return {"thinking_blocks": [{"type": "thinking", **more}]}


@pytest.mark.parametrize(
    ("pieces", "members"),
    [
        ([{"reasoning_content": ""}, {"reasoning_content": None}, {"content": "42"}], None),
        ([{"thought": True, "content": "hm"}], None),
        ([{"reasoning": "a"}, {"reasoning": "b"}, {"reasoning": "c"}], {"reasoning": "abc"}),
        ([{"reasoning_opaque": "x"}, {"reasoning_opaque": "xy"}], {"reasoning_opaque": "xy"}),
        (
            [block(thinking="a"), block(thinking="b", signature="s"), block(thinking="c")],
            {
                "thinking_blocks": [
                    {"type": "thinking", "thinking": "ab", "signature": "s"},
                    {"type": "thinking", "thinking": "c"},
                ]
            },
        ),
        (
            [{"reasoning_details": [{"type": "reasoning.encrypted", "data": each}]} for each in "ab"],
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": each} for each in "ab"]},
        ),
        (
            [
                {"reasoning_details": [{"type": "reasoning.summary", "index": at, "summary": "a"}]}
                for at in (0, 1)
            ],
            {
                "reasoning_details": [
                    {"type": "reasoning.summary", "index": at, "summary": "a"} for at in (0, 1)
                ]
            },
        ),
    ],
)
def test_pieces_are_joined_as_their_service_does(pieces: Any, members: Any) -> None:
    assert whole(*pieces) == members


@cases(50)
@given(st.lists(st.text(), min_size=1))
def test_a_text_in_any_pieces_is_the_text(pieces: list[str]) -> None:
    text = "".join(pieces).replace("\x00", "\ufffd")
    members = whole(*({"reasoning": piece, **block(thinking=piece)} for piece in pieces)) or {}
    assert members.get("reasoning", "").replace("\x00", "\ufffd") == text


def test_keys_are_hidden_wherever_they_are_cut() -> None:
    pieces = [{"reasoning": letter, **block(thinking=letter)} for letter in f"a {KEY} b"]
    extra = {"extra_content": {"google": {"thought_signature": KEY}}}
    members = whole(*pieces, extra, mask=Mask([KEY]))
    assert members == {
        "reasoning": "a *** b",
        **block(thinking="a *** b"),
        "extra_content": {"google": {"thought_signature": "***"}},
    }


@pytest.mark.parametrize(
    "pieces", [[{"signature": "x" * (MAX_OPAQUE + 1)}], [{"reasoning": "x" * 1_000}] * 1_100]
)
def test_what_is_too_long_is_left_out_as_a_whole(pieces: list[dict[str, Any]]) -> None:
    assert whole(*pieces, block(thinking="a")) is None
