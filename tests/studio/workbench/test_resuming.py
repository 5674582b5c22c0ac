"""Which runs go on by themselves where their process ended, and which process goes on with them."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import pytest

from conductor.engine.experiments import Swap
from conductor.errors import StorageError, WorkflowError
from conductor.runs.request import Asker
from conductor.runs.scope import RunScope
from conductor.values.budget import Budget
from conductor.values.presets import Settings
from conductor.workers.protocol import Worker
from conductor.workers.simulated import SimulatedWorker
from storage.database.schema import METADATA
from storage.records import RunRecord
from studio.workbench import Workbench
from studio.workbench.resuming import MOST, resumes_by_itself
from tests.support.runs.broken_off import LATE, QUICK, STEPS, broken_off, dying, opened
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow


def without_key(name: str) -> SimulatedWorker:
    """A worker that cannot be called."""
    worker = SimulatedWorker(name=name)
    worker.card = worker.card.model_copy(update={"unusable": "its key is not set"})
    return worker


def go_on(bench: Workbench, run: RunRecord) -> None:
    work = bench.resuming.work(run)
    assert work is not None
    assert bench.resuming.can_run(run, work)
    bench.runner.begin_run(run.session, **work._asdict())


def test_a_run_goes_on_from_its_finished_steps_for_its_asker(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = broken_off(url, monkeypatch, by=Asker(person="Ann"))
    with opened(url) as bench:
        (run,) = bench.resuming.due()
        assert run.session == session
        go_on(bench, run)
        bench.activities.wait(session)
        newest = bench.store.runs.latest(session)
        assert newest is not None
        assert (newest.status, newest.person, newest.parent) == ("finished", "Ann", run.id)
        state = bench.state(newest)
        assert [step.reused for step in state.steps] == [True, False]
        assert state.scope.resumption == 1
        assert bench.resuming.due() == ()


def test_a_session_whose_origin_is_not_recorded_goes_on_as_one_of_the_app(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = broken_off(url, monkeypatch)
    with opened(url) as bench:
        _set(bench, "sessions", session, origin=None)
        assert [run.session for run in bench.resuming.due()] == [session]


def test_of_several_processes_one_goes_on_with_a_run(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = broken_off(url, monkeypatch)
    with opened(url) as one, opened(url) as two, opened(url) as three:
        meet = Barrier(3)

        def take(bench: Workbench) -> bool:
            (run,) = bench.resuming.due()
            meet.wait(60)
            try:
                go_on(bench, run)
            except (StorageError, WorkflowError):
                return False
            bench.activities.wait(session)
            return True

        with ThreadPoolExecutor(3) as threads:
            assert sorted(threads.map(take, (one, two, three))) == [False, False, True]
        assert [run.status for run in one.store.runs.of_session(session)] == ["finished", "interrupted"]


def test_a_run_is_not_resumed_once_a_person_or_another_process_went_on_with_its_session(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = broken_off(url, monkeypatch)
    with opened(url) as bench:
        (run,) = bench.resuming.due()
        bench.running.start(session)
        bench.activities.wait(session)
        with pytest.raises(StorageError, match="This session went on since"):
            go_on(bench, run)
        assert [run.status for run in bench.store.runs.of_session(session)] == ["finished", "interrupted"]


@pytest.mark.parametrize(
    "changed",
    [
        lambda bench, session: bench.store.sessions.delete(session),
        lambda bench, session: _set(bench, "sessions", session, origin="terminal"),
        lambda bench, session: _set(bench, "sessions", session, origin="evaluation"),
        lambda bench, session: _set(bench, "sessions", session, updated_at=time.time() - 3700),
        lambda bench, session: _set(bench, "runs", session, stop_asked_at=1.0),
        lambda bench, session: _set(bench, "runs", session, owner="imported"),
        lambda bench, session: _set(bench, "runs", session, owner=bench.store.processes.owner),
        lambda bench, session: _set(bench, "runs", session, status="cancelled"),
    ],
    ids=[
        "deleted",
        "of a command",
        "of an evaluation",
        "long ago",
        "stopped",
        "imported",
        "alive",
        "cancelled",
    ],
)
def test_what_a_person_or_a_command_decides_about_does_not_go_on(
    url: str, monkeypatch: pytest.MonkeyPatch, changed: Callable[[Workbench, str], object]
) -> None:
    session = broken_off(url, monkeypatch)
    with opened(url) as bench:
        assert len(bench.resuming.due()) == 1
        changed(bench, session)
        assert bench.resuming.due() == ()


def _set(bench: Workbench, table: str, session: str, **values: object) -> None:
    of = METADATA.tables[table]
    own = of.c.id == session if table == "sessions" else of.c.session == session
    bench.store._transactions.write(
        lambda connection: connection.execute(of.update().where(own).values(**values))
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda bench, session: bench.store.sessions.delete(session),
        lambda bench, session: bench.store.revisions.add(
            session, STEPS.with_gate(1, gate=True), origin="human"
        ),
        lambda bench, session: bench.store.revisions.undo(session),
        lambda bench, session: bench.store.plans.begin(
            "p", session, planner="a model", planner_kind="model", round=1, attempt=1
        ),
    ],
    ids=["deleted", "edited", "undone", "planned"],
)
def test_a_run_is_not_resumed_once_a_person_changed_its_session(
    url: str, monkeypatch: pytest.MonkeyPatch, change: Callable[[Workbench, str], object]
) -> None:
    with opened(url) as bench:
        session = bench.ask("Which one?").id
        for workflow in (STEPS.with_gate(1, gate=True), STEPS):
            bench.store.revisions.add(session, workflow, origin="human")
    broken_off(url, monkeypatch, session=session)
    with opened(url) as bench:
        (run,) = bench.resuming.due()
        change(bench, session)
        assert bench.resuming.due() == ()
        with pytest.raises(StorageError, match="This session went on since"):
            go_on(bench, run)
        assert [run.status for run in bench.store.runs.of_session(session)] == ["interrupted"]


def test_a_run_whose_process_ended_long_before_a_server_looks_does_not_go_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = broken_off(url, monkeypatch)
    later = time.time() + 5400
    monkeypatch.setattr("studio.workbench.resuming.time", SimpleNamespace(time=lambda: later))
    with opened(url) as bench:
        (run,) = bench.store.runs.of_session(session)
        _set(bench, "sessions", session, updated_at=later)
        _set(bench, "runs", session, finished_at=later)
        assert bench.resuming.due() == ()
        assert len(bench.resuming.due([run.id])) == 1, "its end was seen as it happened"


def test_trials_and_what_waits_at_a_gate_do_not_go_on(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(url) as bench:
        waits = bench.ask("Which one?").id
        gated = STEPS.with_gate(1, gate=True)
        bench.store.revisions.add(waits, gated, origin="human")
        bench.running.start(waits)
        bench.activities.wait(waits)
        assert bench.store.runs.of_session(waits)[0].status == "paused"
        tried = bench.ask("Another one?").id
        bench.store.revisions.add(tried, STEPS, origin="human")
        bench.running.start(tried)
        bench.activities.wait(tried)
    with dying(url, monkeypatch) as bench:
        live = bench.experiments.begin(tried, Swap(step=1, workers=("late", "quick")))
        until(lambda: bench.store.experiments.trials(live.record.id))
    with opened(url) as bench:
        assert bench.store.experiments.trials(live.record.id)[0].status == "interrupted"
        assert bench.resuming.due() == ()


@pytest.mark.parametrize(
    ("workers", "can"),
    [
        ((QUICK, LATE), True),
        # What is finished needs no worker with a key.
        ((without_key("quick"), LATE), True),
        ((QUICK,), False),
        ((QUICK, without_key("late")), False),
        # Another model under the name of a finished step's worker: that would be called again.
        ((SimulatedWorker(name="quick", seed=1), LATE), False),
    ],
)
def test_a_process_goes_on_with_what_its_pool_can_run(
    url: str, monkeypatch: pytest.MonkeyPatch, workers: tuple[Worker, ...], *, can: bool
) -> None:
    broken_off(url, monkeypatch)
    with opened(url, *workers) as bench:
        (run,) = bench.resuming.due()
        work = bench.resuming.work(run)
        assert work is not None
        assert bench.resuming.can_run(run, work) == can


def test_a_session_whose_process_ends_again_and_again_goes_on_three_times(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = broken_off(url, monkeypatch)
    for number in range(1, MOST + 1):
        with dying(url, monkeypatch) as bench:
            (run,) = bench.resuming.due()
            work = bench.resuming.work(run)
            assert work is not None
            assert work.scope.resumption == number
            live = bench.runner.begin_run(session, **work._asdict())
            until(lambda live=live: live.state.steps and live.state.steps[1].status == "running")
    with opened(url) as bench:
        assert bench.resuming.due() == ()
        bench.running.start(session)
        bench.activities.wait(session)
        assert bench.store.runs.of_session(session)[0].status == "finished"


def test_a_run_that_was_for_a_part_goes_on_with_that_part(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = broken_off(url, monkeypatch, scope=RunScope(kind="to", step=1))
    with opened(url) as bench:
        (run,) = bench.resuming.due()
        work = bench.resuming.work(run)
        assert work is not None
        assert (work.scope.kind, work.scope.step, work.scope.done) == ("to", 1, (0,))
        assert work.revision.session == session


@pytest.mark.parametrize(("origin", "goes_on"), [(None, False), ("api", True)])
def test_a_run_whose_beginning_was_not_stored_goes_on_only_where_it_was_of_the_whole_workflow(
    url: str, monkeypatch: pytest.MonkeyPatch, origin: str | None, *, goes_on: bool
) -> None:
    session = broken_off(url, monkeypatch)
    with opened(url) as bench:
        (run,) = bench.resuming.due()
        events = METADATA.tables["events"]
        own = events.delete().where(events.c.run == run.id)
        bench.store._transactions.write(lambda connection: connection.execute(own))
        _set(bench, "sessions", session, origin=origin)
    with opened(url) as bench:
        assert (bench.resuming.work(run) is not None) == goes_on


def test_a_budget_holds_for_a_run_and_what_goes_on_with_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = broken_off(url, monkeypatch, settings=Settings(budget=Budget(calls=2)))
    with opened(url) as bench:
        (run,) = bench.resuming.due()
        go_on(bench, run)
        bench.activities.wait(session)
        newest = bench.store.runs.latest(session)
        assert newest is not None
        assert newest.status == "over_budget", "two calls were made before"


@pytest.mark.parametrize(("value", "on"), [(None, True), ("on", True), ("off", False)])
def test_a_process_goes_on_with_runs_unless_it_is_set_not_to(
    monkeypatch: pytest.MonkeyPatch, value: str | None, *, on: bool
) -> None:
    monkeypatch.delenv("CONDUCTOR_RESUME", raising=False)
    if value is not None:
        monkeypatch.setenv("CONDUCTOR_RESUME", value)
    assert resumes_by_itself() is on
    monkeypatch.setenv("CONDUCTOR_RESUME", "yes")
    with pytest.raises(StorageError, match="CONDUCTOR_RESUME is 'yes'; write on, or off"):
        resumes_by_itself()
