"""Limits a minute: how many requests go through, how long the others wait, and what headers say about it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.access.rate_limits import RateLimits, duration


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_minute_brings_as_many_requests_as_it_may() -> None:
    clock = Clock()
    limits = RateLimits(clock)
    waits = [limits.admit("a", requests=3, tokens=None).wait for _ in range(4)]
    assert waits[:3] == [0, 0, 0]
    assert waits[3] == pytest.approx(20)
    clock.now += 20
    assert limits.admit("a", requests=3, tokens=None).wait == 0
    assert limits.admit("b", requests=3, tokens=None).wait == 0, "everybody has limits of their own"


def test_tokens_are_taken_afterwards_and_a_debt_is_waited_for() -> None:
    clock = Clock()
    limits = RateLimits(clock)
    assert limits.admit("a", requests=None, tokens=600).wait == 0
    limits.spend("a", 900)
    admission = limits.admit("a", requests=None, tokens=600)
    assert (admission.kind, admission.wait) == ("tokens", pytest.approx(30.1))
    assert admission.headers["x-ratelimit-remaining-tokens"] == "0"
    clock.now += 31
    assert limits.admit("a", requests=None, tokens=600).wait == 0


def test_a_request_that_has_to_wait_takes_nothing() -> None:
    limits = RateLimits(Clock())
    limits.admit("a", requests=1, tokens=None)
    waits = {limits.admit("a", requests=1, tokens=None).wait for _ in range(10)}
    assert waits == {60}


def test_headers_tell_what_is_left_in_openais_words() -> None:
    limits = RateLimits(Clock())
    admission = limits.admit("a", requests=60, tokens=1000)
    assert admission.headers == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "1000",
        "x-ratelimit-reset-tokens": "0s",
    }
    assert limits.admit("b", requests=None, tokens=None).headers == {}


def test_another_limit_begins_anew() -> None:
    limits = RateLimits(Clock())
    limits.admit("a", requests=1, tokens=None)
    assert limits.admit("a", requests=2, tokens=None).wait == 0


@given(st.integers(1, 50), st.lists(st.floats(0, 40), max_size=60))
def test_no_stretch_of_time_brings_more_than_its_share(limit: int, pauses: list[float]) -> None:
    clock = Clock()
    limits = RateLimits(clock)
    start, let_in = clock.now, 0
    for pause in pauses:
        clock.now += pause
        let_in += not limits.admit("a", requests=limit, tokens=None).wait
        assert let_in <= limit + (clock.now - start) * limit / 60 + 1e-6


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0s"),
        (0.0201, "21ms"),
        (0.5, "500ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (60, "1m0s"),
        (361.25, "6m1.25s"),
    ],
)
def test_durations_are_written_as_openai_does(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected
