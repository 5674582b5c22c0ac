"""Tokens as values: their texts, their secrets and their limits in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.api_token import (
    TokenLimits,
    is_secret_of,
    new_secret,
    read_token,
)

TEXT = f"conductor_0123456789_{'aB3-_' * 8}xyz"


def test_a_new_token_is_read_back_and_known_by_its_digest_alone() -> None:
    token, other = new_secret(), new_secret()
    read = read_token(token.text)
    assert read is not None
    id, secret = read
    assert id == token.id != other.id
    assert is_secret_of(token.digest, secret)
    assert not is_secret_of(other.digest, secret)
    assert secret not in token.digest
    assert read_token(TEXT) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sk-proj-1234",
        "conductor_0123456789",
        TEXT[:-1],
        f"{TEXT}x",
        f"{TEXT}\n",
        TEXT.upper(),
        f"conductor_0123456789_{'ä' * 43}",
    ],
)
def test_what_is_no_token_is_not_read_as_one(text: str) -> None:
    assert read_token(text) is None


@given(st.text())
def test_any_text_may_be_offered_as_a_token(text: str) -> None:
    assert read_token(text) is None
    assert not is_secret_of(new_secret().digest, text.encode(errors="replace").decode())


def test_limits_are_reported_in_words() -> None:
    limits = TokenLimits(
        workers=("alpha", "beta"),
        tokens=20_000,
        cost=1.5,
        period="day",
        requests_per_minute=60,
        keeps_unstored=True,
        small_requests="beta",
        tools=("files", "web:search"),
    )
    assert limits.texts == (
        "20,000 tokens a day",
        "$1.5 a day",
        "60 requests per minute",
        "only alpha, beta",
        "only the tools files, web:search",
        "small requests to beta",
        "unstored requests stay",
    )
    assert TokenLimits().texts == ()
    assert TokenLimits(tools=()).texts == ("no tools of workers",)
