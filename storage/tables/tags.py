"""Tags of sessions as rows: short texts of one line, by which people keep sessions together."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, exists, select

from conductor.errors import StorageError
from storage.database.encoding import plain
from storage.database.schema import SESSIONS, TAGS
from storage.tables import sessions

MAX_TAG = 40
"""The most characters of a tag; a longer one is cut."""


def tag_of(text: str) -> str:
    """A text as a tag: one line, as long as a tag may be. Raises `StorageError` where nothing is left."""
    tag = " ".join(plain(text).split())
    if not tag:
        raise StorageError("A tag needs at least one character; nothing was tagged.")
    return tag if len(tag) <= MAX_TAG else f"{tag[: MAX_TAG - 1]}…"


def tags_of(connection: Connection, session: str) -> tuple[str, ...]:
    """See `store.sessions.tags`."""
    sessions.find(connection, session)
    return tuple(connection.scalars(select(TAGS.c.tag).where(TAGS.c.session == session).order_by(TAGS.c.tag)))


def known(connection: Connection) -> tuple[str, ...]:
    """See `store.sessions.known_tags`."""
    names = select(TAGS.c.tag).distinct().subquery()
    kept = exists().where(SESSIONS.c.id == TAGS.c.session, SESSIONS.c.deleted_at.is_(None))
    used = exists().where(TAGS.c.tag == names.c.tag, kept)
    return tuple(connection.scalars(select(names.c.tag).where(used).order_by(names.c.tag)))


def add(connection: Connection, session: str, text: str) -> tuple[str, ...]:
    """See `store.sessions.add_tag`."""
    tag, known = tag_of(text), tags_of(connection, session)
    if tag in known:
        return known
    connection.execute(TAGS.insert(), {"session": session, "tag": tag})
    return tags_of(connection, session)


def add_all(connection: Connection, sessions: Sequence[str], texts: Sequence[str]) -> None:
    """See `store.sessions.add_tags`."""
    for session in sessions:
        for text in texts:
            add(connection, session, text)


def remove(connection: Connection, session: str, tag: str) -> tuple[str, ...]:
    """See `store.sessions.remove_tag`."""
    connection.execute(TAGS.delete().where(TAGS.c.session == session, TAGS.c.tag == tag))
    return tags_of(connection, session)
