"""Sessions that are inserted in many short transactions: others write between, and no list shows a part."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import pytest
from sqlalchemy import func, select

from conductor.errors import StorageError
from storage import SessionStore
from storage.copies.new_sessions import Step, perform
from storage.database import schema
from storage.records import SessionFilter
from studio.session_file import import_sessions
from tests.support.stores.session_files import exported
from tests.support.stores.session_history import Act, lived
from tests.support.stores.store_scenario import begin, chain, delta, keep, started, ticking

pytestmark = pytest.mark.slow

HISTORY: list[Act] = [("plan", 0, "a"), ("run", 1, "one"), ("note", 1, "words"), ("tag", 1, "t")]
SESSIONS = 12


@pytest.fixture
def sessions_file(store: SessionStore) -> BytesIO:
    """A file of sessions that the store no longer lists; one run of them has no end."""
    sessions = [lived(store, HISTORY, query=f"why {number}?") for number in range(SESSIONS - 1)]
    live = lived(store, [], query="live?")
    keep(store, started(begin(store, live, "live").id, chain("do")), delta("live", seq=1, text="half"))
    file = BytesIO(exported(store, *sessions, live))
    store.sessions.delete(*sessions, live)
    return file


def test_another_process_writes_during_an_import_and_sees_none_of_it(
    store: SessionStore, url: str, sessions_file: BytesIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.copies.new_sessions._READY", 4)
    counts: list[int] = []
    # By the clock of `store`: by the machine's, its sessions would be years old and this store remove them.
    with SessionStore.open(url, clock=ticking().__next__) as other:
        own = other.sessions.create("mine").id

        def write(count: int) -> None:
            # A transaction that the import held open would make this wait, and then fail.
            other.sessions.rename(own, f"during the import, {count}")
            counts.append(count)
            listed = other.sessions.listed(SessionFilter(deleted=False), limit=100)
            assert [session.id for session in listed] == [own]
            assert other.sessions.count(SessionFilter(search="why", deleted=True)) == SESSIONS - 1
            assert other.sessions.named("") == store.sessions.named("")
            assert other.processes.mark_interrupted() == ()

        sessions = import_sessions(store, sessions_file, progress=write)
        assert counts == sorted(counts)
        assert len(set(counts)) == SESSIONS
        visible = {session.id for session in other.sessions.listed(SessionFilter(), limit=100)}
        assert visible == {own, *sessions}
    live = store.runs.latest(sessions[-1])
    assert live is not None
    assert (live.status, store.runs.state(live.id).status) == ("interrupted", "interrupted")


def test_an_import_that_fails_is_removed_soon(store: SessionStore, sessions_file: BytesIO) -> None:
    before = {*store.sessions.named("")}

    def fail(_count: int) -> None:
        raise StorageError("no room")

    with pytest.raises(StorageError, match="no room"):
        import_sessions(store, sessions_file, progress=fail)
    assert {*store.sessions.named("")} == before
    assert every_session(store) != before
    ticks(store, until=lambda: every_session(store) == before)
    assert store.sessions.count() == 0


def test_what_a_killed_import_left_is_removed_after_a_day_with_its_charges(
    store: SessionStore, url: str, sessions_file: BytesIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, charges = every_session(store), charged(store)
    # What would run after a kill does not run.
    monkeypatch.setattr("storage.store.parts.give_up", lambda *_: None)

    def fail(count: int) -> None:
        if count > SESSIONS // 2:
            raise StorageError("killed")

    with pytest.raises(StorageError, match="killed"):
        import_sessions(store, sessions_file, progress=fail)
    assert charged(store) > charges
    ticks(store, until=lambda: True)
    assert every_session(store) != before
    with SessionStore.open(url, clock=lambda: 1e6) as later:
        ticks(later, until=lambda: every_session(later) == before)
    assert charged(store) == charges


def test_an_import_whose_sessions_were_removed_meanwhile_imports_nothing(
    store: SessionStore, url: str, sessions_file: BytesIO
) -> None:
    def sleep_for_days(count: int) -> None:
        if count == SESSIONS:
            with SessionStore.open(url, clock=lambda: 1e12) as other:
                ticks(other, until=lambda: len(every_session(other)) == SESSIONS)

    with pytest.raises(StorageError, match="took longer than a day"):
        import_sessions(store, sessions_file, progress=sleep_for_days)
    assert store.sessions.count() == 0


def test_a_transaction_takes_no_further_step_once_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    steps = [Step(lambda _, number=number: done.append(number)) for number in range(5)]
    assert perform(None, steps) == 5  # type: ignore[arg-type]
    monkeypatch.setattr("storage.database.time_slice.SECONDS", 0.0)
    assert perform(None, steps) == 1  # type: ignore[arg-type]
    assert done == [0, 1, 2, 3, 4, 0]


def every_session(store: SessionStore) -> set[str]:
    """The ids of all rows, whatever lists show."""
    ids = select(schema.SESSIONS.c.id)
    return set(store._transactions.read(lambda connection: connection.scalars(ids).all()))


def charged(store: SessionStore) -> int:
    """How many rows the ledger has."""
    count = select(func.count()).select_from(schema.CHARGES)
    return store._transactions.read(lambda connection: connection.execute(count).scalar_one())


def ticks(store: SessionStore, *, until: Callable[[], bool]) -> None:
    """Have the store look at what there is to remove, some times at most."""
    for _ in range(50):
        if until():
            return
        store.processes._tick()
    raise AssertionError("it was not removed")
