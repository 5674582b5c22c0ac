"""A run lives in its own thread, is read and stopped from others, and outlives a journal that fails."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import aclosing, contextmanager
from itertools import count

import pytest

from conductor.engine.run import WorkflowRun
from conductor.errors import StorageError
from conductor.runs.events import Event, RunFinished, RunStarted, StepFinished, StepStarted
from conductor.runs.state import fold
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from studio.sessions import background_runs
from studio.sessions.background_runs import Background, LiveRun
from tests.support.runs.waiting import until, until_async
from tests.support.runs.worker_cases import run_of
from tests.support.runs.workflow_cases import workflow_of

CHAIN = workflow_of((), (0,))
PATIENCE = 60
"""Seconds after which something hangs."""


class Keeping:
    """A journal in memory; `broken` makes every write fail, `held` leaves writes open until `release`."""

    def __init__(self, *, broken: bool = False, held: bool = False) -> None:
        self.events: list[Event] = []
        self.packed: list[str] = []
        self.ended = threading.Event()
        self._broken = broken
        self._held = held
        self._open: list[Future[None]] = []
        self.call_at = 0.0

    def append(self, event: Event) -> Future[None]:
        self.events.append(event)
        if isinstance(event, RunFinished):
            self.ended.set()
        if isinstance(event, StepFinished):
            self.call_at = event.at - event.output.seconds
        future: Future[None] = Future()
        if self._broken:
            future.set_exception(OSError("The disk is full."))
        elif self._held:
            self._open.append(future)
        else:
            future.set_result(None)
        return future

    def pack(self, run: str) -> None:
        self.packed.append(run)

    def release(self) -> None:
        """Let the open writes end, and those that follow."""
        self._held = False
        for future in self._open:
            if not future.done():
                future.set_result(None)


@contextmanager
def background(journal: Keeping) -> Iterator[Background]:
    """A loop that is closed afterwards."""
    loop = Background(journal)
    try:
        yield loop
    finally:
        loop.close()


def pool_of(**arguments: object) -> Pool:
    return Pool(workers=(SimulatedWorker(name="alpha", **arguments),))  # type: ignore[arg-type]


def start(loop: Background, run: WorkflowRun, listen: Callable[[Event], None] | None = None) -> LiveRun:
    """Begin a run; `listen` is called with each event."""
    live = loop.register(run)

    async def follow() -> None:
        async with aclosing(loop.events(live)) as events:
            async for event in events:
                if listen is not None:
                    listen(event)

    loop.spawn(follow())
    return live


def started(loop: Background, run: WorkflowRun) -> LiveRun:
    """Start a run and wait until its first step runs."""
    running = threading.Event()

    def listen(event: Event) -> None:
        if isinstance(event, StepStarted):
            running.set()

    live = start(loop, run, listen)
    assert running.wait(PATIENCE)
    return live


def test_a_run_goes_on_in_a_thread_of_its_own_and_is_kept() -> None:
    journal = Keeping()
    threads: set[str] = set()
    received: list[Event] = []

    def listen(event: Event) -> None:
        threads.add(threading.current_thread().name)
        received.append(event)

    with background(journal) as loop:
        live = start(loop, run_of(CHAIN, pool_of()), listen)
        assert live.done.wait(PATIENCE)
        assert live.state == fold(journal.events)
    assert threads == {"conductor-runs"}
    assert received == journal.events
    assert (live.state.status, live.unsaved) == ("finished", None)
    assert isinstance(journal.events[0], RunStarted)
    assert isinstance(journal.events[-1], RunFinished)


def test_a_run_is_live_until_its_end_is_kept() -> None:
    journal = Keeping(held=True)
    with background(journal) as loop:
        live = start(loop, run_of(CHAIN, pool_of()))
        assert loop.live("r") is live
        assert journal.ended.wait(PATIENCE)
        loop.wait(asyncio.sleep(0))  # whatever the end set going has its turn
        assert not live.done.is_set()
        assert live.state.live
        journal.release()
        assert live.done.wait(PATIENCE)
    assert loop.live("r") is None


def test_who_waited_for_the_end_of_a_run_finds_it_in_the_journal_alone() -> None:
    class EndEvent(threading.Event):
        def set(self) -> None:
            live_then.append(loop.live(live.run))
            super().set()

    live_then: list[LiveRun | None] = []
    with background(Keeping()) as loop:
        live = loop.register(run_of(CHAIN, pool_of()))
        live.done = EndEvent()
        loop.wait(loop.follow(live))
    assert live_then == [None]


@pytest.mark.slow
@pytest.mark.parametrize(("worth", "packed"), [(1, ["r"]), (1000, [])])
def test_a_run_with_many_pieces_of_text_is_packed_after_its_end(
    monkeypatch: pytest.MonkeyPatch, worth: int, packed: list[str]
) -> None:
    monkeypatch.setattr(background_runs, "_WORTH_PACKING", worth)
    journal = Keeping()
    with background(journal) as loop:
        live = start(loop, run_of(CHAIN, pool_of(tokens=3, tokens_per_second=100)))
        assert live.done.wait(PATIENCE)
        assert journal.packed == packed


def test_a_run_can_be_stopped_from_another_thread() -> None:
    with background(Keeping()) as loop:
        live = started(loop, run_of(CHAIN, pool_of(latency=1000)))
        loop.cancel("r")
        assert live.done.wait(PATIENCE)
        assert live.state.status == "cancelled"
        loop.cancel("r")
        loop.cancel("nobody")


def test_closing_stops_every_run_and_keeps_what_it_wrote() -> None:
    journal = Keeping()
    before = set(threading.enumerate())
    with background(journal) as loop:
        pool = pool_of(latency=1000)
        lives = [started(loop, run_of(CHAIN, pool, run=name)) for name in ("one", "two")]
    assert [live.state.status for live in lives] == ["cancelled", "cancelled"]
    assert {event.run for event in journal.events if isinstance(event, RunFinished)} == {"one", "two"}
    assert set(threading.enumerate()) <= before


def test_a_run_that_could_not_be_kept_states_it_and_stays_readable() -> None:
    with background(Keeping(broken=True)) as loop:
        live = start(loop, run_of(CHAIN, pool_of(answer="said")))
        assert live.done.wait(PATIENCE)
        assert live.unsaved == "The disk is full."
        assert loop.live("r") is live
        assert (live.state.status, live.state.answer) == ("finished", "said")


@pytest.mark.slow
def test_a_run_whose_beginning_cannot_be_stored_is_stopped_and_forgotten() -> None:
    beginning: Future[None] = Future()
    with background(Keeping(broken=True)) as loop:
        live = loop.register(run_of(CHAIN, pool_of(latency=1000)), start_write=beginning)
        loop.spawn(loop.follow(live))
        beginning.set_exception(StorageError("The disk is full."))
        assert live.done.wait(PATIENCE)
        assert live.state.status == "cancelled"
        assert loop.live("r") is None


def test_a_run_whose_beginning_is_stored_meanwhile_goes_on() -> None:
    journal, beginning = Keeping(), Future[None]()
    with background(journal) as loop:
        live = loop.register(run_of(CHAIN, pool_of(answer="said")), start_write=beginning)
        loop.spawn(loop.follow(live))
        beginning.set_result(None)
        assert live.done.wait(PATIENCE)
        assert (live.state.status, live.unsaved, loop.live("r")) == ("finished", None, None)


@pytest.mark.parametrize(("age", "calls"), [(0.024, 2), (0.026, 1)], ids=["later", "earlier"])
async def test_an_output_that_is_not_durable_holds_the_next_call_if_its_own_began_that_long_ago(
    age: float, calls: int
) -> None:
    journal, worker = Keeping(held=True), SimulatedWorker(name="alpha")
    run = run_of(workflow_of((), (0,)), Pool(workers=(worker,)))
    live = LiveRun(run, journal, clock=lambda: journal.call_at + age)

    async def follow() -> None:
        async for _ in live.events():
            pass

    following = asyncio.create_task(follow())
    await until_async(lambda: has_started(journal, step=1), every=0)
    for _ in range(5):
        # A call that is not held is made in one of the loop's next turns.
        await asyncio.sleep(0)
    assert len(worker.requests) == calls
    await until_async(lambda: journal.release() or following.done(), every=0)
    await following
    assert (len(worker.requests), live.state.status) == (2, "finished")


def has_started(journal: Keeping, *, step: int) -> bool:
    """Whether that step's start was appended."""
    return any(isinstance(event, StepStarted) and event.step == step for event in journal.events)


