"""Counts how often a session's view-only links were revoked: a link is signed for one such number.

Functions of a connection inside a transaction. Knows no link and no signature.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from storage.database.schema import META
from storage.tables import sessions


def revoked(connection: Connection, session: str) -> int:
    """How often they were; 0 before the first time. Raises `UnknownId` for an unknown session."""
    sessions.find(connection, session)
    count = connection.scalar(select(META.c.value).where(META.c.key == _key(session)))
    return int(count or 0)


def revoke(connection: Connection, session: str) -> int:
    """Make all links so far invalid; how often that was done by now."""
    count = revoked(connection, session) + 1
    forget(connection, session)
    connection.execute(META.insert().values(key=_key(session), value=str(count)))
    return count


def forget(connection: Connection, session: str) -> None:
    """Remove what is stored of it, together with the session."""
    connection.execute(META.delete().where(META.c.key == _key(session)))


def _key(session: str) -> str:
    return f"view_links_revoked {session}"
