"""Limits a minute: what headers report of them, and how often a login may be tried."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.limits import NO_RATE, Levels, Limits
from studio.access.rate_limits import Attempts, admission, duration

BOTH = Limits(requests_per_minute=60, tokens_per_minute=1000)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_headers_show_what_is_left_in_openais_words() -> None:
    admitted = admission(BOTH, Levels(True, 59, 1000))
    assert admitted.headers == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "1000",
        "x-ratelimit-reset-tokens": "0s",
    }
    assert admission(Limits(), NO_RATE) == (0, "requests", {})


def test_a_refused_request_waits_for_the_limit_that_is_longest_away() -> None:
    admitted = admission(BOTH, Levels(False, 0.5, -500))
    assert (admitted.kind, admitted.wait) == ("tokens", pytest.approx(30.06))
    assert admitted.headers["x-ratelimit-remaining-tokens"] == "0"
    assert admitted.headers["x-ratelimit-reset-tokens"] == "1m30s"


def test_attempts_come_back_evenly_and_each_has_their_own() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    waits = [attempts.wait("a", 3) for _ in range(5)]
    assert waits == [0, 0, 0, pytest.approx(20), pytest.approx(20)]
    assert attempts.wait("b", 3) == 0
    clock.now += 20
    assert attempts.wait("a", 3) == 0


@given(st.integers(1, 50), st.lists(st.floats(0, 40), max_size=60))
def test_no_stretch_of_time_brings_more_attempts_than_its_share(limit: int, pauses: list[float]) -> None:
    clock = Clock()
    attempts = Attempts(clock)
    start, let_in = clock.now, 0
    for pause in pauses:
        clock.now += pause
        let_in += not attempts.wait("a", limit)
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