@pytest.mark.parametrize(("stopped", "status", "calls"), [(False, "finished", 3), (True, "cancelled", 0)])
async def test_a_beginning_of_that_age_holds_the_first_call_until_it_is_durable_or_the_run_stops(
    stopped: bool, status: str, calls: int
) -> None:
    journal, beginning, worker, seconds = Keeping(), Future[None](), SimulatedWorker(name="alpha"), count()
    run = run_of(workflow_of((), (0,), (1,)), Pool(workers=(worker,)))
    live = LiveRun(run, journal, start_write=beginning, clock=lambda: float(next(seconds)))

    async def follow() -> None:
        async for _ in live.events():
            pass

    following = asyncio.create_task(follow())
    await until_async(lambda: has_started(journal, step=0), every=0)
    assert worker.requests == []
    live.cancel() if stopped else beginning.set_result(None)
    await following
    assert (live.state.status, len(worker.requests)) == (status, calls)


def test_a_run_that_is_over_is_freed_without_the_cycle_collector() -> None:
    async def follow() -> weakref.ref[LiveRun]:
        beginning: Future[None] = Future()
        live = LiveRun(run_of(CHAIN, pool_of()), Keeping(), start_write=beginning)
        async for _ in live.events():
            if not beginning.done():
                beginning.set_result(None)
        return weakref.ref(live)

    gc.disable()
    try:
        assert asyncio.run(follow())() is None
    finally:
        gc.enable()


