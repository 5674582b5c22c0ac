"""Examinations in the background: begun once, followed live, stopped, and never shown of another endpoint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Thread

import pytest

from conductor.workers import checkup as module
from conductor.workers.checkup import Checkup
from conductor.workers.health import AT_ONCE
from conductor.workers.pool import Pool, parse_pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.subject import Subject, subjects


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
def checkup(loop: asyncio.AbstractEventLoop) -> Checkup:
    return Checkup(lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop))


def simulated(*latencies: float) -> tuple[tuple[SimulatedWorker, ...], tuple[Subject, ...]]:
    workers = tuple(SimulatedWorker(name=f"w{at}", latency=latency) for at, latency in enumerate(latencies))
    return workers, subjects(Pool(workers=workers))


def until(true: Callable[[], bool]) -> None:
    for _ in range(500):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")


def test_several_are_examined_at_once_and_each_is_known_when_it_is_done(checkup: Checkup) -> None:
    _, (quick, slow) = simulated(0, 60)
    assert checkup.health(quick) is None
    checkup.begin([quick, slow])
    until(lambda: not checkup.examines(quick))
    assert checkup.busy
    health = checkup.health(quick)
    assert health is not None
    assert health.done
    known = checkup.health(slow)
    assert known is not None
    assert not known.done
    checkup.stop()
    until(lambda: not checkup.busy)
    assert checkup.health(quick) == health
    assert checkup.health(slow) is None


def test_who_is_being_examined_is_not_asked_twice(checkup: Checkup) -> None:
    (worker,), [slow] = simulated(60)
    checkup.begin([slow])
    until(lambda: len(worker.requests) == 1)
    checkup.begin([slow])
    checkup.begin([slow])
    assert len(worker.requests) == 1
    checkup.stop()
    until(lambda: not checkup.busy)
    checkup.begin([slow])
    until(lambda: len(worker.requests) == 2)
    checkup.stop()
    until(lambda: not checkup.busy)


def test_no_more_than_so_many_are_asked_at_a_time(checkup: Checkup) -> None:
    workers, found = simulated(*[60] * (AT_ONCE + 3))
    checkup.begin(found)
    until(lambda: sum(len(worker.requests) for worker in workers) >= AT_ONCE)
    assert sum(len(worker.requests) for worker in workers) == AT_ONCE
    checkup.stop()
    until(lambda: not checkup.busy)


def test_what_is_known_ends_where_another_endpoint_begins(checkup: Checkup) -> None:
    text = "[[worker]]\nname = 'a'\nkind = 'simulated'\nseed = {}\n"
    [one], [other] = (subjects(parse_pool(text.format(seed))) for seed in (1, 2))
    checkup.begin([one])
    until(lambda: not checkup.busy)
    assert checkup.health(one) is not None
    assert checkup.health(other) is None


def test_an_examination_that_breaks_is_logged_and_not_shown_as_going_on(
    checkup: Checkup, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Subject) -> None:
        raise RuntimeError("a fault of this program")

    monkeypatch.setattr(module, "examine", broken)
    _, [found] = simulated(0)
    checkup.begin([found])
    until(lambda: not checkup.busy)
    assert checkup.health(found) is None
    assert "examining w0 broke" in caplog.text


def test_a_stop_before_the_beginning_leaves_nothing_behind() -> None:
    """As when the loop has no time for it yet."""
    futures: list[Future[None]] = []

    def never(coroutine: object) -> Future[None]:
        coroutine.close()  # type: ignore[attr-defined]
        futures.append(Future())
        return futures[-1]

    checkup = Checkup(never)
    _, [found] = simulated(0)
    checkup.begin([found])
    assert checkup.examines(found)
    checkup.stop()
    assert not checkup.busy
    assert checkup.health(found) is None
