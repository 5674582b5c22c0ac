"""Several processes on one store: they see each other's runs, stop them, and notice who is gone."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import pytest
from other_process import Other, running, workbench
from store_scenario import begin, chain, delta, finished, keep, started, step_started

from conductor.engine.trials import Swap
from conductor.errors import EditConflict, StorageError
from storage import RunRecord, SessionStore, interruption, ownership, processes
from storage.database import Database
from storage.heart import Heart
from storage.workbench import Workbench


def until(true: Callable[[], bool], *, seconds: float) -> None:
    """Look four times a second, as a page does."""
    for _ in range(int(seconds * 4)):
        if true():
            return
        time.sleep(0.25)
    raise AssertionError(f"it did not come true within {seconds} seconds")


# -- two processes ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.thorough
def test_a_run_of_another_process_is_followed_and_stopped(url: str) -> None:
    with workbench(url) as bench, running(url, "talker") as other:
        run = bench.store.run(other.run)
        assert [summary.id for summary in bench.store.sessions()] == [other.session]
        assert not bench.runs_here(run)
        until(lambda: _said(bench, run) > 5, seconds=10)
        before = _said(bench, run)
        until(lambda: _said(bench, run) > before + 5, seconds=3)
        assert bench.state(run).steps[0].text == "done at once"
        bench.store.rename_session(other.session, "Seen by both")
        bench.stop(other.session)
        until(lambda: not bench.state(run).live, seconds=2)
        assert bench.state(run).status == "cancelled"
        assert other.told() == ("cancelled", "None", "Seen by both")


def _said(bench: Workbench, run: RunRecord) -> int:
    """How many words of the second step have arrived."""
    state = bench.state(run)
    return len(state.steps[1].text.split()) if state.steps else 0


@pytest.mark.slow
@pytest.mark.thorough
def test_a_process_is_taken_for_dead_within_ten_seconds_and_cannot_come_back(url: str) -> None:
    """Of two on other machines one dies and one is suspended; of the pids of either nothing is known here."""
    with ExitStack() as stack:
        bench = stack.enter_context(workbench(url))
        killed, suspended = (
            stack.enter_context(running(url, "thinker", place=place)) for place in ("one", "two")
        )
        until(lambda: all(_thinks(bench, other) for other in (killed, suspended)), seconds=10)
        killed.signal(signal.SIGKILL)
        suspended.signal(signal.SIGSTOP)
        for other in (killed, suspended):
            assert bench.store.run(other.run).status == "running"
        # Nobody looks here: the store itself does.
        ended = {"interrupted"}
        until(
            lambda: {bench.store.run(other.run).status for other in (killed, suspended)} == ended, seconds=10
        )
        before = bench.store.events(suspended.run)
        suspended.signal(signal.SIGCONT)
        status, unsaved, _ = suspended.told()
        assert status == "cancelled"
        assert "the run is over (interrupted)" in unsaved
        assert bench.store.events(suspended.run) == before
        assert bench.store.run(suspended.run).status == "interrupted"
        # What was finished is reused, and the steps that were not are run again.
        radius = bench.outlook(suspended.session).radius
        assert (set(radius.reused), set(radius.runs)) == ({0}, {1})


def _thinks(bench: Workbench, other: Other) -> bool:
    state = bench.state(bench.store.run(other.run))
    return bool(state.steps) and state.steps[1].status == "running"


@pytest.mark.slow
@pytest.mark.thorough
def test_a_neighbours_death_is_seen_at_once(url: str) -> None:
    with workbench(url) as bench, running(url, "thinker") as other:
        other.signal(signal.SIGKILL)
        other.process.wait(timeout=10)
        assert other.run in bench.store.mark_interrupted() or bench.store.run(other.run).status != "running"
        assert bench.store.run(other.run).status == "interrupted"


# -- two stores in one process ---------------------------------------------------------------------


def test_of_edits_of_one_revision_only_one_is_kept(store: SessionStore, url: str) -> None:
    session = store.create_session("q").id
    head = store.add_revision(session, chain("a"), origin="human").id

    def edit(where: SessionStore) -> bool:
        try:
            where.add_revision(session, chain("b"), origin="human", expected=head)
        except EditConflict:
            return False
        return True

    with SessionStore.open(url) as other, ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(edit, [store, other] * 4)) == [False] * 7 + [True]
        assert len(store.revisions(session)) == 2


def test_every_undo_counts(store: SessionStore, url: str) -> None:
    session = store.create_session("q").id
    for name in "abcdefghi":
        store.add_revision(session, chain(name), origin="human")
    with SessionStore.open(url) as other, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda where: where.undo(session), [store, other] * 4))
        assert store.head(session) == store.revisions(session)[0]


def test_a_session_runs_once_at_a_time_wherever(store: SessionStore, url: str) -> None:
    session = store.create_session("q").id
    store.add_revision(session, chain("a"), origin="human")

    def start(at: int) -> bool:
        try:
            begin((store, other)[at % 2], session, f"run {at}")
        except StorageError:
            return False
        return True

    with SessionStore.open(url) as other, ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(start, range(8))) == 1
        assert len(other.runs(session)) == 1


def test_a_run_is_followed_by_what_is_new(
    store: SessionStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    events_of = interruption.runs.events_of

    def counted(*given: object, after: int) -> object:
        asked.append(after)
        return events_of(*given, after=after)

    begin(store, store.create_session("q").id, "r")
    keep(store, started("r", chain("do")), step_started("r", seq=1))
    with workbench(url) as bench:
        monkeypatch.setattr(interruption.runs, "events_of", counted)
        run = bench.store.run("r")
        for seq in range(2, 5):
            keep(store, delta("r", seq=seq))
            assert [bench.state(run).steps[0].text.count("word") for _ in range(3)] == [seq - 1] * 3
        keep(store, finished("r", seq=5))
        assert [bench.state(run).status for _ in range(3)] == ["finished"] * 3
    assert (asked.count(-1), asked, set(asked)) == (1, sorted(asked), {-1, 2, 3, 4})


def test_a_run_that_was_ended_by_others_takes_nothing_more(store: SessionStore, url: str) -> None:
    session = store.create_session("q").id
    begin(store, session, "r")
    keep(store, started("r", chain("do")))
    database = Database(url)
    with database.transaction(to="write") as connection:
        interruption.interrupt(connection, "r", now=2.0)
    database.close()
    before = store.events("r")
    for event in (step_started("r", seq=2), delta("r", seq=7), finished("r", seq=8)):
        with pytest.raises(StorageError, match=r"Event . of the run 'r' was not kept: the run is over"):
            keep(store, event)
    assert store.events("r") == before
    assert (store.run("r").status, store.run("r").answer) == ("interrupted", None)


def test_a_run_is_asked_to_stop_until_it_is_over(store: SessionStore) -> None:
    begin(store, store.create_session("q").id, "r")
    keep(store, started("r", chain("do")))
    stopped: list[str] = []
    store.hear_stops(stopped.append)
    store._tick()
    assert not stopped
    store.ask_to_stop("r")
    store._tick()
    assert set(stopped) == {"r"}
    keep(store, finished("r", seq=1, outcome="cancelled"))
    store.ask_to_stop("r")
    store._tick()
    stopped.clear()
    store._tick()
    assert not stopped


def test_a_trial_that_begins_when_its_experiment_was_asked_to_stop_is_asked_as_well(
    store: SessionStore,
) -> None:
    session = store.create_session("q").id
    begin(store, session, "r")
    keep(store, started("r", chain("do")), finished("r", seq=1))
    head = store.head(session)
    assert head is not None
    made, other = (store.add_experiment(session, Swap(step=0, workers=("a",)), base="r").id for _ in range(2))

    def begin_trial(run: str, experiment: str, trial: int) -> None:
        store.start_run(run=run, session=session, revision=head.id, experiment=experiment, trial=trial)

    stopped: set[str] = set()
    store.hear_stops(stopped.add)
    begin_trial("over", made, 0)
    keep(store, started("over", chain("do")), finished("over", seq=1))
    store._tick()
    stopped.clear()
    store.ask_to_stop_experiment(made)
    begin_trial("late", made, 1)
    begin_trial("of another", other, 0)
    store._tick()
    assert stopped == {"late"}
    assert (store.is_asked_to_stop(made), store.is_asked_to_stop(other)) == (True, False)


# -- who is gone -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("silence", "trusted", "gone"),
    [
        (0.0, True, False),
        (interruption.SILENT_SECONDS - 2, True, False),
        (interruption.SILENT_SECONDS + 1, True, True),
        (interruption.SILENT_SECONDS + 1, False, False),
        (-2.0, True, False),
        (-3600.0, True, True),
        (-3600.0, False, False),
        (None, True, True),
        (None, False, False),
    ],
)
def test_who_is_silent_for_too_long_is_gone(
    store: SessionStore,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    silence: float | None,
    trusted: bool,
    gone: bool,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("storage.runs.this_process", lambda: "elsewhere/1/1")
        begin(store, store.create_session("q").id, "r")
    database = Database(url)
    with database.transaction(to="write") as connection:
        if silence is None:
            connection.execute(processes.PROCESSES.delete())
        else:
            beat_at = processes.clock(connection) - silence
            connection.execute(processes.PROCESSES.update().values(beat_at=beat_at))
        found = interruption.abandoned(connection, trust=lambda _: trusted)
        assert [run.id for run in found] == (["r"] if gone else [])
        assert interruption.interrupt_abandoned(connection, "r", trust=lambda _: trusted, now=1.0) == gone
        assert not interruption.interrupt_abandoned(connection, "r", trust=lambda _: False, now=1.0)
    database.close()
    assert store.run("r").status == ("interrupted" if gone else "running")


@pytest.mark.parametrize(
    ("ticks", "now", "even"),
    [
        ([], 0.0, False),
        ([0.0, 2.0, 3.9], 4.0, False),
        ([0.0, 2.0, 4.0], 4.1, True),
        ([0.0, 2.0, 4.0], 8.0, False),
        ([0.0, 2.0, 4.0, 60.0], 60.1, False),
        ([0.0, 2.0, 4.0, 60.0, 62.0, 64.0], 64.1, True),
        ([0.0, 2.0, 4.0, 1.0], 1.1, False),
    ],
    ids=["never", "too short", "even", "suspended", "back", "back for a while", "a clock set back"],
)
def test_only_an_even_heart_judges(ticks: list[float], now: float, even: bool) -> None:
    heart = Heart(lambda: 0.0)
    for tick in ticks:
        heart.ticked(tick)
    assert heart.even(now) == even


@pytest.mark.parametrize("fault", [ZeroDivisionError, StorageError])
def test_a_heart_goes_on_whatever_a_tick_met_with(
    monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    ticks: list[float] = []
    again = Event()

    def tick() -> float:
        ticks.append(0.0)
        if len(ticks) == 1:
            raise fault
        again.set()
        return 0.0

    monkeypatch.setattr("storage.heart.TICK_SECONDS", 0.01)
    heart = Heart(tick)
    heart.start()
    assert again.wait(10)
    heart.stop()


def test_a_process_beats_on_when_the_clock_is_set_back(
    store: SessionStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(store, store.create_session("q").id, "r")
    store._tick()
    an_hour_ago = {dialect: clock - 3600 for dialect, clock in processes._CLOCKS.items()}
    monkeypatch.setattr("storage.processes._CLOCKS", an_hour_ago)
    store._tick()
    database = Database(url)
    with database.transaction(to="read") as connection:
        (silence,) = processes.silences(connection).values()
    database.close()
    assert 0 <= silence < 5


def test_a_process_is_known_while_it_has_runs(store: SessionStore, url: str) -> None:
    def known() -> list[str]:
        with database.transaction(to="read") as connection:
            return [*processes.silences(connection)]

    database = Database(url)
    session = store.create_session("q").id
    assert known() == []
    begin(store, session, "r")
    (process,) = known()
    assert store.run("r").owner == process
    store._tick()
    with database.transaction(to="read") as connection:
        assert processes.silences(connection)[process] < 5
        assert ownership.look(connection, owner=process).own == {"r"}
    keep(store, finished("r", seq=0))
    store.close()
    assert known() == []
    database.close()
