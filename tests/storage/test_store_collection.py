"""What is removed for good: all of a deleted session, and outputs that nothing refers to; nothing else."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Table, Text, insert, select, type_coerce
from sqlalchemy.event import listen

from conductor.errors import StorageError, UnknownId
from conductor.runs.events import StepKept, StepReused
from conductor.text.json_text import portable
from storage import SessionStore
from storage.database.database import Database
from storage.database.schema import EVENTS, METADATA, OUTPUTS, SESSIONS
from storage.fragments.writing import LEAST, LEAST_BEGINNING
from storage.records import SessionFilter
from storage.store.housekeeping import rewrite
from storage.tables import garbage_collection, sessions
from tests.support.cases.property_cases import cases
from tests.support.stores.session_files import exported, imported
from tests.support.stores.session_history import Act, acts, lived
from tests.support.stores.store_scenario import (
    REQUEST,
    begin,
    by_fingerprint,
    chain,
    finished,
    keep,
    output,
    started,
    step_finished,
    ticking,
)

pytestmark = pytest.mark.slow

EVERYTHING: Sequence[Act] = [
    ("edit", 1, "a"),
    ("plan", 0, "b"),
    ("edit", 2, "c" * LEAST_BEGINNING),
    ("run", 1, "d" * LEAST),
    ("try", 1, "e"),
    ("judge", 1, "f"),
    ("note", 1, "n"),
    ("wish", 1, "n"),
    ("plan", 1, "g"),
    ("run", 3, "h"),
    ("undo", 1, "i"),
    ("tag", 1, "j"),
]
"""A history after which every table has a row of the session."""


@contextmanager
def rows(url: str) -> Iterator[Callable[[Any], None]]:
    """Changes rows behind the store's back."""
    database = Database(url)

    def execute(statement: Any) -> None:
        with database.transaction(to="write") as connection:
            connection.execute(statement)
            database.count_change(connection)

    yield execute
    database.close()


def all_rows(url: str) -> dict[str, set[tuple[Any, ...]]]:
    """All rows of the tables in which sessions stand, as they are written."""
    database = Database(url)
    with database.transaction(to="read") as connection:
        contents = {
            table.name: {
                tuple(row)
                for row in connection.execute(select(*(type_coerce(column, Text) for column in table.c)))
            }
            for table in METADATA.tables.values()
            if of_sessions(table)
        }
    database.close()
    return contents


def of_sessions(table: Table) -> bool:
    """Whether its rows belong to sessions: all that refers to what belongs to one."""
    tables: set[Table] = {SESSIONS}
    for _ in METADATA.tables:
        tables |= {
            other
            for other in METADATA.tables.values()
            if any(key.column.table in tables for key in other.foreign_keys)
        }
    return table in tables


def orphan(session: str, fingerprint: str) -> Any:
    """An output of a run that is not in the store."""
    value = output("x", run="nowhere", fingerprint=fingerprint)
    return insert(OUTPUTS).values(session=session, **of(fingerprint, "nowhere"), output=value)


def of(fingerprint: str, run: str) -> dict[str, Any]:
    """The columns of an output of that run's first step."""
    return {"fingerprint": fingerprint, "run": run, "step": 0, "finished_at": 1.0}


# -- sessions --------------------------------------------------------------------------------------


def test_a_removed_session_leaves_no_row_and_takes_none_of_another(store: SessionStore, url: str) -> None:
    lived(store, EVERYTHING, query="stays")
    before = all_rows(url)
    gone = lived(store, EVERYTHING, query="goes")
    full = all_rows(url)
    assert all(len(full[name]) > len(before[name]) for name in full), "a table that no session stands in"
    store.sessions.delete(gone)
    removed = store.housekeeping.remove_deleted(older_than=0)
    assert removed.sessions == {gone: "goes"}
    assert removed.runs == 3
    assert all_rows(url) == before
    assert [each.query for each in store.sessions.listed()] == ["stays"]


