"""On PostgreSQL, processes write to different sessions at the same time, and to one session in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event

import pytest
from sqlalchemy import Connection

from conductor.errors import StorageError
from conductor.runs.request import RunRequest
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.presets import Settings
from storage import SessionStore
from storage.database import database as databases
from storage.database.schema import META, SESSIONS
from storage.records import RequestSession
from storage.session_entries import NoteEntry
from storage.tables import ledger
from storage.tables.rows import new_id
from tests.support.stores.store_scenario import VALID, begin, chain, finished, keep, started, step_finished

CHARGE = Charge(
    worker="w", kind="simulated", purpose="step", usage=Usage(prompt_tokens=3, completion_tokens=None)
)

Write = Callable[[SessionStore, str], object]


def _run(store: SessionStore, session: str) -> None:
    run = new_id()
    begin(store, session, run)
    keep(store, started(run, chain("do")), step_finished(run, "text", seq=1), finished(run, seq=2))
    store.runs.pack(run)


def _request(store: SessionStore, _: str) -> None:
    session, run = new_id(), new_id()
    request = RunRequest(query="Why?", workflow=chain("do"))
    store.requests.begin(request, session=session, stored_as=RequestSession(token="t"), run=run)
    keep(store, started(run, chain("do")), step_finished(run, "text", seq=1), finished(run, seq=2))
    store.requests.keep_response(session, "{}")
    store.requests.set_newest_turn(session, digests=[session])
    store.requests.set_response_aside(session, answer="a")
    store.requests.keep_earlier_response(session, answer="a", response="{}")
    store.requests.extend(session, seconds=60)
    head = store.revisions.head(session)
    assert head is not None
    store.requests.continue_session(request, revision=head.id, stored_as=RequestSession())


def _plan(store: SessionStore, session: str) -> None:
    planning = new_id()
    store.plans.begin(planning, session, planner="conductor", planner_kind="model")
    store.plans.add(
        session,
        planner="conductor",
        planner_kind="model",
        report=VALID,
        usage=Usage(prompt_tokens=1, completion_tokens=1),
        workflow=chain("plan"),
        planning=planning,
    )


def _edit(store: SessionStore, session: str) -> None:
    for name in "ab":
        store.revisions.add(session, chain(name), origin="human")
    store.revisions.undo(session)
    store.revisions.redo(session)


def _remove(store: SessionStore, session: str) -> None:
    gone = store.sessions.create("gone").id
    _run(store, gone)
    fork = store.revisions.head(gone)
    assert fork is not None
    store.sessions.fork(gone, fork.id)
    store.housekeeping.remove_session(gone)


WRITES: dict[str, Write] = {
    "a new session": lambda store, _: store.sessions.create("q"),
    "an import": lambda store, _: store.revisions.import_workflow("q", chain("a")),
    "a name": lambda store, session: store.sessions.rename(session, "another"),
    "settings": lambda store, session: store.sessions.set_settings(session, Settings(rounds=2)),
    "a tag": lambda store, session: (
        store.sessions.add_tag(session, "a"),
        store.sessions.remove_tag(session, "a"),
    ),
    "links": lambda store, session: store.sessions.revoke_view_links(session),
    "an edit": _edit,
    "a plan": _plan,
    "a note": lambda store, session: store.notes.add(
        session, NoteEntry(id=new_id(), part="question", text="so", quote="q", created_at=1.0)
    ),
    "a run": _run,
    "a request": _request,
    "a removal": _remove,
}
"""What belongs to a session, by what it is; together they call every method that locks one session."""


@contextmanager
def writing(store: SessionStore, session: str | None) -> Iterator[None]:
    """This store is in the middle of a write to the session (None: to anything)."""
    entered, released = Event(), Event()

    def hold(connection: Connection) -> None:
        connection.execute(SESSIONS.update().where(SESSIONS.c.id == session).values(title="held"))
        # The sums that every run adds to.
        ledger.add(connection, 4.0, [CHARGE], session=session)
        entered.set()
        assert released.wait(60)

    write = store._transactions.writer.submit(hold, of=session)
    assert entered.wait(60)
    try:
        yield
    finally:
        released.set()
        write.result(60)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that waits for another one fails after some seconds."""
    monkeypatch.setattr(databases, "_SESSION", ("lock_timeout = 3000",))


@pytest.mark.thorough
def test_what_belongs_to_a_session_is_written_while_another_process_writes_to_another(
    emptied: str, impatient: None
) -> None:
    with SessionStore.open(emptied) as store, SessionStore.open(emptied) as other:
        own, session = store.sessions.create("own").id, store.sessions.create("q").id
        with writing(store, own):
            for write in WRITES.values():
                write(other, session)
        assert store.sessions.find(own).title == "held"


@pytest.mark.thorough
@pytest.mark.parametrize("whole", ["first", "second", "neither"])
def test_writes_to_one_session_take_turns_and_so_do_those_to_anything(
    emptied: str, monkeypatch: pytest.MonkeyPatch, whole: str
) -> None:
    monkeypatch.setattr(databases, "_SESSION", ("lock_timeout = 100",))
    with SessionStore.open(emptied) as store, SessionStore.open(emptied) as other:
        session = store.sessions.create("q").id
        job = SESSIONS.update().values(title="late")
        of = None if whole == "second" else session
        with (
            writing(store, None if whole == "first" else session),
            pytest.raises(StorageError, match="is held by another program"),
        ):
            other._transactions.write_of(of, lambda connection: connection.execute(job))


@pytest.mark.thorough
def test_the_charges_of_processes_that_write_at_once_add_up(emptied: str, impatient: None) -> None:
    runs, processes = 20, 3

    def work(store: SessionStore) -> None:
        session = store.sessions.create("q").id
        for _ in range(runs):
            _run(store, session)

    stores = [SessionStore.open(emptied) for _ in range(processes)]
    try:
        with ThreadPoolExecutor(processes) as threads:
            list(threads.map(work, stores))
        (use,) = stores[0].ledger.used("worker")
        assert use.total.calls == runs * processes
    finally:
        for store in stores:
            store.close()


@pytest.mark.thorough
def test_of_two_writes_that_wait_for_one_another_both_are_stored(emptied: str) -> None:
    """No job of the store does so; one that did would fail at some times and not at others."""
    both, tries = Barrier(2), {"a": 0, "b": 0}

    def cross(connection: Connection, first: str, second: str) -> None:
        tries[first] += 1
        connection.execute(META.update().where(META.c.key == first).values(value="1"))
        if tries[first] == 1:
            both.wait(60)
        connection.execute(META.update().where(META.c.key == second).values(value="1"))

    with SessionStore.open(emptied) as store, SessionStore.open(emptied) as other:
        rows = [{"key": key, "value": "0"} for key in "ab"]
        store._transactions.write(lambda connection: connection.execute(META.insert(), rows))
        with ThreadPoolExecutor(2) as threads:
            crossing = [
                threads.submit(where._transactions.write_of, first, cross, first, second)
                for where, first, second in ((store, "a", "b"), (other, "b", "a"))
            ]
            for each in crossing:
                each.result(60)
    assert sorted(tries.values()) == [1, 2]


def test_a_session_has_one_lock_wherever_and_two_have_two() -> None:
    locks = [databases._lock_of(name) for name in ("a", "a", "b", "\ud800")]
    assert locks[0] == locks[1]
    assert len(set(locks)) == 3
    assert all(-(2**63) <= lock < 2**63 for lock in locks)
