"""The version of a store, by Alembic's revisions in `versions/`; a shipped revision is never edited.

Knows Alembic; what a revision does is its own matter. A new store is made of the model's tables, as Alembic
advises, and runs no revision. All missing revisions run in one transaction, so a store is of one version or
of another, never between.

A revision may name, as `readable_from`, the oldest version whose programs go on with a store that it changed:
then it only adds, and what they alone use is removed by a later revision, which names a later version.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from sqlalchemy import Connection, MetaData, Text, column, inspect, select, table

from conductor.errors import StorageError
from storage.database.database import Database
from storage.database.schema import META, METADATA

SCRIPTS = Path(__file__).parent

OLDEST = 16
"""The oldest version that is read: the first revision's."""

_READABLE_FROM = "readable_from"
"""The row of `meta` with the oldest version whose programs can use a store; without it the store's own."""

# Alembic runs one upgrade at a time in a process: its `op` and `context` are global.
_one_upgrade = threading.Lock()


def newest(scripts: Path = SCRIPTS) -> int:
    """The version of a store that is up to date."""
    return max(int(file.stem[1:].partition("_")[0]) for file in scripts.glob("versions/v*.py"))


def bring_up_to_date(database: Database, *, now: float, scripts: Path = SCRIPTS) -> None:
    """Make the tables of a new store, or run the revisions that the store lacks.

    A SQLite file that a revision changes is first copied aside, named after its version and `now` (Unix
    seconds). `scripts` is the folder of the revisions.

    A newer store that programs of this version can use stays as it is.

    Raises `StorageError`, and then has changed nothing: for a store that is newer or older than this program
    can read, for another program's database, where there is no room for the copy, and where a revision fails.
    """
    head = newest(scripts)
    with database.transaction(to="read") as connection:
        if _version(connection, database, head=head) >= head:
            return
    # Imported only here, because that takes longer than opening a store that is up to date; and not later,
    # because a server does not wait long for who stops in a transaction.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    with database.transaction(to="write") as connection:
        # Read again, now that no other process writes: one may have been quicker.
        version = _version(connection, database, head=head)
        if version >= head:
            return
        if database.path and version > 0:
            _copy_aside(database, database.path, version=version, now=now)
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(scripts).replace("%", "%%"))
        with _one_upgrade:
            if version:
                command.upgrade(config, "head")
            else:
                _make_tables(connection)
                command.stamp(config, "head")
        newest_revision = ScriptDirectory.from_config(config).get_revision("head")
        readable_from = getattr(newest_revision.module, _READABLE_FROM, newest_revision.revision)
        connection.execute(META.delete().where(META.c.key == _READABLE_FROM))
        connection.execute(META.insert().values(key=_READABLE_FROM, value=readable_from))


def _make_tables(connection: Connection) -> None:
    """Make the model's tables in an empty database, with its indexes and its search."""
    # Of a copy: SQLAlchemy makes the references of a circle by ALTER, and then leaves them out of the tables.
    model = MetaData()
    tables = [each.to_metadata(model) for each in METADATA.tables.values()]
    if connection.dialect.supports_alter:
        model.create_all(connection, checkfirst=False)
    else:
        for each in tables:
            each.create(connection, checkfirst=False)
    dialect = connection.dialect.name
    for script in ("indexes", f"search_{dialect}", f"ledger_{dialect}", f"listing_{dialect}"):
        execute_script(connection, script)


def execute_script(connection: Connection, name: str) -> None:
    """Execute the statements of one of the scripts beside this module."""
    for statement in (SCRIPTS / f"{name}.sql").read_text(encoding="utf-8").split(";\n\n"):
        connection.exec_driver_sql(statement)


def _version(connection: Connection, database: Database, *, head: int) -> int:
    """The store's version: 0 for an empty database. Raises `StorageError` for one that programs of version
    `head` cannot use.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        return 0
    stored = _stored_version(connection, tables)
    if stored is None or not stored.isdecimal():
        raise StorageError(
            f"The database {database.place} belongs to another program; it was not changed. "
            "Name another file or database in CONDUCTOR_DATABASE_URL."
        )
    version = int(stored)
    oldest = connection.scalar(select(META.c.value).where(META.c.key == _READABLE_FROM))
    if version > head and int(oldest or version) > head:
        raise StorageError(
            f"The store {database.place} is of version {version}, this Conductor Studio reads up to version "
            f"{head}; it was not changed. Update Conductor Studio, or name another store in "
            "CONDUCTOR_DATABASE_URL."
        )
    if version < OLDEST:
        raise StorageError(
            f"The store {database.place} is of version {version}, this Conductor Studio reads versions from "
            f"{OLDEST} on; it was not changed. Export its sessions with the Conductor Studio that wrote it "
            "(`sessions export --all`), name another store in CONDUCTOR_DATABASE_URL and import them there."
        )
    return version


def _stored_version(connection: Connection, tables: list[str]) -> str | None:
    """The version that the database states; None if it has no table like our `meta`."""
    if META.name not in tables:
        return None
    if "alembic_version" in tables:
        return connection.scalar(select(column("version_num", Text)).select_from(table("alembic_version")))
    if {entry["name"] for entry in inspect(connection).get_columns(META.name)} != set(META.c.keys()):
        return None
    return connection.scalar(select(META.c.value).where(META.c.key == "schema_version"))


def _copy_aside(database: Database, file: Path, *, version: int, now: float) -> None:
    """Copy the store beside itself. The copy gets its name when it is whole, so a file of that name can be
    trusted, also after a crash.

    Only one process may do so at a time. Raises `StorageError`, and then leaves nothing behind.
    """
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    copy = file.with_name(f"{file.name}.version-{version}.{stamp}")
    part = file.with_name(f"{file.name}.version-{version}.part")
    try:
        # A killed process may have left both; SQLite would play the journal back into the new copy.
        _remove(part)
        database.copy_to(part)
        part.replace(copy)
    except OSError as error:
        raise StorageError(
            f"The store {database.place} cannot be copied to {copy} before it is updated: {error.strerror}. "
            "It was not changed; allow this user to write that folder, then try again."
        ) from error
    except StorageError:
        _remove(part)
        raise


def _remove(part: Path) -> None:
    for file in (part, part.with_name(f"{part.name}-journal")):
        file.unlink(missing_ok=True)