def test_a_fork_stays_whole_when_its_origin_is_removed(store: SessionStore) -> None:
    origin = lived(store, EVERYTHING)
    fork = store.sessions.fork(origin, store.revisions.of_session(origin)[-1].id).id
    before = store.runs.outputs(fork), store.revisions.of_session(fork), store.runs.of_session(fork)
    store.sessions.delete(origin)
    done = store.housekeeping.clean_up(older_than=0)
    assert (list(done.sessions), done.outputs) == ([origin], 0)
    assert before[0]
    assert (store.runs.outputs(fork), store.revisions.of_session(fork), store.runs.of_session(fork)) == before


def test_only_what_was_deleted_long_enough_ago_goes(store: SessionStore) -> None:
    old, young, alive = (store.sessions.create(name).id for name in ("old", "young", "alive"))
    store.sessions.delete(old)
    for _ in range(50):
        store._transactions.clock()
    store.sessions.delete(young)
    assert store.housekeeping.removable(older_than=40) == {old: "old"}
    assert store.housekeeping.remove_deleted(older_than=40).sessions == {old: "old"}
    assert store.sessions.find(young).deleted_at is not None
    assert store.sessions.find(alive).deleted_at is None
    with pytest.raises(StorageError, match="no session"):
        store.sessions.find(old)


def test_a_session_that_runs_is_not_removed(store: SessionStore, session: str) -> None:
    begin(store, session, "n1")
    store.sessions.delete(session)
    assert store.housekeeping.removable(older_than=0) == {}
    keep(store, finished("n1", seq=0))
    assert store.housekeeping.remove_deleted(older_than=0).runs == 1


# -- outputs ---------------------------------------------------------------------------------------

ROLES = st.sampled_from(["given", "reused", "kept", "pinned"])
FINGERPRINTS = st.text(st.sampled_from('ab"\\é\0☃{}:,'), min_size=1, max_size=4)


def refer(store: SessionStore, session: str, fingerprints: Mapping[str, set[str]]) -> None:
    """A run and revisions that refer to each fingerprint in its roles."""
    names = [(name, role) for name, roles in fingerprints.items() for role in sorted(roles)]
    begin(store, session, "told")
    keep(store, started("told", chain("do")))
    for seq, (name, role) in enumerate(names, start=1):
        value = output(role, run="earlier", fingerprint=name)
        if role == "given":
            keep(store, step_finished("told", role, seq=seq, fingerprint=name))
        elif role == "reused":
            keep(store, StepReused(run="told", seq=seq, at=4.0, step=0, output=value, request=REQUEST))
        elif role == "kept":
            keep(store, StepKept(run="told", seq=seq, at=4.0, step=0, output=value, because="preloaded"))
        else:
            store.revisions.add(session, chain("do").with_pin(0, value), origin="human")
    keep(store, finished("told", seq=len(names) + 1))


