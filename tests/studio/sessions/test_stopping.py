"""A stop is there from the moment in which it is asked for: what ends afterwards reads stopped."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from conductor.engine.experiments import Swap
from conductor.runs.events import Event as RunEvent
from conductor.runs.events import RunFinished
from conductor.values.presets import Settings
from studio.sessions import background_runs
from studio.sessions.background_runs import to_the_end
from studio.workbench import Workbench
from tests.studio.sessions.opened_benches import Opened
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

ONE = plan_text((0, "solve it", "[]"))


def held_up(monkeypatch: pytest.MonkeyPatch, part: object, name: str, *, done: bool) -> tuple[Event, Event]:
    """The method waits until the second event is set, before it does what it does or, where it is `done`,
    after that; it sets the first when it waits.
    """
    waits, may_end = Event(), Event()
    does = getattr(part, name)

    def held(*arguments: Any, **named: Any) -> object:
        value = does(*arguments, **named) if done else None
        waits.set()
        assert may_end.wait(60)
        return value if done else does(*arguments, **named)

    monkeypatch.setattr(part, name, held)
    return waits, may_end


def closed_around(bench: Workbench, held: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """Close it while something is held up, which goes on once its task was cancelled."""
    cancelled, wind_down = Event(), background_runs._wind_down

    async def watched() -> None:
        # No task, which would be cancelled as well.
        soon = asyncio.get_running_loop().call_soon
        soon(soon, soon, cancelled.set)
        await wind_down()

    monkeypatch.setattr(background_runs, "_wind_down", watched)
    with ThreadPoolExecutor() as threads:
        closing = threads.submit(bench.close)
        assert cancelled.wait(60)
        held.set()
        closing.result(60)
    monkeypatch.undo()


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize(("stopped", "status"), [(True, "cancelled"), (False, "interrupted")])
def test_a_run_that_was_stopped_before_its_process_ended_reads_stopped(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, done: bool, stopped: bool, status: str
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?").id
    waits, may_end = held_up(monkeypatch, bench.store.runs, "start", done=done)
    bench.planning.begin(session, then_run=True)
    assert waits.wait(60)
    if stopped:
        bench.running.stop(session)
    opened.benches.remove(bench)
    closed_around(bench, may_end, monkeypatch)
    again = opened(ONE)
    [run] = again.store.runs.of_session(session)
    assert (run.status, again.store.sessions.listed()[0].state) == (status, status)


@pytest.mark.parametrize("done", [False, True])
def test_a_stop_that_is_repeated_leaves_no_planning_under_way(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?").id
    waits, may_end = held_up(monkeypatch, bench.store.plans, "begin", done=done)
    bench.planning.begin(session, then_run=True)
    assert waits.wait(60)
    for _ in range(3):
        bench.running.stop(session)
        bench.background.wait(asyncio.sleep(0))
    assert bench.store.plans.of_session(session) == (), "until its beginning is stored"
    may_end.set()
    with pytest.raises(CancelledError):
        bench.activities.wait(session)
    assert [plan.failure for plan in bench.store.plans.of_session(session)] == ["Planning was stopped."]
    assert not bench.store.plans.is_underway(session)
    assert bench.store.sessions.listed()[0].state == "cancelled"


def test_a_stop_while_the_end_of_a_round_is_stored_calls_no_conductor_for_the_next(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    conductor = ScriptedConductor([ONE])
    bench = opened(conductor=conductor)
    session = bench.ask("why?", settings=Settings(rounds=2)).id
    append = bench.store.runs.append

    def stopping(event: RunEvent) -> Future[None]:
        written = append(event)
        if not isinstance(event, RunFinished):
            return written
        bench.running.stop(session)
        heeded = bench.background.spawn(asyncio.sleep(0))
        durable = Future[None]()
        heeded.add_done_callback(lambda _: written.add_done_callback(lambda _: durable.set_result(None)))
        return durable

    monkeypatch.setattr(bench.store.runs, "append", stopping)
    bench.planning.begin(session, then_run=True)
    with pytest.raises(CancelledError):
        bench.activities.wait(session)
    assert len(conductor.requests) == 1
    assert [run.status for run in bench.store.runs.of_session(session)] == ["finished"]
    assert bench.store.plans.latest(session).failure == "Planning was stopped."  # type: ignore[union-attr]
    assert bench.store.sessions.listed()[0].state == "finished", "it has the answer of the first round"


@pytest.mark.parametrize(("stopped", "status"), [(True, "cancelled"), (False, "interrupted")])
def test_a_trial_that_was_stopped_before_its_process_ended_reads_stopped(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, stopped: bool, status: str
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?").id
    bench.planning.plan(session)
    assert bench.running.start(session).done.wait(60)
    bench.activities.wait(session)
    waits, may_end = held_up(monkeypatch, bench.store.runs, "start", done=True)
    live = bench.experiments.begin(session, Swap(step=0, workers=("b",)))
    assert waits.wait(60)
    if stopped:
        bench.experiments.stop(live.record.id)
    opened.benches.remove(bench)
    closed_around(bench, may_end, monkeypatch)
    again = opened(ONE)
    trials = again.store.experiments.trials(live.record.id)
    assert [trial.status for trial in trials] == [status]


@pytest.mark.parametrize("done", [False, True])
def test_a_trial_that_is_stopped_as_it_begins_reads_stopped(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?").id
    bench.planning.plan(session)
    assert bench.running.start(session).done.wait(60)
    bench.activities.wait(session)
    waits, may_end = held_up(monkeypatch, bench.store.runs, "start", done=done)
    live = bench.experiments.begin(session, Swap(step=0, workers=("b",)))
    assert waits.wait(60)
    bench.experiments.stop(live.record.id)
    may_end.set()
    until(lambda: live.done)
    assert [trial.status for trial in bench.store.experiments.trials(live.record.id)] == ["cancelled"]
    assert live.failure is None


async def test_work_in_a_thread_is_waited_for_however_often_its_caller_is_cancelled() -> None:
    may_end = Event()
    doing = asyncio.get_running_loop().run_in_executor(None, may_end.wait, 60)
    waiting = asyncio.create_task(to_the_end(doing))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert doing.result() is True


async def test_what_broke_in_a_thread_is_raised_also_where_its_caller_was_cancelled() -> None:
    may_end = Event()

    def breaks() -> None:
        assert may_end.wait(60)
        raise OSError("The disk is full.")

    waiting = asyncio.create_task(to_the_end(asyncio.get_running_loop().run_in_executor(None, breaks)))
    await asyncio.sleep(0)
    waiting.cancel()
    may_end.set()
    with pytest.raises(OSError, match="full"):
        await waiting
