"""Versions of a store: from nothing to the tables that the queries expect, and never half of the way."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from alembic.script import ScriptDirectory

from conductor.errors import StorageError
from storage import SessionStore
from storage.database.database import Database
from storage.database.schema import METADATA
from storage.migrations import OLDEST, SCRIPTS, bring_up_to_date, newest
from tests.support.stores.next_revision import scripts_with_next, version_of
from tests.support.stores.store_scenario import begin, chain, finished, keep, started, step_finished

GOLDEN = Path(__file__).parent / "golden" / f"version-{OLDEST}.db"
NEXT = ("CREATE TABLE added (id TEXT)", "ALTER TABLE sessions ADD COLUMN colour TEXT")


def _tables(engine: sqlalchemy.Engine) -> dict[str, dict[str, tuple[bool, bool]]]:
    """Of each table's columns: whether it may be empty, whether it is in the primary key.

    The tables of the full-text index and of Alembic are left out: no query names them.
    """
    inspector = sqlalchemy.inspect(engine)
    return {
        table: {
            column["name"]: (column["name"] in keys or column["nullable"], column["name"] in keys)
            for column in inspector.get_columns(table)
        }
        for table in inspector.get_table_names()
        if not table.startswith("words_") and table != "alembic_version"
        if (keys := inspector.get_pk_constraint(table)["constrained_columns"])
    }


def _schema(file: Path) -> dict[str, object]:
    """Of each table its columns, references and indexes; of views, indexes and triggers their texts."""
    with closing(sqlite3.connect(file)) as connection:

        def rows(query: str) -> list[tuple[object, ...]]:
            return sorted(connection.execute(query).fetchall(), key=repr)

        names = [str(name) for (name,) in rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        schema = {
            str(name): " ".join(str(sql).replace('"', "").split())
            for name, sql in rows("SELECT name, sql FROM sqlite_master WHERE type <> 'table' AND sql <> ''")
        }
        # DOUBLE and DOUBLE PRECISION are one type; a key is never empty.
        columns = (
            "SELECT name, replace(type, ' PRECISION', ''), \"notnull\" OR pk > 0, dflt_value, pk "
            "FROM pragma_table_info('{}')"
        )
        references = 'SELECT "table", "from", "to", on_delete FROM pragma_foreign_key_list(\'{}\')'
        unique = "SELECT \"unique\", origin, partial FROM pragma_index_list('{}')"
        return schema | {
            name: [rows(query.format(name)) for query in (columns, references, unique)] for name in names
        }


@pytest.mark.slow
def test_a_new_store_has_the_tables_that_the_queries_expect(url: str, file: Path) -> None:
    SessionStore.open(url).close()
    migrated, expected = sqlalchemy.create_engine(url), sqlalchemy.create_engine("sqlite://")
    METADATA.create_all(expected)
    assert _tables(migrated) == _tables(expected)
    migrated.dispose()
    expected.dispose()
    assert version_of(file) == newest()


@pytest.mark.slow
def test_a_new_store_is_made_like_the_oldest_one_that_is_brought_up_to_date(url: str, file: Path) -> None:
    SessionStore.open(url).close()
    schema = _schema(file)
    shutil.copyfile(GOLDEN, file)
    SessionStore.open(url).close()
    assert _schema(file) == schema


def test_the_revisions_stand_in_one_line_and_their_files_are_named_after_them() -> None:
    scripts = ScriptDirectory(str(SCRIPTS))
    revisions = [script.revision for script in scripts.walk_revisions()]
    assert revisions == [str(version) for version in range(newest(), OLDEST - 1, -1)]
    assert all(
        Path(script.path).stem.startswith(f"v{script.revision}_") for script in scripts.walk_revisions()
    )


@pytest.mark.parametrize("version", [1, OLDEST - 1])
@pytest.mark.parametrize("numbered_by", ["alembic", "meta"])
def test_an_older_store_is_refused_unchanged(url: str, file: Path, version: int, numbered_by: str) -> None:
    file.parent.mkdir()
    shutil.copyfile(GOLDEN, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        if numbered_by == "alembic":
            connection.execute("UPDATE alembic_version SET version_num = ?", (str(version),))
        else:
            connection.execute("DROP TABLE alembic_version")
            connection.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(version),))
    before = file.read_bytes()
    with pytest.raises(
        StorageError,
        match=rf"conductor\.db is of version {version}, .* not changed\. Export its sessions with",
    ):
        SessionStore.open(url)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.slow
def test_a_newer_store_is_refused_unchanged(url: str, file: Path, tmp_path: Path) -> None:
    _make_newer(url, tmp_path, readable_from=None)
    before = file.read_bytes()
    with pytest.raises(StorageError, match=rf"of version {newest() + 1}, .* Update Conductor Studio"):
        SessionStore.open(url)
    assert file.read_bytes() == before


def _make_newer(url: str, folder: Path, *, readable_from: int | None) -> None:
    """Bring the store, which may be a new one, to the version after the newest."""
    database = Database(url)
    database.create_folder()
    scripts = scripts_with_next(folder, *NEXT, readable_from=readable_from)
    bring_up_to_date(database, now=0.0, scripts=scripts)
    database.close()


@pytest.mark.slow
def test_the_version_before_goes_on_with_a_newer_store_that_has_only_more(
    store: SessionStore, url: str, file: Path, tmp_path: Path
) -> None:
    session = store.sessions.create("before").id
    begin(store, session, "r")
    _make_newer(url, tmp_path, readable_from=newest())
    # One that is open goes on, and one can be opened.
    keep(store, started("r", chain("do")), step_finished("r", "text", seq=1), finished("r", seq=2))
    store.close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE sessions SET colour = 'red'")
        for table, column in (("revisions", "workflow"), ("events", "event"), ("outputs", "output")):
            connection.execute(f"UPDATE {table} SET {column} = json_set({column}, '$.added', 1)")
    with SessionStore.open(url) as reopened:
        assert [step.output for step in reopened.runs.state("r").steps] == list(
            reopened.runs.outputs(session)
        )
        head = reopened.revisions.head(session)
        assert head is not None
        assert head.workflow == chain("do")
        reopened.sessions.create("after")
    assert version_of(file) == newest() + 1


@pytest.mark.parametrize("version", range(OLDEST + 1, newest() + 1))
def test_a_version_that_the_one_before_can_use_only_adds_to_it(version: int) -> None:
    (script,) = (
        each for each in ScriptDirectory(str(SCRIPTS)).walk_revisions() if each.revision == str(version)
    )
    readable_from = int(getattr(script.module, "readable_from", version))
    earlier, later = (_columns(GOLDEN.with_name(f"version-{each}.db")) for each in (readable_from, version))
    assert earlier.keys() <= later.keys()
    for table, columns in earlier.items():
        assert columns.items() <= later[table].items()
        added = {name: later[table][name] for name in later[table].keys() - columns.keys()}
        assert not [name for name, (_, required, default) in added.items() if required and default is None]


def _columns(file: Path) -> dict[str, dict[str, tuple[str, bool, str | None]]]:
    """Of each table's columns: the type, whether it has to have a value, and its default."""
    with closing(sqlite3.connect(file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            table: {
                name: (kind, bool(required), default)
                for _, name, kind, required, default, _ in connection.execute(f"PRAGMA table_info('{table}')")
            }
            for (table,) in names
        }


def test_another_programs_database_is_refused_unchanged(url: str, file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('12')")
    before = file.read_bytes()
    with pytest.raises(StorageError, match="belongs to another program; it was not changed"):
        SessionStore.open(url)
    assert file.read_bytes() == before


@pytest.mark.slow
def test_an_older_store_is_copied_aside_and_brought_up_to_date(url: str, file: Path, tmp_path: Path) -> None:
    with SessionStore.open(url) as store:
        session = store.sessions.create("kept")
    scripts = scripts_with_next(tmp_path, *NEXT)
    database = Database(url)
    bring_up_to_date(database, now=0.0, scripts=scripts)
    bring_up_to_date(database, now=1.0, scripts=scripts)
    database.close()
    assert version_of(file) == newest() + 1
    (copy,) = (path for path in file.parent.iterdir() if "version" in path.name)
    assert copy.name == f"conductor.db.version-{newest()}.19700101T000000"
    with SessionStore.open(f"sqlite:///{copy}") as store:
        assert store.sessions.find(session.id) == session


@pytest.mark.slow
def test_a_new_store_is_of_the_newest_version_at_once(url: str, file: Path, tmp_path: Path) -> None:
    database = Database(url)
    database.create_folder()
    bring_up_to_date(database, now=0.0, scripts=scripts_with_next(tmp_path, *NEXT))
    database.close()
    assert version_of(file) == newest() + 1
    assert not [path for path in file.parent.iterdir() if "version" in path.name]


@pytest.mark.slow
def test_a_revision_that_fails_changes_nothing(url: str, file: Path, tmp_path: Path) -> None:
    SessionStore.open(url).close()
    database = Database(url)
    broken = scripts_with_next(tmp_path, *NEXT, "CREATE TABLE sessions (id TEXT)")
    with pytest.raises(StorageError, match="table sessions already exists"):
        bring_up_to_date(database, now=0.0, scripts=broken)
    database.close()
    assert version_of(file) == newest()
    with closing(sqlite3.connect(file)) as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'added'").fetchall()


@pytest.mark.thorough
@pytest.mark.slow
def test_alembic_is_imported_only_where_a_store_is_not_up_to_date(url: str) -> None:
    SessionStore.open(url).close()
    code = (
        "import sys, storage; storage.SessionStore.open(sys.argv[1]).close(); print('alembic' in sys.modules)"
    )
    opened = subprocess.run(
        [sys.executable, "-c", code, url],
        cwd=SCRIPTS.parents[1],
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert opened.stdout == "False\n"


@pytest.mark.slow
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
