"""Processes as rows: those that have runs beat, each by the database's own clock, as long as they live.

Functions of a connection inside a transaction. What silence means is `interruption`'s matter.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, Double, exists, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite

from storage.schema import PROCESSES, RUNNING, RUNS

FORGOTTEN_SECONDS = 86_400.0
"""After how long a silent process without a run is forgotten."""

# Unix seconds with a fraction; PostgreSQL's now() would be when the transaction began.
_CLOCKS: Mapping[str, ColumnElement[float]] = {
    "sqlite": literal_column("(julianday('now') - 2440587.5) * 86400.0", Double),
    "postgresql": literal_column("CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)", Double),
}


def clock(connection: Connection) -> float:
    """Unix seconds where the database is."""
    return connection.execute(select(_CLOCKS[connection.dialect.name])).scalar_one()


def beat(connection: Connection, process: str) -> None:
    """Say that the process lives."""
    now = _CLOCKS[connection.dialect.name]
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = insert(PROCESSES).values(id=process, started_at=now, beat_at=now)
    connection.execute(row.on_conflict_do_update(index_elements=[PROCESSES.c.id], set_={"beat_at": now}))


def leave(connection: Connection, process: str) -> None:
    """Forget the process, unless it has a run without an end; and others that were not heard of for long."""
    idle = ~exists().where(RUNS.c.owner == PROCESSES.c.id, RUNNING)
    old = PROCESSES.c.beat_at < clock(connection) - FORGOTTEN_SECONDS
    connection.execute(PROCESSES.delete().where(idle, (PROCESSES.c.id == process) | old))


def silences(connection: Connection) -> dict[str, float]:
    """How many seconds ago each known process last beat; less than 0 where the clock was set back since."""
    silence = _CLOCKS[connection.dialect.name] - PROCESSES.c.beat_at
    return {
        row.id: row.silence for row in connection.execute(select(PROCESSES.c.id, silence.label("silence")))
    }
