"""How the tables came to be: numbered steps, append-only, each written once and never edited.

The version in a database is the number of steps it has had. All missing steps run in one
transaction, so a database is of one version or of another, never between.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy import Connection, inspect, select

from conductor.errors import StorageError
from storage.database import Database
from storage.schema import META

Migration = tuple[str, ...]
"""Statements in an SQL that SQLite and PostgreSQL share."""

MIGRATIONS: tuple[Migration, ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            query TEXT NOT NULL,
            created_at DOUBLE PRECISION NOT NULL,
            updated_at DOUBLE PRECISION NOT NULL,
            pool_label TEXT,
            head TEXT,
            state TEXT NOT NULL,
            deleted_at DOUBLE PRECISION
        )""",
        """CREATE TABLE plans (
            id TEXT PRIMARY KEY,
            session TEXT NOT NULL REFERENCES sessions (id),
            number INTEGER NOT NULL,
            created_at DOUBLE PRECISION NOT NULL,
            planner TEXT NOT NULL,
            planner_kind TEXT NOT NULL,
            report TEXT,
            failure TEXT,
            usage TEXT NOT NULL,
            seconds DOUBLE PRECISION,
            UNIQUE (session, number)
        )""",
        """CREATE TABLE revisions (
            id TEXT PRIMARY KEY,
            session TEXT NOT NULL REFERENCES sessions (id),
            number INTEGER NOT NULL,
            parent TEXT REFERENCES revisions (id),
            origin TEXT NOT NULL,
            note TEXT NOT NULL,
            plan TEXT REFERENCES plans (id),
            created_at DOUBLE PRECISION NOT NULL,
            workflow TEXT NOT NULL,
            topology TEXT NOT NULL,
            steps INTEGER NOT NULL,
            UNIQUE (session, number)
        )""",
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY,
            session TEXT NOT NULL REFERENCES sessions (id),
            number INTEGER NOT NULL,
            revision TEXT NOT NULL REFERENCES revisions (id),
            parent TEXT REFERENCES runs (id),
            status TEXT NOT NULL,
            started_at DOUBLE PRECISION NOT NULL,
            finished_at DOUBLE PRECISION,
            answer TEXT,
            owner TEXT NOT NULL,
            pool_label TEXT,
            UNIQUE (session, number)
        )""",
        """CREATE TABLE events (
            run TEXT NOT NULL REFERENCES runs (id),
            seq INTEGER NOT NULL,
            event TEXT NOT NULL,
            PRIMARY KEY (run, seq)
        )""",
        """CREATE TABLE outputs (
            session TEXT NOT NULL REFERENCES sessions (id),
            fingerprint TEXT NOT NULL,
            output TEXT NOT NULL,
            PRIMARY KEY (session, fingerprint)
        )""",
        "CREATE INDEX sessions_listed ON sessions (updated_at, id) WHERE deleted_at IS NULL",
        "CREATE INDEX revisions_by_parent ON revisions (parent)",
        "CREATE INDEX runs_running ON runs (id) WHERE status = 'running'",
    ),
    # Rounds, repeated attempts at a plan, and what a session asks of its Conductor.
    (
        "ALTER TABLE plans ADD COLUMN round INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE plans ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE plans ADD COLUMN looks_back TEXT REFERENCES runs (id)",
        "ALTER TABLE revisions ADD COLUMN looks_back TEXT REFERENCES runs (id)",
        "ALTER TABLE runs ADD COLUMN round INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE sessions ADD COLUMN settings TEXT",
    ),
    # What people did with plans and answers.
    (
        # What people made of a Conductor's plan, also of the plans that were changed before this was kept.
        """CREATE TABLE corrections (
            revision TEXT PRIMARY KEY REFERENCES revisions (id),
            session TEXT NOT NULL REFERENCES sessions (id),
            plan TEXT NOT NULL REFERENCES plans (id),
            planned TEXT NOT NULL REFERENCES revisions (id),
            created_at DOUBLE PRECISION NOT NULL
        )""",
        "CREATE INDEX corrections_by_planned ON corrections (planned)",
        """INSERT INTO corrections (revision, session, plan, planned, created_at)
            WITH RECURSIVE line (revision, session, plan, planned, created_at, origin) AS (
                SELECT id, session, plan, id, created_at, 'conductor' FROM revisions WHERE plan IS NOT NULL
                UNION ALL
                SELECT child.id, child.session, line.plan, line.planned, child.created_at, child.origin
                FROM revisions AS child JOIN line ON child.parent = line.revision WHERE child.plan IS NULL
            )
            SELECT revision, session, plan, planned, created_at FROM line WHERE origin = 'human'""",
        """CREATE TABLE ratings (
            run TEXT PRIMARY KEY REFERENCES runs (id),
            thumbs TEXT NOT NULL,
            rated_at DOUBLE PRECISION NOT NULL
        )""",
        "ALTER TABLE plans ADD COLUMN alternative TEXT",
        # Variants of a workflow, run to be compared: runs that ordinary lists leave out.
        """CREATE TABLE experiments (
            id TEXT PRIMARY KEY,
            session TEXT NOT NULL REFERENCES sessions (id),
            number INTEGER NOT NULL,
            created_at DOUBLE PRECISION NOT NULL,
            base TEXT NOT NULL REFERENCES runs (id),
            experiment TEXT NOT NULL,
            UNIQUE (session, number)
        )""",
        "ALTER TABLE runs ADD COLUMN experiment TEXT REFERENCES experiments (id)",
        "ALTER TABLE runs ADD COLUMN trial INTEGER",
        "CREATE INDEX runs_by_experiment ON runs (experiment) WHERE experiment IS NOT NULL",
    ),
)

_VERSION = "schema_version"


def bring_up_to_date(database: Database, *, now: float, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Run the missing migrations; a SQLite file is first copied aside, named after `now` (Unix seconds).

    Raises `StorageError`, and then has changed nothing, for a newer store or another program's.
    """
    with database.transaction(to="read") as connection:
        version = _version(connection, database, known=len(migrations))
    if version == len(migrations):
        return
    if database.path and version > 0:
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
        database.copy_to(database.path.with_name(f"{database.path.name}.version-{version}.{stamp}"))
    with database.transaction(to="write") as connection:
        # Asked again: another process may have been quicker.
        version = _version(connection, database, known=len(migrations))
        for migration in migrations[version:]:
            for statement in migration:
                connection.exec_driver_sql(statement)
        _set_version(connection, len(migrations))


def _version(connection: Connection, database: Database, *, known: int) -> int:
    """How many migrations this database has had: 0 for an empty one."""
    if not inspect(connection).get_table_names():
        return 0
    stored = _stored_version(connection)
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


def _stored_version(connection: Connection) -> str | None:
    """What the database says; None where it has no table like our `meta`."""
    inspector = inspect(connection)
    if META.name not in inspector.get_table_names():
        return None
    if {column["name"] for column in inspector.get_columns(META.name)} != set(META.c.keys()):
        return None
    return connection.scalar(select(META.c.value).where(META.c.key == _VERSION))


def _set_version(connection: Connection, version: int) -> None:
    connection.execute(META.delete().where(META.c.key == _VERSION))
    connection.execute(META.insert().values(key=_VERSION, value=str(version)))
