"""How the tables came to be: numbered steps, append-only, each written once and never edited.

The version in a database is the number of steps it has had. All missing steps run in one
transaction, so a database is of one version or of another, never between.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Inspector, inspect, select

from conductor.errors import StorageError
from storage.database import Database
from storage.migrations.aside import copy_aside
from storage.migrations.m1_sessions import SESSIONS
from storage.migrations.m2_rounds import ROUNDS
from storage.migrations.m3_judgement import JUDGEMENT
from storage.migrations.m4_finding import FINDING
from storage.migrations.m5_processes import PROCESSES
from storage.migrations.m6_tokens import TOKENS
from storage.migrations.m7_conversation import CONVERSATION
from storage.migrations.m8_references import REFERENCES
from storage.migrations.m9_requests import REQUESTS
from storage.migrations.migration import Migration, spelled
from storage.schema import META

MIGRATIONS: tuple[Migration, ...] = (
    SESSIONS,
    ROUNDS,
    JUDGEMENT,
    FINDING,
    PROCESSES,
    TOKENS,
    CONVERSATION,
    REFERENCES,
    REQUESTS,
)

_VERSION = "schema_version"


def bring_up_to_date(database: Database, *, now: float, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Run the missing migrations; a SQLite file is first copied aside, named after `now` (Unix seconds).

    Raises `StorageError`, and then has changed nothing: for a newer store or another program's, where there
    is no room for the copy, and where a migration fails.
    """
    with database.transaction(to="read") as connection:
        version = _version(connection, database, known=len(migrations))
    if version == len(migrations):
        return
    with database.transaction(to="write") as connection:
        # Asked again, now that nobody else writes: another process may have been quicker.
        version = _version(connection, database, known=len(migrations))
        if version == len(migrations):
            return
        if database.path and version > 0:
            copy_aside(database, database.path, version=version, now=now)
        for migration in migrations[version:]:
            for statement in spelled(migration, connection.dialect.name):
                connection.exec_driver_sql(statement)
        _set_version(connection, len(migrations))


def _version(connection: Connection, database: Database, *, known: int) -> int:
    """How many migrations this database has had: 0 for an empty one."""
    inspector = inspect(connection)
    if not inspector.get_table_names():
        return 0
    stored = _stored_version(connection, inspector)
    if stored is None or not stored.isdecimal():
        raise StorageError(
            f"The database {database.place} belongs to another program; it was not changed. "
            "Name another file or database in CONDUCTOR_DATABASE_URL."
        )
    if int(stored) > known:
        raise StorageError(
            f"The store {database.place} is of version {stored}, this Conductor Studio reads up to version "
            f"{known}; it was not changed. Update Conductor Studio, or name another store in "
            "CONDUCTOR_DATABASE_URL."
        )
    return int(stored)


def _stored_version(connection: Connection, inspector: Inspector) -> str | None:
    """What the database says; None where it has no table like our `meta`."""
    if META.name not in inspector.get_table_names():
        return None
    if {column["name"] for column in inspector.get_columns(META.name)} != set(META.c.keys()):
        return None
    return connection.scalar(select(META.c.value).where(META.c.key == _VERSION))


def _set_version(connection: Connection, version: int) -> None:
    connection.execute(META.delete().where(META.c.key == _VERSION))
    connection.execute(META.insert().values(key=_VERSION, value=str(version)))
