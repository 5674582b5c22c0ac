"""Requests begin in their order, no more at once and a minute than they may."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from simulated_time import in_simulated_time, now

from conductor.workers.limits import Limits


async def _begun(limits: Limits, *, requests: int, lasting: float = 0.0) -> list[tuple[int, float]]:
    """Which request began when, each started in its order."""
    begun: list[tuple[int, float]] = []

    async def one(number: int) -> None:
        await limits.enter()
        begun.append((number, round(now(), 6)))
        await asyncio.sleep(lasting)
        limits.leave()

    await asyncio.gather(*(one(number) for number in range(requests)))
    return begun


@pytest.mark.parametrize(
    ("concurrency", "per_minute", "times"),
    [
        (None, None, [0, 0, 0, 0, 0]),
        (1, None, [0, 10, 20, 30, 40]),
        (2, None, [0, 0, 10, 10, 20]),
        (None, 2, [0, 0, 60, 60, 120]),
        (None, 1, [0, 60, 120, 180, 240]),
        (None, 0.5, [0, 120, 240, 360, 480]),
        (None, 1.5, [0, 40, 80, 120, 160]),
        (1, 2, [0, 10, 60, 70, 120]),
        (3, 4, [0, 0, 0, 10, 60]),
    ],
)
def test_requests_begin_in_order_as_soon_as_they_may(
    concurrency: int | None, per_minute: float | None, times: list[float]
) -> None:
    async def beginnings() -> list[tuple[int, float]]:
        limits = Limits(concurrency=concurrency, requests_per_minute=per_minute)
        return await _begun(limits, requests=5, lasting=10)

    assert in_simulated_time(beginnings()) == list(enumerate(times))


def test_who_gives_up_waiting_leaves_the_place_to_the_next() -> None:
    async def scenario() -> list[tuple[int, float]]:
        limits = Limits(concurrency=1, requests_per_minute=1)
        await _begun(limits, requests=1)
        waiting = asyncio.create_task(limits.enter())
        await asyncio.sleep(1)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        return await _begun(limits, requests=2)

    assert in_simulated_time(scenario()) == [(0, 60), (1, 120)]
