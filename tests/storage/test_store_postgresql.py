"""What is PostgreSQL's own: a server that comes back, users it refuses, writers that do not go on."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import psycopg
import pytest
import sqlalchemy

from conductor.errors import NotKeptYet, StorageError
from storage import SessionStore
from storage.database import database as databases
from storage.database.database import Database
from storage.database.error_messages import explanation
from storage.database.owner_lock import owner_lock
from storage.tables import events
from tests.support.stores.postgres_server import PostgresServer
from tests.support.stores.store_scenario import begin, chain, delta, keep, started


@pytest.mark.slow
def test_a_server_that_comes_back_finds_everything_and_loses_nothing(
    postgres: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SessionStore.open(database) as store:
        session = store.sessions.create("q").id
        begin(store, session, "r")
        keep(store, started("r", chain("do")))
        postgres.stop()
        with pytest.raises(StorageError, match=r"cannot be reached\. What was saved before is kept; check"):
            store.sessions.count()
        with pytest.raises(StorageError, match="cannot be reached"):
            store.sessions.find(session)
        waiting = store.runs.append(delta("r", seq=1))
        postgres.start()
        waiting.result(timeout=60)
        assert [event.seq for event in store.runs.events("r")] == [0, 1]
        assert store.sessions.find(session).query == "q"
        monkeypatch.setattr(databases, "PATIENCE_SECONDS", 0.1)
        postgres.stop()
        with pytest.raises(StorageError, match="cannot be reached"):
            store.sessions.create("lost")
        postgres.start()
        keep(store, delta("r", seq=2))
        assert (store.sessions.count(), len(store.runs.events("r"))) == (1, 3)
        # All locks went with the server: the next that opens waits until the store has taken its own again.
        with SessionStore.open(database) as other:
            assert other.runs.find("r").status == "running"


def test_a_connection_that_was_cut_is_made_again(postgres: PostgresServer, database: str) -> None:
    with SessionStore.open(database) as store:
        session = store.sessions.create("q").id
        assert store.sessions.find(session).title == "q"
        postgres.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        assert store.sessions.find(session).title == "q"
        store.sessions.rename(session, "other")
        assert store.sessions.find(session).title == "other"


def test_a_run_whose_connection_to_the_server_was_cut_is_not_interrupted(
    postgres: PostgresServer, database: str
) -> None:
    with SessionStore.open(database) as store, SessionStore.open(database) as other:
        begin(store, store.sessions.create("q").id, "r")
        for _ in range(3):
            postgres.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            )
            assert other.processes.mark_interrupted() == ()
        assert store.runs.find("r").status == "running"


def test_a_lock_is_had_while_the_server_has_not_noticed_that_the_last_connection_ended(database: str) -> None:
    with SessionStore.open(database) as store, SessionStore.open(database) as other:
        begin(store, store.sessions.create("q").id, "r")
        lock: Any = store.processes.lock
        unnoticed, lock._connection = lock._connection, None
        lock.hold()
        unnoticed.close()
        assert other.processes.mark_interrupted() == ()


def test_who_stops_in_the_middle_of_a_write_does_not_keep_the_others_from_writing(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "_SESSION", ("idle_in_transaction_session_timeout = 300",))
    with SessionStore.open(database) as store:
        stopped = Database(database)
        writing = stopped.writer.connect()
        transaction = writing.begin()
        writing.execute(sqlalchemy.text("UPDATE meta SET value = '0'"))
        assert store.sessions.create("q").query == "q"
        with pytest.raises(sqlalchemy.exc.DBAPIError) as late:
            transaction.commit()
        assert "did not wait for this program" in str(stopped.explain(late.value))
        stopped.close()


def test_an_event_whose_connection_is_cut_in_the_middle_of_its_write_is_kept_with_the_next(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "_SESSION", ("idle_in_transaction_session_timeout = 500",))
    write = events.keep

    def suspended(*arguments: Any, **named: Any) -> None:
        time.sleep(1.0)
        write(*arguments, **named)

    with SessionStore.open(database) as store:
        begin(store, store.sessions.create("q").id, "r")
        with monkeypatch.context() as patched:
            patched.setattr(events, "keep", suspended)
            with pytest.raises(NotKeptYet, match="did not wait"):
                keep(store, started("r", chain("do")))
        keep(store, delta("r", seq=1))
        assert [event.seq for event in store.runs.events("r")] == [0, 1]


def test_who_waits_too_long_for_a_writer_is_informed(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "_SESSION", ("lock_timeout = 50",))
    with SessionStore.open(database) as store:
        other = Database(database)
        with other.transaction(to="write"), pytest.raises(StorageError, match="is held by another program"):
            store.sessions.create("q")
        other.close()
        store.sessions.create("q")
        assert store.sessions.count() == 1


def test_several_that_open_a_new_store_at_once_make_it_once(database: str) -> None:
    opened: list[int] = []

    def open_() -> None:
        with SessionStore.open(database) as store:
            opened.append(store.sessions.count())

    threads = [threading.Thread(target=open_) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert opened == [0, 0, 0, 0]


def test_a_lock_is_free_before_the_server_sees_that_its_connection_ended(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    SessionStore.open(database).close()
    opened = Database(database)
    lock = owner_lock(opened)
    lock.hold()
    with opened.transaction(to="read") as connection:
        assert lock.free(connection, [lock.owner]) == frozenset()
    open_still: list[sqlalchemy.Connection] = []

    def stay_open(connection: sqlalchemy.Connection) -> None:
        open_still.append(connection)

    with monkeypatch.context() as patched:
        patched.setattr(sqlalchemy.Connection, "close", stay_open)
        lock.release()
    with opened.transaction(to="read") as connection:
        assert lock.free(connection, [lock.owner]) == {lock.owner}
    open_still[0].close()
    opened.close()


@pytest.mark.parametrize(
    ("version", "message"), [("9", "Export its sessions with"), ("99", "Update Conductor Studio")]
)
def test_a_store_of_a_version_that_is_not_read_is_refused(database: str, version: str, message: str) -> None:
    SessionStore.open(database).close()
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("UPDATE alembic_version SET version_num = %s", (version,))
        other.execute("UPDATE meta SET value = %s WHERE key = 'readable_from'", (version,))
    with pytest.raises(StorageError, match=rf"is of version {version}, .*{message}"):
        SessionStore.open(database)


def test_who_reads_sees_one_state_and_cannot_write(database: str) -> None:
    with SessionStore.open(database) as store:
        reading = Database(database)
        with reading.transaction(to="read") as connection:
            count = sqlalchemy.text("SELECT count(*) FROM sessions")
            assert connection.scalar(count) == 0
            store.sessions.create("q")
            assert connection.scalar(count) == 0
        with (
            pytest.raises(StorageError, match="cannot be written"),
            reading.transaction(to="read") as connection,
        ):
            connection.execute(sqlalchemy.text("DELETE FROM meta"))
        reading.close()


def test_what_the_server_refuses_is_stated_in_words(postgres: PostgresServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"postgresql://me:hush@127.0.0.1:{free.getsockname()[1]}/name"
    for url, expected in (
        (nobody, "cannot be reached"),
        (postgres.url("no_such_database"), "does not exist. Make it"),
        (postgres.url(user="nobody_here"), "refused this user"),
        (postgres.url(user="guarded"), "refused this user"),
        (postgres.url(user="guarded", password="hush"), "refused this user"),
    ):
        with pytest.raises(StorageError, match=expected) as caught:
            SessionStore.open(url)
        assert "hush" not in str(caught.value)


def test_who_may_not_make_tables_is_informed(postgres: PostgresServer, database: str) -> None:
    name = database.rpartition("/")[2]
    with pytest.raises(StorageError, match="does not let this user do that"):
        SessionStore.open(postgres.url(name, user="guarded", password="right"))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (psycopg.errors.DiskFull("could not extend file"), "is full: its disk has no room left"),
        (psycopg.errors.TooManyConnections("sorry"), "takes no more connections"),
        (psycopg.errors.AdminShutdown("terminating"), "its server stopped or is starting"),
        (psycopg.errors.CannotConnectNow("starting up"), "its server stopped or is starting"),
        (psycopg.errors.DeadlockDetected("deadlock"), "was written by another program at the same moment"),
        (psycopg.errors.DataCorrupted("invalid page"), "is damaged"),
        (psycopg.errors.UndefinedTable("no such table"), "could not be used: no such table"),
        (psycopg.OperationalError("server closed the connection unexpectedly"), "cannot be reached"),
        (psycopg.OperationalError("failed to resolve host 'nowhere'"), "cannot be reached"),
        (psycopg.errors.ConnectionTimeout("connection timeout expired"), "cannot be reached"),
    ],
)
def test_a_servers_failure_is_stated_in_words(error: psycopg.Error, expected: str) -> None:
    assert expected in explanation(sqlalchemy.exc.DBAPIError("SELECT 1", {}, error))
