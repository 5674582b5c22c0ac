"""Several processes on one store: they see each other's runs, stop them, and notice who is gone."""

from __future__ import annotations

import errno
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from conductor.engine.experiments import Swap
from conductor.errors import EditConflict, StorageError
from conductor.values.messages import Usage
from storage import RunRecord, SessionStore
from storage.database.database import Database, several_may_write
from storage.tables import runs
from studio.workbench import Workbench
from tests.support.runs.waiting import until
from tests.support.stores.other_process import Other, running, workbench
from tests.support.stores.store_scenario import begin, chain, delta, finished, keep, started, step_started

# -- two processes ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.thorough
def test_a_run_of_another_process_is_followed_and_stopped(url: str) -> None:
    with workbench(url) as bench, running(url, "talker") as other:
        run = bench.store.runs.find(other.run)
        assert [summary.id for summary in bench.store.sessions.listed()] == [other.session]
        assert not bench.runs_here(run)
        until(lambda: _word_count(bench, run) > 5)
        before = _word_count(bench, run)
        until(lambda: _word_count(bench, run) > before + 5)
        assert bench.state(run).steps[0].text == "done at once"
        bench.store.sessions.rename(other.session, "Seen by both")
        bench.running.stop(other.session)
        until(lambda: not bench.state(run).live)
        assert bench.state(run).status == "cancelled"
        assert other.seen() == ("cancelled", "None", "Seen by both")


def _word_count(bench: Workbench, run: RunRecord) -> int:
    """How many words of the second step have arrived."""
    state = bench.state(run)
    return len(state.steps[1].text.split()) if state.steps else 0


@pytest.mark.slow
@pytest.mark.thorough
def test_a_process_that_is_killed_is_noticed_and_one_that_is_suspended_lives(url: str) -> None:
    with ExitStack() as stack:
        bench = stack.enter_context(workbench(url))
        killed, suspended = (stack.enter_context(running(url, "thinker")) for _ in range(2))
        until(lambda: all(_thinks(bench, other) for other in (killed, suspended)))
        suspended.signal(signal.SIGSTOP)
        killed.signal(signal.SIGKILL)
        # No test looks here: the store itself does.
        until(lambda: bench.store.runs.find(killed.run).status == "interrupted")
        # What was finished is reused, and the steps that were not are run again.
        radius = bench.running.outlook(killed.session).radius
        assert (set(radius.reused), set(radius.runs)) == ({0}, {1})
        time.sleep(3)
        assert bench.store.processes.mark_interrupted() == ()
        assert bench.store.runs.find(suspended.run).status == "running"
        suspended.signal(signal.SIGCONT)
        bench.running.stop(suspended.session)
        assert suspended.seen()[:2] == ("cancelled", "None")


def _thinks(bench: Workbench, other: Other) -> bool:
    state = bench.state(bench.store.runs.find(other.run))
    return bool(state.steps) and state.steps[1].status == "running"


@pytest.mark.slow
@pytest.mark.thorough
def test_a_death_is_seen_by_who_looks(url: str) -> None:
    with workbench(url) as bench, running(url, "thinker") as other:
        other.signal(signal.SIGKILL)
        other.process.wait(timeout=60)
        assert (
            other.run in bench.store.processes.mark_interrupted()
            or bench.store.runs.find(other.run).status != "running"
        )
        assert bench.store.runs.find(other.run).status == "interrupted"


# -- two stores in one process ---------------------------------------------------------------------


@pytest.mark.slow
def test_of_edits_of_one_revision_only_one_is_kept(store: SessionStore, session: str, url: str) -> None:
    head = store.revisions.add(session, chain("a"), origin="human").id

    def edit(where: SessionStore) -> bool:
        try:
            where.revisions.add(session, chain("b"), origin="human", expected=head)
        except EditConflict:
            return False
        return True

    with SessionStore.open(url) as other, ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(edit, [store, other] * 4)) == [False] * 7 + [True]
        assert len(store.revisions.of_session(session)) == 2


