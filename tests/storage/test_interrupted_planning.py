"""Planning whose process dies, or which breaks off by itself: it is kept, and can be asked again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from conductor.planner.conductor import PlanRequest
from conductor.values.messages import Completion, Delta, Usage
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.plan_report import INTERRUPTED
from storage import Session, SessionStore
from storage.tables import plans
from studio.workbench import Workbench
from tests.support.processes.child_process import child
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text
from tests.support.stores.store_scenario import VALID, begin, chain, keep, started, step_finished

ROOT = Path(__file__).parents[2]
ONE = plan_text((0, "solve it", "[]"))


class Endless(ScriptedConductor):
    """Begins to write, reports it on stdout, and never ends."""

    async def stream(self, _request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="Let me see")
        print("thinking", flush=True)
        await asyncio.sleep(600)


class CancelsItself(ScriptedConductor):
    """A client in it, such as one with a timeout of its own, cancels the call."""

    async def stream(self, _request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="Let me see")
        raise asyncio.CancelledError


def bench_over(url: str, conductor: ScriptedConductor) -> Workbench:
    pool = Pool(workers=(SimulatedWorker(name="a", answer="a says"),))
    return Workbench.over(SessionStore.open(url), pool=pool, conductor=conductor, nests=False)


def plan_for_ever(url: str, *, alternatives: bool) -> None:
    """Ask in a new session until killed."""
    bench = bench_over(url, Endless([]))
    session = bench.ask("why?", settings=Settings(attempts=2)).id
    if alternatives:
        bench.planning.begin_alternatives(session, 2)
    else:
        bench.planning.begin(session)
    bench.activities.wait(session)


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    """Opened before anybody died."""
    bench = bench_over(url, ScriptedConductor([ONE]))
    yield bench
    bench.close()


def killed_while_planning(url: str, *, alternatives: bool = False) -> None:
    code = f"from {__name__} import plan_for_ever; plan_for_ever({url!r}, alternatives={alternatives})"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with child([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(2 if alternatives else 1):
            assert process.stdout.readline() == "thinking\n"
        process.send_signal(signal.SIGKILL)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_session_whose_process_is_killed_while_it_plans_reads_interrupted_and_goes_on(url: str) -> None:
    killed_while_planning(url)
    bench = bench_over(url, ScriptedConductor([ONE]))
    try:
        (session,) = bench.store.sessions.listed()
        assert session.state == "interrupted"
        (plan,) = bench.store.plans.of_session(session.id)
        assert (
            plan.failure == f"{INTERRUPTED}: the process that asked the Conductor ended before it answered."
        )
        assert (plan.planner, plan.round, plan.attempt, plan.usage) == ("conductor", 1, 1, Usage())
        assert bench.planning.plan(session.id).report is not None
        assert bench.store.sessions.listed()[0].state == "planned"
        bench.running.start(session.id)
        bench.activities.wait(session.id)
        assert bench.store.sessions.listed()[0].state == "finished"
    finally:
        bench.close()


@pytest.mark.thorough
@pytest.mark.slow
def test_alternatives_that_were_asked_for_read_interrupted_and_leave_the_session_as_it_is(url: str) -> None:
    killed_while_planning(url, alternatives=True)
    with SessionStore.open(url) as store:
        (session,) = store.sessions.listed()
        assert session.state == "new"
        plans = store.plans.alternatives(session.id)
        assert [plan.attempt for plan in plans] == [1, 2]
        assert all((plan.failure or "").startswith(INTERRUPTED) for plan in plans)


def orphan(store: SessionStore, session: Session, monkeypatch: pytest.MonkeyPatch, **more: object) -> None:
    """A planning whose owner's lock is free."""
    with monkeypatch.context() as patched:
        patched.setattr(store.processes.lock, "owner", "a store whose process died")
        store.plans.begin("p", session.id, planner="c", planner_kind="model", **more)  # type: ignore[arg-type]


