"""Migrations: from nothing to the tables that the queries expect, and never half of the way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy

from conductor.errors import StorageError
from storage import SessionStore
from storage.database import Database
from storage.migrations import MIGRATIONS, Migration, bring_up_to_date
from storage.schema import METADATA

NEXT: Migration = ("CREATE TABLE added (id TEXT)", "ALTER TABLE sessions ADD COLUMN colour TEXT")


def _version(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()[0])


def _tables(engine: sqlalchemy.Engine) -> dict[str, dict[str, tuple[bool, bool]]]:
    """Of each table's columns: whether it may be empty, whether it is in the primary key.

    The full-text index keeps itself in tables of its own, which no query names.
    """
    inspector = sqlalchemy.inspect(engine)
    return {
        table: {
            column["name"]: (column["name"] in keys or column["nullable"], column["name"] in keys)
            for column in inspector.get_columns(table)
        }
        for table in inspector.get_table_names()
        if not table.startswith("words_")
        if (keys := inspector.get_pk_constraint(table)["constrained_columns"])
    }


def test_the_migrations_make_the_tables_that_the_queries_expect(url: str, file: Path) -> None:
    SessionStore.open(url).close()
    migrated, expected = sqlalchemy.create_engine(url), sqlalchemy.create_engine("sqlite://")
    METADATA.create_all(expected)
    assert _tables(migrated) == _tables(expected)
    migrated.dispose()
    expected.dispose()
    assert _version(file) == len(MIGRATIONS)


def test_a_newer_store_is_refused_unchanged(url: str, file: Path) -> None:
    SessionStore.open(url).close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE meta SET value = '99'")
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"conductor\.db is of version 99, .* Update Conductor Studio"):
        SessionStore.open(url)
    assert file.read_bytes() == before


def test_an_older_store_is_copied_aside_and_brought_up_to_date(url: str, file: Path) -> None:
    with SessionStore.open(url) as store:
        kept = store.create_session("kept")
    database = Database(url)
    bring_up_to_date(database, now=0.0, migrations=(*MIGRATIONS, NEXT))
    bring_up_to_date(database, now=1.0, migrations=(*MIGRATIONS, NEXT))
    database.close()
    assert _version(file) == len(MIGRATIONS) + 1
    (copy,) = (path for path in file.parent.iterdir() if "version" in path.name)
    assert copy.name == f"conductor.db.version-{len(MIGRATIONS)}.19700101T000000"
    with SessionStore.open(f"sqlite:///{copy}") as store:
        assert store.session(kept.id) == kept


def test_a_migration_that_fails_changes_nothing(url: str, file: Path) -> None:
    SessionStore.open(url).close()
    database = Database(url)
    broken = (*NEXT, "CREATE TABLE sessions (id TEXT)")
    with pytest.raises(StorageError, match="table sessions already exists"):
        bring_up_to_date(database, now=0.0, migrations=(*MIGRATIONS, broken))
    database.close()
    assert _version(file) == len(MIGRATIONS)
    with closing(sqlite3.connect(file)) as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'added'").fetchall()


def test_what_the_first_version_kept_is_read_by_this_one(url: str, file: Path) -> None:
    database = Database(url)
    database.create_folder()
    bring_up_to_date(database, now=0.0, migrations=MIGRATIONS[:1])
    database.close()
    workflow = '{"steps":[{"instruction":"do","worker":"alpha","access":[]}]}'
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "INSERT INTO sessions VALUES ('s', 'kept', 'why?', 1.0, 2.0, NULL, 'r', 'finished', NULL)"
        )
        connection.execute(
            "INSERT INTO plans VALUES ('p', 's', 1, 1.0, 'rules', 'offline', NULL, 'gone', '{}', NULL)"
        )
        connection.execute(
            "INSERT INTO revisions VALUES ('r', 's', 1, NULL, 'human', '', 'p', 1.0, ?, 'single', 1)",
            (workflow,),
        )
        connection.execute(
            "INSERT INTO runs VALUES ('n', 's', 1, 'r', NULL, 'finished', 1.0, 2.0, 'so', 'me', NULL)"
        )
    with SessionStore.open(url) as store:
        assert store.session("s").settings is None
        assert [(plan.round, plan.attempt, plan.looks_back) for plan in store.plans("s")] == [(1, 1, None)]
        head = store.head("s")
        assert head is not None
        assert (head.looks_back, head.workflow.steps[0].sees_previous) == (None, False)
        assert [(run.round, run.answer) for run in store.runs("s")] == [(1, "so")]


def test_what_refers_to_a_row_is_found_by_an_index(url: str, file: Path) -> None:
    SessionStore.open(url).close()
    with closing(sqlite3.connect(file)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        refer = set()
        for table in tables:
            indexes = [row[1] for row in connection.execute(f'PRAGMA index_list("{table}")')]
            first = {connection.execute(f'PRAGMA index_info("{index}")').fetchone()[2] for index in indexes}
            referring = {row[3] for row in connection.execute(f'PRAGMA foreign_key_list("{table}")')}
            assert referring <= first, table
            refer |= referring
        assert {"session", "run"} <= refer
