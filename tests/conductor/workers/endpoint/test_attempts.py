"""Attempts follow each other as often and as late as they may, within the time of their call."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from simulated_time import in_simulated_time, now

from conductor.workers.endpoint.attempts import LONGEST_PAUSE, Call, Retries, pause_note
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.endpoint.rate_limits import Limits
from conductor.workers.keys.mask import NO_KEYS


def _call(limits: Limits) -> Call:
    return Call(limits=limits, retries=Retries(1), total=10, key="sk-marked")


def test_the_wait_for_a_place_is_not_the_calls_own_time() -> None:
    async def scenario() -> float:
        limits = Limits(concurrency=1)
        await limits.enter()
        asyncio.get_running_loop().call_later(100, limits.leave)
        return await _call(limits).enter()

    assert in_simulated_time(scenario()) == 110


def test_all_attempts_share_one_time() -> None:
    async def scenario() -> list[float]:
        call = _call(Limits())
        first = await call.enter()
        call.leave()
        assert call.can_wait(9)
        await asyncio.sleep(4)
        assert not call.can_wait(6)
        return [first, await call.enter()]

    assert in_simulated_time(scenario()) == [10, 10]


def test_the_wait_for_another_attempt_ends_with_the_call() -> None:
    async def scenario() -> float:
        limits = Limits(concurrency=1)
        call = _call(limits)
        await call.enter()
        with pytest.raises(TimeoutError):
            await call.enter()
        call.leave()
        await _call(limits).enter()
        return now()

    assert in_simulated_time(scenario()) == 10


def test_a_call_does_not_show_its_key() -> None:
    assert "sk-marked" not in repr(_call(Limits()))


def failure(*, transient: bool = True, retry_after: float | None = None) -> EndpointFailure:
    return EndpointFailure("it is busy", advice="wait", transient=transient, retry_after=retry_after)


def status(code: int, **headers: str) -> EndpointFailure:
    """The failure of an answer with this status."""
    failures = Failures("alpha", Endpoint(base_url="http://localhost/v1", model="m"))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failures.status(httpx.Response(code, headers=named), b"", NO_KEYS)


def test_pauses_grow_at_random_and_end_with_the_last_attempt() -> None:
    most = [0.5, 1, 2, 4, 8, 8]
    for _ in range(50):
        retries = Retries(len(most))
        pauses = [retries.pause(failure()) for _ in most]
        assert all(0.1 <= pause <= limit for pause, limit in zip(pauses, most, strict=True))
        with pytest.raises(EndpointFailure, match="it is busy"):
            retries.pause(failure())
    assert Retries(1).pause(failure()) != Retries(1).pause(failure())


def test_a_failure_that_will_not_pass_is_not_waited_for() -> None:
    last = failure(transient=False, retry_after=1)
    with pytest.raises(EndpointFailure) as caught:
        Retries(3).pause(last)
    assert caught.value is last


def test_what_a_server_asks_for_is_waited_with_a_little_more() -> None:
    assert Retries(1).pause(failure(retry_after=0)) == 0
    assert all(20 <= Retries(1).pause(failure(retry_after=20)) <= 22 for _ in range(20))
    assert pause_note(failure(retry_after=20)) == ""


def test_a_server_that_asks_for_too_much_is_told_of() -> None:
    long = failure(retry_after=3_600)
    assert LONGEST_PAUSE <= Retries(1).pause(long) <= LONGEST_PAUSE * 1.1
    assert pause_note(long) == "; it asks for 3,600 seconds, of which 60 are waited"


@pytest.mark.parametrize(
    ("code", "transient"),
    [
        (301, False),
        (400, False),
        (401, False),
        (404, False),
        (408, True),
        (409, True),
        (422, False),
        (429, True),
        (500, True),
        (501, True),
        (503, True),
        (529, True),
    ],
)
def test_statuses_that_may_pass_are_asked_again(code: int, transient: bool) -> None:
    assert status(code).transient is transient


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 0.5 ", 0.5),
        ("-1", None),
        ("soon", None),
        ("9" * 400, None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00", 0.0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
    ],
)
def test_the_pause_a_server_asks_for_is_read(header: str, seconds: float | None) -> None:
    assert status(429, retry_after=header).retry_after == seconds


def test_a_date_to_come_back_at_is_read() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    asked = status(503, retry_after=date).retry_after
    assert asked is not None
    assert 3_500 < asked <= 3_600