@pytest.mark.slow
def test_many_runs_at_once_do_not_mix() -> None:
    journal = Keeping()
    with background(journal) as loop:
        names = [f"run {i}" for i in range(30)]
        lives = [
            start(loop, run_of(CHAIN, pool_of(answer=name, tokens_per_second=1000), run=name))
            for name in names
        ]
        assert all(live.done.wait(PATIENCE) for live in lives)
    assert [live.state.answer for live in lives] == names
    for name, live in zip(names, lives, strict=True):
        own = [event for event in journal.events if event.run == name]
        assert [event.seq for event in own] == list(range(len(own)))
        assert fold(own) == live.state


def test_a_run_whose_listener_breaks_does_not_read_as_running() -> None:
    def broken(_: Event) -> None:
        raise ZeroDivisionError

    journal = Keeping()
    with background(journal) as loop:
        live = start(loop, run_of(CHAIN, pool_of()), broken)
        assert live.done.wait(PATIENCE)
        assert fold(journal.events).status == "interrupted"
        assert (live.state.status, loop.live(live.run)) == ("interrupted", live)
        assert "failed" in (live.unsaved or "")


def test_a_run_that_no_one_follows_any_more_is_over() -> None:
    journal = Keeping()
    with background(journal) as loop:
        live = loop.register(run_of(CHAIN, pool_of(latency=1000)))
        following = loop.spawn(loop.follow(live))
        until(lambda: live.state.steps)
        following.cancel()
        assert live.done.wait(PATIENCE)
    assert (live.state.status, live.unsaved, loop.live("r")) == ("interrupted", None, None)
    assert live.state == fold(journal.events)


def test_an_end_that_was_reported_is_the_only_one() -> None:
    def broken(event: Event) -> None:
        if isinstance(event, RunFinished):
            raise ZeroDivisionError

    journal = Keeping()
    with background(journal) as loop:
        live = start(loop, run_of(CHAIN, pool_of()), broken)
        assert live.done.wait(PATIENCE)
    assert live.state == fold(journal.events)
    assert live.state.status == "finished"
    assert "failed" in (live.unsaved or "")
