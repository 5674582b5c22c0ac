"""Requests begin in their order, no more at once and a minute than their limits allow, in all loops."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from chat_cases import asked, client, completed, endpoint, request
from fake_openai import Served
from raw_endpoint import DONE, chunk, head, raw_endpoint
from simulated_time import in_simulated_time, now

from conductor.workers.endpoint import rate_limits
from conductor.workers.endpoint.rate_limits import Limits, Traffic, traffic_of
from conductor.workers.pool.pool import Pool, read_pool
from conductor.workers.stream import opened


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


@pytest.fixture(autouse=True)
def nothing_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traffic of another test."""
    monkeypatch.setattr(rate_limits, "_found", {})


async def _entered(limits: Limits) -> float:
    await limits.enter()
    return now()


def test_what_began_before_the_limits_changed_counts_for_the_new_ones() -> None:
    async def scenario() -> list[float]:
        shared = Traffic()
        before = Limits(requests_per_minute=3, traffic=shared)
        begun = [await _entered(before) for _ in range(2)]
        after = Limits(requests_per_minute=2, traffic=shared)
        return [*begun, await _entered(after), await _entered(Limits(requests_per_minute=4, traffic=shared))]

    assert in_simulated_time(scenario()) == [0, 0, 60, 60]


def test_a_wider_limit_holds_at_once_and_counts_what_is_under_way() -> None:
    async def scenario() -> list[float]:
        shared = Traffic()
        await Limits(concurrency=1, traffic=shared).enter()
        wider = Limits(concurrency=2, traffic=shared)
        asyncio.get_running_loop().call_later(10, wider.leave)
        return [await _entered(wider), await _entered(wider)]

    assert in_simulated_time(scenario()) == [0, 10]


def test_requests_with_different_limits_begin_in_the_order_in_which_they_came() -> None:
    async def scenario() -> list[float]:
        shared = Traffic()
        strict, wide = Limits(concurrency=1, traffic=shared), Limits(concurrency=3, traffic=shared)
        await wide.enter()
        asyncio.get_running_loop().call_later(5, wide.leave)
        return list(await asyncio.gather(_entered(strict), _entered(wide)))

    assert in_simulated_time(scenario()) == [5, 5]


def test_requests_of_two_event_loops_count_together() -> None:
    limits = Limits(concurrency=1)
    inside, entered = threading.Event(), threading.Event()

    async def other() -> None:
        inside.set()
        await limits.enter()
        entered.set()
        limits.leave()

    async def scenario() -> bool:
        await limits.enter()
        thread = threading.Thread(target=asyncio.run, args=(other(),))
        thread.start()
        await asyncio.to_thread(inside.wait, 10)
        early = await asyncio.to_thread(entered.wait, 0.05)
        limits.leave()
        await asyncio.to_thread(thread.join, 10)
        return early

    assert asyncio.run(scenario()) is False
    assert entered.is_set()


def test_a_loop_that_was_closed_holds_no_place() -> None:
    limits = Limits(concurrency=1)
    gone = asyncio.new_event_loop()
    gone.run_until_complete(limits.enter())
    waiting = limits.enter()
    left = gone.create_task(waiting)
    gone.run_until_complete(asyncio.sleep(0))
    gone.close()
    assert in_simulated_time(_entered(limits)) == 0
    waiting.close()
    assert not left.done()


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"base_url": "http://a/v1/"}, True),
        ({"concurrency": 3, "requests_per_minute": 5, "retries": 1}, True),
        ({"base_url": "http://b/v1"}, False),
        ({"api_key_env": "OTHER_API_KEY"}, False),
        ({"api_key_env": None}, False),
        ({"model": "other"}, False),
    ],
)
def test_traffic_belongs_to_an_address_a_key_and_a_model(other: dict[str, object], *, same: bool) -> None:
    one = endpoint("http://a/v1", api_key_env="A_API_KEY")
    assert (traffic_of(one) is traffic_of(one.model_copy(update=other))) == same


def test_traffic_that_is_not_used_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 1_000_000.0
    monkeypatch.setattr(rate_limits, "time", SimpleNamespace(monotonic=lambda: seconds))
    idle, used, busy = (endpoint("http://a/v1", model) for model in ("idle", "used", "busy"))
    before = {one.model: traffic_of(one) for one in (idle, used, busy)}
    loop = asyncio.new_event_loop()
    loop.run_until_complete(before["busy"].enter(concurrency=None, rate=None))
    for _ in range(4):
        seconds += rate_limits.IDLE_SECONDS / 3
        traffic_of(used)
    assert {model for _, _, model in rate_limits._found} == {"used", "busy"}
    assert traffic_of(used) is before["used"]
    assert traffic_of(busy) is before["busy"]
    loop.close()


POOL = """
[[worker]]
name = "alpha"
base_url = "{base_url}"
model = "m"
concurrency = {concurrency}
"""


async def test_a_pool_that_was_saved_again_takes_no_more_than_it_may(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    under_way = most = 0
    arrived, go = asyncio.Queue[None](), asyncio.Event()

    async def slow(writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        arrived.put_nowait(None)
        await go.wait()
        under_way -= 1
        writer.write(head() + chunk(content="a") + DONE)

    async def all_of(pool: Pool) -> None:
        async with opened(pool["alpha"].stream(request())) as items:
            async for _ in items:
                pass

    def saved(base_url: str, *, concurrency: int, comment: str = "") -> Pool:
        file.write_text(comment + POOL.format(base_url=base_url, concurrency=concurrency))
        return read_pool(file)

    async with raw_endpoint(slow) as base_url, asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(all_of(saved(base_url, concurrency=1)))
        await arrived.get()
        gc.collect()
        group.create_task(all_of(saved(base_url, concurrency=1, comment="# a byte more\n")))
        await asyncio.sleep(0.1)
        assert most == 1
        # Another number in the file holds from the next request on, and who waited keeps its turn.
        group.create_task(all_of(saved(base_url, concurrency=2)))
        go.set()
    assert most <= 2


async def test_a_limit_of_a_minute_outlives_the_client(fake_openai: Served) -> None:
    keys = {"requests_per_minute": 1, "total": 5}
    await completed(asked(client(fake_openai.base_url, **keys)))
    gc.collect()
    waiting = asyncio.create_task(completed(asked(client(fake_openai.base_url, **keys))))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    waiting.cancel()
    await asyncio.wait([waiting])
    assert len(fake_openai.log.entries) == 1
