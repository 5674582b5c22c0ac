"""What goes wrong around a store is reported in one sentence, and nothing that was saved is lost."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy

from conductor.errors import NotKeptYet, StorageError
from conductor.values.messages import Usage
from storage import SessionStore
from storage.database import database
from storage.database.database import Database
from storage.store.housekeeping import _put
from tests.support.processes.privileges import give_up_privileges
from tests.support.stores.store_scenario import VALID, begin, delta, finished, keep


def _use(url: str) -> None:
    """Write one session."""
    with SessionStore.open(url) as store:
        store.sessions.create("q")


def _use_without_privileges(url: str) -> BaseException | None:
    """What `_use` raises as a user who owns nothing more than the files."""
    with ThreadPoolExecutor(1, initializer=give_up_privileges) as thread:
        return thread.submit(_use, url).exception()


@contextmanager
def _mode(path: Path, mode: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


def test_a_file_that_is_not_a_database_is_refused_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to have a header. " * 40, encoding="utf-8")
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"notes\.txt is not a database\. It was not changed"):
        SessionStore.open(f"sqlite:///{file}")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE recipes (name TEXT)",
        "CREATE TABLE meta (something TEXT)",
        "CREATE TABLE meta (key TEXT, value TEXT)",
    ],
)
def test_another_programs_database_is_refused_unchanged(tmp_path: Path, statement: str) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as other, other:
        other.execute(statement)
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"other\.db belongs to another program; it was not changed"):
        SessionStore.open(f"sqlite:///{file}")
    assert file.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(
        StorageError, match=r"folder of the store .*x\.db cannot be made: .*CONDUCTOR_DATABASE_URL"
    ):
        SessionStore.open(f"sqlite:///{tmp_path}/file/x.db")


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened"):
        SessionStore.open(f"sqlite:///{tmp_path}")


def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    with _mode(folder, 0o555):
        error = _use_without_privileges(f"sqlite:///{folder}/x.db")
    assert isinstance(error, StorageError)
    assert str(error).startswith(f"The store {folder}/x.db cannot be opened.")


@pytest.mark.slow
def test_a_read_only_file_is_named(url: str, file: Path) -> None:
    with SessionStore.open(url) as store:
        session = store.sessions.create("kept")
    with _mode(file, 0o444):
        error = _use_without_privileges(url)
    assert isinstance(error, StorageError)
    assert str(error).startswith(f"The store {file} cannot be written. What was saved before is kept")
    with SessionStore.open(url) as store:
        assert store.sessions.find(session.id) == session


@contextmanager
def _connections() -> Iterator[list[sqlite3.Connection]]:
    """Every SQLite connection that is made meanwhile."""
    connections: list[sqlite3.Connection] = []

    def connected(connection: sqlite3.Connection, _record: object) -> None:
        connections.append(connection)

    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", connected)
    try:
        yield connections
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "connect", connected)


def _limit(connections: list[sqlite3.Connection], pages: int) -> None:
    for connection in connections:
        connection.execute(f"PRAGMA max_page_count={pages}").close()


@pytest.mark.slow
def test_a_full_disk_fails_what_it_must_and_nothing_after_room_was_made(url: str, file: Path) -> None:
    with _connections() as connections, SessionStore.open(url) as store:
        session = store.sessions.create("q").id
        begin(store, session, "r")
        keep(store, delta("r", seq=0))
        _limit(connections, 1)
        refused = store.runs.append(delta("r", seq=1, text="x" * 100_000))
        assert "is full: its disk has no room left. What was saved before is kept" in str(
            refused.exception(timeout=60)
        )
        with pytest.raises(StorageError, match="is full"):
            store.sessions.create("x" * 100_000)
        assert store.runs.events("r") == (delta("r", seq=0),)
        _limit(connections, 1_000_000)
        keep(store, delta("r", seq=1, text="x" * 100_000), delta("r", seq=2))
        assert [event.seq for event in store.runs.events("r")] == [0, 1, 2]
        assert store.sessions.count() == 1


@pytest.mark.thorough
def test_the_log_is_bounded_and_what_a_long_read_adds_to_it_is_cut_off(url: str, file: Path) -> None:
    def written(store: SessionStore) -> int:
        for _ in range(20):
            store._transactions.write(_put, "long", "x" * 1_000_000)
        return file.with_name(f"{file.name}-wal").stat().st_size

    with SessionStore.open(url) as store:
        assert max(written(store) for _ in range(2)) < 20_000_000
        with store._transactions.reading() as connection:
            connection.execute(sqlalchemy.text("SELECT count(*) FROM sessions")).all()
            assert written(store) > 20_000_000
        assert max(written(store) for _ in range(2)) < 20_000_000


@pytest.mark.slow
def test_a_locked_store_is_named_and_used_again_when_it_is_free(url: str, file: Path) -> None:
    with _connections() as connections, SessionStore.open(url) as store:
        begin(store, store.sessions.create("q").id, "r")
        for connection in connections:
            connection.execute("PRAGMA busy_timeout=5").close()
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            refused = store.runs.append(delta("r", seq=0))
            assert "is locked by another program" in str(refused.exception(timeout=60))
            assert store.sessions.count() == 1
            other.execute("ROLLBACK")
        keep(store, delta("r", seq=0))


@pytest.mark.slow
def test_a_new_file_that_another_process_writes_at_that_moment_is_waited_for(url: str, file: Path) -> None:
    file.parent.mkdir()
    with (
        closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        other.execute("BEGIN IMMEDIATE")
        opened = thread.submit(_use, url)
        assert not wait([opened], timeout=0.3).done
        other.execute("ROLLBACK")
        opened.result()


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY])
def test_every_kind_of_busy_is_waited_for_when_a_connection_is_set(code: int) -> None:
    settings: list[str] = []

    def execute(setting: str) -> None:
        settings.append(setting)
        if len(settings) == 1:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = code
            raise error

    database._patiently(execute, "PRAGMA journal_mode = WAL")
    assert settings == ["PRAGMA journal_mode = WAL"] * 2


@contextmanager
def _an_end_that_met_a_locked_store(url: str, file: Path) -> Iterator[SessionStore]:
    """A store with a run "r" that answered "a", which could not be kept; it is free again."""
    with _connections() as connections, SessionStore.open(url) as store:
        begin(store, store.sessions.create("q").id, "r")
        for connection in connections:
            connection.execute("PRAGMA busy_timeout=5").close()
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert "is locked" in str(store.runs.append(finished("r", seq=0)).exception(timeout=60))
            store.processes.mark_interrupted()
            with pytest.raises(StorageError, match="is locked"):
                begin(store, store.runs.find("r").session, "too early")
            other.execute("ROLLBACK")
        assert store.runs.find("r").status == "running"
        yield store


@pytest.mark.slow
def test_a_run_may_start_after_one_whose_end_met_a_failure(url: str, file: Path) -> None:
    with _an_end_that_met_a_locked_store(url, file) as store:
        begin(store, store.runs.find("r").session, "next")
        assert (store.runs.find("r").status, store.runs.find("r").answer) == ("finished", "a")
        assert store.runs.events("r") == (finished("r", seq=0),)
        assert store.sessions.listed()[0].state == "running"


@pytest.mark.slow
def test_an_end_that_met_a_failure_is_kept_once_when_it_is_over(url: str, file: Path) -> None:
    with _an_end_that_met_a_locked_store(url, file) as store:
        for _ in range(3):
            assert store.processes.mark_interrupted() == ()
            store.sessions.create("written after the end")
            assert store.runs.find("r").status == "finished"
        assert store.runs.events("r") == (finished("r", seq=0),)


@pytest.mark.slow
def test_an_end_that_met_a_failure_is_kept_when_the_store_closes(url: str, file: Path) -> None:
    with _an_end_that_met_a_locked_store(url, file):
        pass
    with SessionStore.open(url) as store:
        assert (store.runs.find("r").status, store.runs.find("r").answer) == ("finished", "a")


@pytest.mark.slow
def test_who_reads_cannot_write(url: str) -> None:
    SessionStore.open(url).close()
    database = Database(url)
    with pytest.raises(StorageError, match="cannot be written"), database.transaction(to="read") as reading:
        reading.execute(sqlalchemy.text("DELETE FROM meta"))
    database.close()


@pytest.mark.slow
def test_a_damaged_entry_is_named_and_the_others_can_be_read(url: str, file: Path) -> None:
    with SessionStore.open(url) as store:
        session = store.sessions.create("q").id
        begin(store, session, "r")
        keep(store, delta("r", seq=0), delta("r", seq=1))
        with closing(sqlite3.connect(file)) as other, other:
            other.execute('UPDATE events SET event = \'{"type": "of_the_future"}\' WHERE seq = 0')
        with pytest.raises(StorageError, match=r"an entry that this version cannot read .*of_the_future"):
            store.runs.events("r")
        assert store.runs.events("r", after=0) == (delta("r", seq=1),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "column", "match"),
    [
        ("sessions", "created_at", "Session .*: created_at"),
        ("plans", "planner_kind", "Plan .*: planner_kind"),
        ("revisions", "origin", "Revision .*: origin"),
        ("runs", "status", "RunRecord 'r': status"),
    ],
)
def test_a_row_that_does_not_fit_is_named(url: str, file: Path, table: str, column: str, match: str) -> None:
    with SessionStore.open(url) as store:
        session = store.sessions.create("q").id
        store.plans.add(session, planner="c", planner_kind="model", report=VALID, usage=Usage())
        begin(store, session, "r")
        with closing(sqlite3.connect(file)) as other, other:
            other.execute(f"UPDATE {table} SET {column} = 'of the future'")
        read = {
            "sessions": store.sessions.find,
            "plans": store.plans.latest,
            "revisions": store.revisions.head,
            "runs": store.runs.latest,
        }
        with pytest.raises(
            StorageError, match=rf"a row that this version cannot read \({match}\)\. The rest"
        ):
            read[table](session)


@pytest.mark.slow
def test_a_fault_of_the_program_fails_what_it_was_in_and_nothing_else(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    session = store.sessions.create("q").id
    begin(store, session, "r")
    with monkeypatch.context() as patched, ThreadPoolExecutor(4) as threads:
        patched.setattr("storage.tables.sessions.change", broken)
        others = [threads.submit(store.sessions.create, "kept") for _ in range(3)]
        with pytest.raises(ZeroDivisionError):
            store.sessions.rename(session, "title")
        assert {other.result(60).query for other in others} == {"kept"}
    with monkeypatch.context() as patched:
        patched.setattr("storage.tables.events.keep", broken)
        with pytest.raises(ZeroDivisionError):
            keep(store, delta("r", seq=0))
    keep(store, delta("r", seq=0))
    assert store.sessions.count() == 4


@pytest.mark.slow
def test_what_happens_while_the_store_is_written_again_for_long_is_kept_afterwards(
    store: SessionStore,
) -> None:
    begin(store, store.sessions.create("q").id, "r")
    writer = store._transactions.database.writer
    writer.pool._timeout = 0.05  # type: ignore[attr-defined]
    with closing(writer.raw_connection()), pytest.raises(NotKeptYet):
        keep(store, delta("r", seq=0))
    keep(store, delta("r", seq=1))
    assert [event.seq for event in store.runs.events("r")] == [0, 1]


@pytest.mark.slow
def test_a_closed_store_states_it(url: str) -> None:
    store = SessionStore.open(url)
    session = store.sessions.create("q").id
    store.close()
    store.close()
    for use in (
        lambda: store.sessions.find(session),
        lambda: store.sessions.create("q"),
        lambda: store.runs.append(delta("r", seq=0)),
        store.processes.mark_interrupted,
    ):
        with pytest.raises(StorageError, match=r"is closed\. What was saved is kept; open it again"):
            use()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "postgresql://me:secret@host/name",
            r"me:\*\*\*@host/name needs the Python package 'psycopg\[binary\]'",
        ),
        ("postgresql+psycopg://me:secret@host/name", r"pip install 'psycopg\[binary\]'"),
        ("postgresql+psycopg2://me:secret@host/name", "names no database"),
        (
            "postgres://host/name?user=me&password=secret",
            r"The store postgresql://host/name needs the Python package 'psycopg\[binary\]'",
        ),
        ("postgresql://me:secret@host:port/name", "names no database"),
        ("mysql://me:secret@host/name", "names no database"),
        ("unheard-of://me:secret@host/name", "names no database"),
        ("secret", "names no database"),
        ("", "names no database"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///file:x.db?uri=true", "names no file"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, url: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StorageError, match=message) as caught:
        SessionStore.open(url)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_what_is_queued_while_the_writer_waits_for_a_lock_waits_no_longer_than_it(
    url: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("storage.store.writer.monotonic", lambda: now[0])
    monkeypatch.setattr(database, "_WRITER_PRAGMAS", ("busy_timeout=50", *database._WRITER_PRAGMAS[1:]))
    with SessionStore.open(url) as store, closing(sqlite3.connect(file, isolation_level=None)) as other:
        waiting, statements = threading.Event(), list[str]()

        def note(statement: str) -> None:
            if statement.startswith(("BEGIN", "PRAGMA busy_timeout")):
                statements.append(statement)
                waiting.set()

        with store._transactions.database.writer.connect() as only:
            driver = only.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.set_trace_callback(note)
        other.execute("BEGIN IMMEDIATE")
        first = store._transactions.writer.submit(lambda _: None)
        assert waiting.wait(timeout=60)
        now[0] = 1.0
        second = store._transactions.writer.submit(lambda _: None)
        # So long, as the clock has it, did the first one wait.
        now[0] = 10.5
        for refused in (first, second):
            assert "is locked by another program" in str(refused.exception(timeout=60))
        assert statements == ["BEGIN IMMEDIATE", "PRAGMA busy_timeout = 500", "BEGIN IMMEDIATE"]
        other.execute("COMMIT")
        assert store.sessions.create("q").query == "q"
        assert statements[3:5] == ["PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes among its files.")
@pytest.mark.timeout(30)
def test_a_pipe_in_the_place_of_a_store_is_refused_without_waiting_for_a_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "conductor.db")
    with pytest.raises(StorageError, match=r"conductor\.db"):
        SessionStore.open(f"sqlite:///{tmp_path / 'conductor.db'}")
