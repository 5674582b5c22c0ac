"""The time of a call begins with its first attempt and goes on through the others."""

from __future__ import annotations

import asyncio

import pytest
from simulated_time import in_simulated_time, now

from conductor.workers.call import Call
from conductor.workers.limits import Limits
from conductor.workers.retries import Retries


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
