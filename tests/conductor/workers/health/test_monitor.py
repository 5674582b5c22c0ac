"""Examinations in the background: begun once, followed live, stopped, and never shown of another endpoint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Thread

import pytest

from conductor.workers.health import probe as module
from conductor.workers.health.probe import AT_ONCE, HealthProbe, ProbeTarget, targets
from conductor.workers.pool.pool import Pool, parse_pool
from conductor.workers.simulated import SimulatedWorker


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    yield loop
    asyncio.run_coroutine_threadsafe(ended(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def ended() -> None:
    """What was stopped has ended."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    if rest:
        await asyncio.wait(rest)
    await asyncio.get_running_loop().shutdown_asyncgens()


@pytest.fixture
def probe(loop: asyncio.AbstractEventLoop) -> HealthProbe:
    return HealthProbe(lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop))


def simulated(*latencies: float) -> tuple[tuple[SimulatedWorker, ...], tuple[ProbeTarget, ...]]:
    workers = tuple(SimulatedWorker(name=f"w{at}", latency=latency) for at, latency in enumerate(latencies))
    return workers, targets(Pool(workers=workers))


def until(true: Callable[[], bool]) -> None:
    for _ in range(500):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")


def test_several_are_examined_at_once_and_each_is_known_when_it_is_done(probe: HealthProbe) -> None:
    _, (quick, slow) = simulated(0, 60)
    assert probe.health(quick) is None
    probe.begin([quick, slow])
    until(lambda: not probe.examines(quick))
    assert probe.busy
    health = probe.health(quick)
    assert health is not None
    assert health.done
    known = probe.health(slow)
    assert known is not None
    assert not known.done
    probe.stop()
    until(lambda: not probe.busy)
    assert probe.health(quick) == health
    assert probe.health(slow) is None


def test_who_is_being_examined_is_not_asked_twice(probe: HealthProbe) -> None:
    (worker,), [slow] = simulated(60)
    probe.begin([slow])
    until(lambda: len(worker.requests) == 1)
    probe.begin([slow])
    probe.begin([slow])
    assert len(worker.requests) == 1
    probe.stop()
    until(lambda: not probe.busy)
    probe.begin([slow])
    until(lambda: len(worker.requests) == 2)
    probe.stop()
    until(lambda: not probe.busy)


def test_no_more_than_so_many_are_asked_at_a_time(probe: HealthProbe) -> None:
    workers, found = simulated(*[60] * (AT_ONCE + 3))
    probe.begin(found)
    until(lambda: sum(len(worker.requests) for worker in workers) >= AT_ONCE)
    assert sum(len(worker.requests) for worker in workers) == AT_ONCE
    probe.stop()
    until(lambda: not probe.busy)


def test_what_is_known_ends_where_another_endpoint_begins(probe: HealthProbe) -> None:
    text = "[[worker]]\nname = 'a'\nkind = 'simulated'\nseed = {}\n"
    [one], [other] = (targets(parse_pool(text.format(seed))) for seed in (1, 2))
    probe.begin([one])
    until(lambda: not probe.busy)
    assert probe.health(one) is not None
    assert probe.health(other) is None


def test_an_examination_that_breaks_is_logged_and_not_shown_as_going_on(
    probe: HealthProbe, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: ProbeTarget) -> None:
        raise RuntimeError("a fault of this program")

    monkeypatch.setattr(module, "examine", broken)
    _, [found] = simulated(0)
    probe.begin([found])
    until(lambda: not probe.busy)
    assert probe.health(found) is None
    assert "examining w0 broke" in caplog.text


def test_a_stop_before_the_beginning_leaves_nothing_behind() -> None:
    """As when the loop has no time for it yet."""
    futures: list[Future[None]] = []

    def never(coroutine: object) -> Future[None]:
        coroutine.close()  # type: ignore[attr-defined]
        futures.append(Future())
        return futures[-1]

    probe = HealthProbe(never)
    _, [found] = simulated(0)
    probe.begin([found])
    assert probe.examines(found)
    probe.stop()
    assert not probe.busy
    assert probe.health(found) is None