@pytest.mark.thorough
@cases(20)
@given(
    history=acts(),
    fingerprints=st.dictionaries(FINGERPRINTS, st.sets(ROLES), max_size=5),
)
def test_collecting_takes_what_nothing_refers_to_and_changes_nothing_else(
    empty_store: Path, history: list[Act], fingerprints: dict[str, set[str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{copyfile(empty_store, Path(folder) / 'c.db')}"
        with SessionStore.open(url, clock=ticking().__next__) as store, rows(url) as execute:
            session = lived(store, history)
            refer(store, session, fingerprints)
            outputs = by_fingerprint(store.runs.outputs(session))
            alone = [name for name in fingerprints if portable(name) not in outputs]
            for name in alone:
                execute(orphan(session, name))
            stays = by_fingerprint(store.runs.outputs(session))
            gone = [portable(name) for name in alone if not fingerprints[name]]
            for name in gone:
                del stays[name]
            states = [store.runs.state(run.id) for run in store.runs.of_session(session)]
            revisions = store.revisions.of_session(session)
            assert store.housekeeping.cleaning(older_than=None).outputs == len(gone)
            assert store.housekeeping.clean_up(older_than=None).outputs == len(gone)
            assert by_fingerprint(store.runs.outputs(session)) == stays
            assert [store.runs.state(run.id) for run in store.runs.of_session(session)] == states
            assert store.revisions.of_session(session) == revisions


def test_an_output_is_kept_as_long_as_the_run_that_gave_it(store: SessionStore, url: str) -> None:
    giver, taker = store.sessions.create("gives").id, store.sessions.create("takes").id
    for session, run in ((giver, "n1"), (taker, "n2")):
        begin(store, session, run)
        keep(store, started(run, chain("do")), finished(run, seq=1))
    value = output("x", run="n1", fingerprint="f")
    with rows(url) as execute:
        execute(insert(OUTPUTS).values(session=taker, **of("f", "n1"), output=value))
    assert store.housekeeping.clean_up(older_than=None).outputs == 0
    store.sessions.delete(giver)
    assert store.housekeeping.clean_up(older_than=None).outputs == 0, "it is not gone yet"
    assert store.housekeeping.clean_up(older_than=0).outputs == 1


def test_an_output_with_half_of_a_surrogate_pair_is_kept(store: SessionStore, session: str) -> None:
    begin(store, session, "n1")
    half = step_finished("n1", "half \ud83d", seq=1)
    keep(store, started("n1", chain("do")), half, finished("n1", seq=2))
    assert store.housekeeping.clean_up(older_than=None).outputs == 0
    assert len(store.runs.outputs(session)) == 1


def test_what_was_imported_keeps_its_outputs_until_it_runs_here(store: SessionStore, url: str) -> None:
    origin = lived(store, EVERYTHING)
    fork = store.sessions.fork(origin, store.revisions.of_session(origin)[-1].id).id
    copy = imported(store, exported(store, fork)).id
    for session in (origin, fork):
        store.sessions.delete(session)
    store.housekeeping.clean_up(older_than=0)
    assert store.runs.outputs(copy)


def test_what_a_damaged_event_names_is_kept(store: SessionStore, session: str, url: str) -> None:
    begin(store, session, "n1")
    keep(store, started("n1", chain("do")), step_finished("n1", "x", seq=1), finished("n1", seq=2))
    torn = '{"type":"step_finished","output":{"fingerprint":"f","text":"to'
    with rows(url) as execute:
        execute(EVENTS.update().where(EVENTS.c.seq == 1).values({EVENTS.c.event: type_coerce(torn, Text)}))
        execute(orphan(session, "g"))
    assert store.housekeeping.clean_up(older_than=None).outputs == 1
    assert list(by_fingerprint(store.runs.outputs(session))) == ["f"]


# -- cleaning up -----------------------------------------------------------------------------------


def test_the_file_is_not_rewritten_while_anything_runs(store: SessionStore, url: str) -> None:
    deleted, running = store.sessions.create("deleted").id, store.sessions.create("running").id
    store.sessions.delete(deleted)
    begin(store, running, "n1")
    with pytest.raises(StorageError, match=f"The session '{running}' is running, so the store cannot be"):
        store.housekeeping.clean_up(older_than=0, compact=True)
    assert store.sessions.find(deleted).deleted_at is not None
    assert list(store.housekeeping.clean_up(older_than=0).sessions) == [deleted]


def test_a_file_gives_its_room_back(store: SessionStore, file: Path) -> None:
    session = store.sessions.create("why?").id
    begin(store, session, "n1")
    keep(
        store, started("n1", chain("do")), step_finished("n1", "x" * 2_000_000, seq=1), finished("n1", seq=2)
    )
    store.sessions.delete(session)
    room = store.housekeeping.room()
    assert room.deleted == 1
    assert 2_000_000 < room.freeable < room.bytes
    assert store.housekeeping.cleaning(older_than=0).freed == room.freeable
    done = store.housekeeping.clean_up(older_than=0)
    assert done.bytes_after == store.housekeeping.room().bytes == file.stat().st_size
    assert done.freed == done.bytes_before - done.bytes_after > 1_900_000
    assert done.freed == pytest.approx(room.freeable, rel=0.25)
    assert store.housekeeping.room().deleted == 0
    assert store.sessions.create("and on it goes").query == "and on it goes"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "answer", ["Eight of them. ", "Acht von ihnen wären schön. ", "八つあると思います。"]
)
@pytest.mark.parametrize(("sessions", "length"), [(4, 4_000), (60, 2)])
def test_what_cleaning_up_would_free_is_about_what_it_frees(
    store: SessionStore, file: Path, answer: str, sessions: int, length: int
) -> None:
    for number in range(sessions):
        session = store.sessions.create(f"{number}: how many? {answer * length}").id
        begin(store, session, f"r{number}")
        keep(
            store,
            started(f"r{number}", chain("do")),
            step_finished(f"r{number}", f"{number}: {answer * length}", seq=1),
            finished(f"r{number}", seq=2),
        )
        if number % 4:
            store.sessions.delete(session)
    forecast = store.housekeeping.cleaning(older_than=0).freed
    assert store.housekeeping.clean_up(older_than=0).freed == pytest.approx(forecast, rel=0.25)


def test_a_file_that_another_program_holds_stays_as_it_is(
    store: SessionStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.sessions.create("why?")
    monkeypatch.setattr("storage.store.housekeeping._WAIT_SECONDS", 0.01)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="is locked by another program"):
            rewrite(store._transactions.database)
    rewrite(store._transactions.database)
    assert store.sessions.count() == 1


def test_a_file_of_an_earlier_version_gives_its_room_back_where_it_is_rewritten(
    store: SessionStore, file: Path
) -> None:
    store.close()
    with closing(sqlite3.connect(file, isolation_level=None)) as own:
        own.execute("PRAGMA auto_vacuum=NONE")
        own.execute("VACUUM")
    with SessionStore.open(f"sqlite:///{file}") as again:
        session = again.sessions.create("x" * 500_000).id
        again.sessions.delete(session)
        done = again.housekeeping.clean_up(older_than=-1)
        assert list(done.sessions) == [session]
        assert done.freed <= 0
        assert done.unused > 500_000
        done = again.housekeeping.clean_up(older_than=None, compact=True)
        assert (done.unused, done.freed > 500_000) == (0, True)
        again.sessions.delete(again.sessions.create("x" * 500_000).id)
        assert again.housekeeping.clean_up(older_than=-1).freed >= 0
        assert again.housekeeping.room().freeable == 0


def test_a_session_is_removed_and_its_room_given_back_in_many_transactions(
    store: SessionStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = all_rows(url)
    gone = lived(store, EVERYTHING, query="goes")
    store.sessions.delete(gone)
    monkeypatch.setattr("storage.database.time_slice.SECONDS", 0.0)
    commits: list[object] = []
    listen(store._transactions.database.writer, "commit", commits.append)
    assert list(store.housekeeping.clean_up(older_than=0).sessions) == [gone]
    assert len(commits) > 10
    assert all_rows(url) == before


def test_a_server_is_vacuumed_too(store: SessionStore) -> None:
    session = lived(store, EVERYTHING)
    store.sessions.delete(session)
    done = store.housekeeping.clean_up(older_than=0)
    assert list(done.sessions) == [session]
    assert done.bytes_after is not None
    assert store.sessions.count() == 0
    assert store.sessions.create("and on it goes").query == "and on it goes"


def test_a_session_that_is_being_removed_is_not_restored(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = lived(store, EVERYTHING)
    store.sessions.delete(session)
    remove_slice = garbage_collection.remove_slice

    def too_late(connection: Connection, session: str) -> bool:
        with pytest.raises(UnknownId):
            sessions.restore(connection, session)
        return remove_slice(connection, session)

    monkeypatch.setattr(garbage_collection, "remove_slice", too_late)
    assert store.housekeeping.remove_session(session)
    assert store.sessions.count() == 0


def test_the_words_of_a_removed_session_find_nothing(store: SessionStore) -> None:
    lived(store, EVERYTHING, query="stays here")
    gone = lived(store, EVERYTHING, query="goes away")
    store.sessions.delete(gone)
    store.housekeeping.clean_up(older_than=0)
    assert store.sessions.count(SessionFilter(search="stays")) == 1
    assert store.sessions.count(SessionFilter(search="away", deleted=True)) == 0


def test_ids_are_found_by_their_beginnings(store: SessionStore) -> None:
    ids = sorted(store.sessions.create("why?").id for _ in range(3))
    assert store.sessions.named("") == tuple(ids)
    assert store.sessions.named(ids[0][:12]) == (ids[0],)
    assert store.sessions.named("%") == store.sessions.named("_") == ()