@pytest.mark.slow
def test_one_planning_is_interrupted_once(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    session = store.sessions.create("why?")
    orphan(store, session, monkeypatch)
    for _ in range(2):
        store.processes.mark_interrupted()
        assert [plan.planner for plan in store.plans.of_session(session.id)] == ["c"]
    assert store.sessions.listed()[0].state == "interrupted"


@pytest.mark.slow
def test_a_planning_of_a_living_process_is_left_alone(store: SessionStore, url: str) -> None:
    session = store.sessions.create("why?")
    store.plans.begin("p", session.id, planner="c", planner_kind="model")
    with SessionStore.open(url) as other:
        other.processes.mark_interrupted()
        assert other.plans.of_session(session.id) == ()
    store.plans.add(session.id, planner="c", planner_kind="model", report=None, usage=Usage(), planning="p")
    store.processes.mark_interrupted()
    assert [plan.failure for plan in store.plans.of_session(session.id)] == [None]


@pytest.mark.slow
def test_a_session_with_a_workflow_stays_as_it_is(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.sessions.create("why?")
    begin(store, session.id, "r")
    keep(store, started("r", chain("do")), step_finished("r", "done", seq=1))
    state = store.sessions.listed()[0].state
    orphan(store, session, monkeypatch, round=2, looks_back="r")
    store.processes.mark_interrupted()
    assert store.sessions.listed()[0].state == state
    plan = store.plans.latest(session.id)
    assert plan is not None
    assert (plan.round, plan.looks_back, (plan.failure or "")[: len(INTERRUPTED)]) == (2, "r", INTERRUPTED)


@pytest.mark.slow
def test_a_workflow_by_hand_ends_the_interruption(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.sessions.create("why?")
    orphan(store, session, monkeypatch)
    store.processes.mark_interrupted()
    store.revisions.add(session.id, chain("do"), origin="human", note="by hand")
    assert store.sessions.listed()[0].state == "planned"


@pytest.mark.slow
def test_a_session_that_was_removed_meanwhile_is_not_asked_for(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.sessions.create("why?")
    orphan(store, session, monkeypatch)
    store.sessions.delete(session.id)
    store.housekeeping.remove_session(session.id)
    store.processes.mark_interrupted()
    assert store.sessions.listed() == ()


def test_what_an_earlier_planning_left_is_over_where_the_next_begins(store: SessionStore) -> None:
    session = store.sessions.create("why?")
    for planning in ("p", "q"):
        store.plans.begin(planning, session.id, planner="c", planner_kind="model")
    store.plans.add(session.id, planner="c", planner_kind="model", report=VALID, usage=Usage(), planning="q")
    store.plans.begin("r", session.id, planner="c", planner_kind="model", alternative="both")
    store.plans.begin("s", session.id, planner="c", planner_kind="model", alternative="both")
    with store._transactions.database.transaction(to="read") as connection:
        assert set(plans.underway(connection)) == {"r", "s"}


@pytest.mark.slow
def test_an_attempt_that_is_cancelled_from_inside_is_kept(url: str) -> None:
    bench = bench_over(url, CancelsItself([]))
    try:
        session = bench.ask("why?")
        live = bench.planning.begin(session.id)
        bench.activities.wait(session.id)
        plan = bench.store.plans.latest(session.id)
        assert plan is not None
        assert plan.failure == "conductor cancelled its own call; ask again."
        assert live.state.planning_failure == plan.failure
        assert bench.activities.failure(session.id) is None
        assert bench.store.sessions.listed()[0].state == "unplanned"
    finally:
        bench.close()


@pytest.mark.slow
def test_an_attempt_that_a_fault_of_the_program_ends_is_kept(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr("conductor.planner.planner.parse", broken)
    session = bench.ask("why?")
    bench.planning.begin(session.id)
    with pytest.raises(RuntimeError):
        bench.activities.wait(session.id)
    plan = bench.store.plans.latest(session.id)
    assert plan is not None
    assert plan.failure == "Planning failed because of a fault in this program; see its log, then plan again."
    assert "no such luck" in caplog.text