@pytest.mark.slow
def test_every_undo_counts(store: SessionStore, session: str, url: str) -> None:
    for name in "abcdefghi":
        store.revisions.add(session, chain(name), origin="human")
    with SessionStore.open(url) as other, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda where: where.revisions.undo(session), [store, other] * 4))
        assert store.revisions.head(session) == store.revisions.of_session(session)[0]


@pytest.mark.slow
def test_a_session_runs_once_at_a_time_wherever(store: SessionStore, session: str, url: str) -> None:
    store.revisions.add(session, chain("a"), origin="human")

    def start(at: int) -> bool:
        try:
            begin((store, other)[at % 2], session, f"run {at}")
        except StorageError:
            return False
        return True

    with SessionStore.open(url) as other, ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(start, range(8))) == 1
        assert len(other.runs.of_session(session)) == 1


@pytest.mark.slow
def test_a_run_is_followed_by_what_is_new(
    store: SessionStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[int] = []
    events_of = runs.events_of

    def read_events(*arguments: object, after: int = -1) -> object:
        places.append(after)
        return events_of(*arguments, after=after)

    begin(store, store.sessions.create("q").id, "r")
    keep(store, started("r", chain("do")), step_started("r", seq=1))
    with workbench(url) as bench:
        monkeypatch.setattr(runs, "events_of", read_events)
        run = bench.store.runs.find("r")
        for seq in range(2, 5):
            keep(store, delta("r", seq=seq))
            assert [bench.state(run).steps[0].text.count("word") for _ in range(3)] == [seq - 1] * 3
        keep(store, finished("r", seq=5))
        assert [bench.state(run).status for _ in range(3)] == ["finished"] * 3
    assert (places.count(-1), places, set(places)) == (1, sorted(places), {-1, 2, 3, 4})


@pytest.mark.slow
def test_a_run_that_was_ended_by_others_takes_nothing_more(
    store: SessionStore, session: str, url: str
) -> None:
    begin(store, session, "r")
    keep(store, started("r", chain("do")))
    database = Database(url)
    with database.transaction(to="write") as connection:
        runs.interrupt(connection, 2.0, "r")
    database.close()
    before = store.runs.events("r")
    for event in (step_started("r", seq=2), delta("r", seq=7), finished("r", seq=8)):
        with pytest.raises(StorageError, match=r"Event . of the run 'r' was not kept: the run is over"):
            keep(store, event)
    assert store.runs.events("r") == before
    assert (store.runs.find("r").status, store.runs.find("r").answer) == ("interrupted", None)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that are opened from now on look when the test does, and at no other time."""
    monkeypatch.setattr("storage.store.processes.LOOK_SECONDS", 3600)


@pytest.mark.slow
def test_a_run_is_asked_to_stop_until_it_is_over(still: None, store: SessionStore) -> None:
    begin(store, store.sessions.create("q").id, "r")
    keep(store, started("r", chain("do")))
    stopped: list[str] = []
    store.processes.watch_stops(stopped.append)
    store.processes._tick()
    assert not stopped
    store.processes.ask_to_stop("r")
    store.processes._tick()
    assert set(stopped) == {"r"}
    keep(store, finished("r", seq=1, outcome="cancelled"))
    store.processes.ask_to_stop("r")
    store.processes._tick()
    stopped.clear()
    store.processes._tick()
    assert not stopped
    begin(store, store.runs.find("r").session, "the next")
    store.processes._tick()
    assert not stopped


@pytest.mark.slow
def test_a_trial_that_begins_when_its_experiment_was_asked_to_stop_is_asked_as_well(
    url: str, still: None
) -> None:
    with SessionStore.open(url) as store:
        session = store.sessions.create("q").id
        begin(store, session, "r")
        keep(store, started("r", chain("do")), finished("r", seq=1))
        head = store.revisions.head(session)
        assert head is not None
        swap, other = (
            store.experiments.add(session, Swap(step=0, workers=("a",)), base="r").id for _ in range(2)
        )

        def begin_trial(run: str, experiment: str, trial: int) -> None:
            store.runs.start(run=run, session=session, revision=head.id, experiment=experiment, trial=trial)

        stopped: set[str] = set()
        store.processes.watch_stops(stopped.add)
        begin_trial("over", swap, 0)
        keep(store, started("over", chain("do")), finished("over", seq=1))
        store.processes._tick()
        stopped.clear()
        store.experiments.ask_to_stop(swap)
        begin_trial("late", swap, 1)
        begin_trial("of another", other, 0)
        store.processes._tick()
        assert stopped == {"late"}
        assert (store.experiments.is_asked_to_stop(swap), store.experiments.is_asked_to_stop(other)) == (
            True,
            False,
        )


@pytest.mark.slow
def test_planning_is_asked_to_stop_until_it_is_over(still: None, store: SessionStore, url: str) -> None:
    planned, other = store.sessions.create("q").id, store.sessions.create("other").id
    store.plans.begin("p", planned, planner="c", planner_kind="model")
    store.plans.begin("o", other, planner="c", planner_kind="model")
    stopped: list[str] = []
    store.processes.watch_stops(lambda _: None, planning=stopped.append)
    with SessionStore.open(url) as asking:
        assert [asking.plans.is_underway(session) for session in (planned, "none")] == [True, False]
        asking.processes.watch_stops(lambda _: None, planning=stopped.append)
        asking.processes.ask_to_stop_planning(planned)
        asking.processes._tick()
        assert not stopped, "another store plans"
    store.processes._tick()
    assert set(stopped) == {planned}
    store.plans.add(planned, planning="p", planner="c", planner_kind="model", report=None, usage=Usage())
    store.processes._tick()
    stopped.clear()
    store.processes._tick()
    assert not stopped
    store.processes.ask_to_stop_planning(planned)


def test_a_store_lives_for_the_others_until_it_is_closed(store: SessionStore, url: str) -> None:
    with SessionStore.open(url) as other:
        owner = other.processes.owner
        assert store.processes.owner != owner
        assert store.processes.lives(owner)
        assert other.processes.lives(owner)
    # PostgreSQL frees a lock a moment after its connection was closed.
    until(lambda: not store.processes.lives(owner))


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((4, 0, 0), True),
    ],
)
def test_several_processes_write_to_a_file_only_with_a_sqlite_that_loses_nothing(
    version: tuple[int, ...], *, safe: bool
) -> None:
    assert several_may_write(version) is safe


# -- whose process died ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_runs_of_a_store_that_was_closed_are_interrupted(
    store: SessionStore, session: str, url: str
) -> None:
    with SessionStore.open(url) as other:
        begin(other, session, "r")
        keep(other, started("r", chain("do")))
        assert store.processes.mark_interrupted() == ()
        assert store.runs.find("r").status == "running"
    # Where a look of the store itself has not seen it first.
    store.processes.mark_interrupted()
    assert store.runs.find("r").status == "interrupted"


@pytest.mark.slow
def test_a_process_whose_runs_were_interrupted_stops_them_and_adds_nothing(
    store: SessionStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one whose machine slept: its connection to the server is gone, and so is its lock."""
    with SessionStore.open(url) as other:
        stopped = Event()
        other.processes.watch_stops(lambda _: stopped.set())
        begin(other, store.sessions.create("q").id, "r")
        monkeypatch.setattr(other.processes.lock, "hold", lambda: None)

        def is_interrupted() -> bool:
            # A look of its own, begun before, may take the lock again.
            other.processes.lock.release()
            store.processes.mark_interrupted()
            return store.runs.find("r").status == "interrupted"

        until(is_interrupted)
        assert stopped.wait(60)
        with pytest.raises(StorageError, match=r"the run is over \(interrupted\)"):
            keep(other, started("r", chain("do")))


@pytest.mark.slow
def test_a_lock_that_is_free_for_a_moment_ends_nothing(
    url: str, still: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SessionStore.open(url) as store, SessionStore.open(url) as other:
        monkeypatch.setattr(store.processes.lock, "confirm_seconds", 0.3)
        begin(other, store.sessions.create("q").id, "r")
        other.processes.lock.release()
        assert store.processes._died() == frozenset()
        other.processes.lock.hold()
        assert store.processes.mark_interrupted() == ()
        other.processes.lock.release()
        assert store.processes._died() == frozenset()
        until(lambda: store.processes._died() == {other.processes.lock.owner})
        other.processes.lock.hold()
        assert store.processes._interrupt(other.processes.lock.owner) == ()
        assert store.runs.find("r").status == "running"


@pytest.mark.slow
def test_a_lock_that_was_lost_is_taken_again(store: SessionStore, url: str) -> None:
    begin(store, store.sessions.create("q").id, "r")
    store.processes.lock.release()
    store.processes._tick()
    with SessionStore.open(url) as other, other._transactions.database.transaction(to="read") as connection:
        assert other.processes.lock.free(connection, {store.processes.lock.owner, "nobody"}) == {"nobody"}


@pytest.mark.slow
def test_a_clock_that_jumps_ends_nothing(store: SessionStore, url: str) -> None:
    begin(store, store.sessions.create("q").id, "r")
    with (
        SessionStore.open(url, clock=lambda: 1e12) as later,
        SessionStore.open(url, clock=lambda: 0.0) as before,
    ):
        assert (later.processes.mark_interrupted(), before.processes.mark_interrupted()) == ((), ())
    assert store.runs.find("r").status == "running"


@pytest.mark.slow
@pytest.mark.parametrize("fault", [ZeroDivisionError, StorageError])
def test_a_store_looks_on_whatever_a_look_met_with(
    url: str, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    looks: list[float] = []
    again = Event()

    def look(_: object) -> None:
        looks.append(0.0)
        if len(looks) == 1:
            raise fault
        again.set()

    monkeypatch.setattr("storage.store.processes.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("storage.store.processes.Processes._tick", look)
    with SessionStore.open(url):
        assert again.wait(60)


# -- the locked files beside SQLite ----------------------------------------------------------------


def test_a_store_that_runs_nothing_makes_no_file(store: SessionStore, file: Path) -> None:
    store.sessions.create("q")
    assert not _folder(file).exists()


@pytest.mark.slow
def test_a_file_is_removed_when_its_store_is_closed_or_its_process_died(
    store: SessionStore, url: str, file: Path
) -> None:
    with SessionStore.open(url) as other:
        begin(other, other.sessions.create("q").id, "r")
        (_folder(file) / "12-died").touch()
        begin(store, store.sessions.create("q").id, "s")
        assert {path.name for path in _folder(file).iterdir()} == {
            store.processes.lock.owner,
            other.processes.lock.owner,
        }
    assert [path.name for path in _folder(file).iterdir()] == [store.processes.lock.owner]
    store.close()
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.slow
def test_a_lock_whose_file_was_removed_is_taken_again(store: SessionStore, url: str, file: Path) -> None:
    begin(store, store.sessions.create("q").id, "r")
    shutil.rmtree(_folder(file))
    store.processes._tick()
    with SessionStore.open(url):
        assert store.runs.find("r").status == "running"


@pytest.mark.slow
@pytest.mark.parametrize("owner", ["host~0a1b/12/345", "..", "../conductor.db", "/etc/passwd", "gone"])
def test_an_owner_that_names_no_locked_file_died(store: SessionStore, owner: str, file: Path) -> None:
    begin(store, store.sessions.create("q").id, "r")
    with store._transactions.database.transaction(to="read") as connection:
        assert store.processes.lock.free(connection, {owner}) == {owner}
    assert file.exists()


def test_a_folder_that_cannot_be_made_is_named(store: SessionStore, file: Path) -> None:
    _folder(file).touch()
    session = store.sessions.create("q").id
    with pytest.raises(
        StorageError, match=r"conductor\.db\.processes, in which .* cannot be used: File exists"
    ):
        begin(store, session, "r")
    assert store.runs.of_session(session) == ()


def test_a_disk_without_locks_is_named(
    store: SessionStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    session = store.sessions.create("q").id
    for _ in range(2):
        with pytest.raises(StorageError, match=r"No locks available.* a disk of this machine"):
            begin(store, session, "r")
    assert store.runs.of_session(session) == ()


def _folder(file: Path) -> Path:
    return file.with_name(f"{file.name}.processes")
