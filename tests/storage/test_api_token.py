"""Tokens as values: their texts, their secrets and the periods of their budgets."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from storage.api_token import (
    Period,
    TokenLimits,
    begin_of,
    day_of,
    end_of,
    is_secret_of,
    limit_texts,
    new_secret,
    read_token,
)

TEXT = f"conductor_0123456789_{'aB3-_' * 8}xyz"


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


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


@pytest.mark.parametrize(
    ("period", "now", "begin", "end"),
    [
        ("day", "2026-11-21T23:59:59", "2026-11-21", "2026-11-22"),
        ("day", "2026-12-31T00:00:00", "2026-12-31", "2027-01-01"),
        ("month", "2026-11-01T00:00:00", "2026-11-01", "2026-12-01"),
        ("month", "2024-02-29T12:00:00", "2024-02-01", "2024-03-01"),
        ("month", "2026-12-31T23:00:00", "2026-12-01", "2027-01-01"),
    ],
)
def test_a_period_is_one_of_the_calendar(period: Period, now: str, begin: str, end: str) -> None:
    assert begin_of(period, now=at(now)) == at(begin)
    assert end_of(period, now=at(now)) == at(end)


def test_a_total_has_neither_beginning_nor_end() -> None:
    now = at("2026-11-21")
    assert day_of(begin_of("total", now=now)) == day_of(0.0)
    assert end_of("total", now=now) is None


def test_limits_are_told_in_words() -> None:
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
    assert limit_texts(limits) == (
        "20,000 tokens a day",
        "$1.5 a day",
        "60 requests per minute",
        "only alpha, beta",
        "only the tools files, web:search",
        "small requests to beta",
        "unstored requests stay",
    )
    assert limit_texts(TokenLimits()) == ()
    assert limit_texts(TokenLimits(tools=())) == ("no tools of workers",)


@pytest.mark.parametrize("wrong", [{"tokens": 0}, {"cost": -1.0}, {"cost": float("inf")}, {"period": "year"}])
def test_a_limit_that_means_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TokenLimits.model_validate(wrong)
