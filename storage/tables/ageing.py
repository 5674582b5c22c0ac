"""Sessions that nothing has changed for long: how many there are, and their deletion, which can be undone.

Functions of a connection inside a transaction. `before` is in Unix seconds, `exempt` a tag. Sessions of
evaluations are no sessions of that kind: a table needs all of its cells, and goes as a whole.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, and_, func, select

from storage.database.schema import OF_PEOPLE, SESSIONS, TAGS
from storage.tables import plans
from storage.tables.garbage_collection import at_rest


def count(connection: Connection, *, before: float, exempt: str, most: int | None = None) -> int:
    """How many sessions were last updated earlier than `before`, do not have the tag, and are at rest: no
    session that is planned, runs or waits for a person. Beyond `most` it counts no further.
    """
    aged = select(SESSIONS.c.id).where(_aged(connection, before, exempt)).limit(most).subquery()
    return connection.execute(select(func.count()).select_from(aged)).scalar_one()


def delete(connection: Connection, now: float, *, before: float, exempt: str, limit: int) -> int:
    """Delete the oldest of those that `count` counts, `limit` at most; returns how many these were."""
    aged = _aged(connection, before, exempt)
    oldest = select(SESSIONS.c.id).where(aged).order_by(SESSIONS.c.updated_at, SESSIONS.c.id).limit(limit)
    ids = connection.scalars(oldest).all()
    # With its conditions, because another process may have changed one of them meanwhile.
    deletion = SESSIONS.update().where(SESSIONS.c.id.in_(ids), aged)
    return connection.execute(deletion.values(deleted_at=now)).rowcount


def _aged(connection: Connection, before: float, exempt: str) -> ColumnElement[bool]:
    planned = {entry.session for entry in plans.underway(connection).values()}
    return and_(
        SESSIONS.c.deleted_at.is_(None),
        SESSIONS.c.updated_at < before,
        SESSIONS.c.state != "paused",
        OF_PEOPLE,
        SESSIONS.c.id.not_in(planned),
        SESSIONS.c.id.not_in(select(TAGS.c.session).where(TAGS.c.tag == exempt)),
        at_rest(),
    )
