"""Sessions and their tags as rows: made, found by id, named, deleted.

Functions of a connection inside a transaction. Tags are short texts of one line, by which people group
sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from conductor.errors import StorageError
from conductor.text.json_text import portable
from conductor.values.conversation import Conversation
from conductor.values.presets import Settings
from storage.database.schema import SESSIONS, TAGS
from storage.fragments import Fragments
from storage.records import Session, SessionOrigin
from storage.tables import session_attachments
from storage.tables.rows import Rows, begins, new_id

MAX_TITLE = 80
"""The most characters of a title; a longer one is cut."""

MAX_TAG = 40
"""The same of a tag."""

_SESSIONS = Rows(Session, SESSIONS, "session", choose="one from the list of sessions")


def find(connection: Connection, id: str) -> Session:
    """The session of that id, with the images of its conversation. Raises `UnknownId` when there is none."""
    session = _SESSIONS.find(connection, id)
    if session.conversation is None:
        return session
    whole = session_attachments.filled(connection, id, session.conversation)
    return session.model_copy(update={"conversation": whole})


def named(connection: Connection, prefix: str) -> tuple[str, ...]:
    """The ids that begin with `prefix`, of sessions that are stored."""
    ids = select(SESSIONS.c.id).where(begins(SESSIONS.c.id, prefix), SESSIONS.c.expires_at.is_(None))
    return tuple(connection.scalars(ids.order_by(SESSIONS.c.id)))


def create(
    connection: Connection,
    now: float,
    query: str,
    *,
    id: str | None = None,
    title: str | None = None,
    pool_label: str | None = None,
    origin: SessionOrigin | None = None,
    forked_from: str | None = None,
    conversation: Conversation | None = None,
    settings: Settings | None = None,
) -> Session:
    """A new session, of a new id unless one is given; without a title it is named after its query."""
    session = id or new_id()
    insert(
        connection,
        now,
        id=session,
        title=title_of(title, query=query),
        query=query,
        pool_label=pool_label,
        origin=origin,
        forked_from=forked_from,
        conversation=conversation,
        settings=settings,
    )
    return find(connection, session)


def insert(connection: Connection, now: float, **columns: Any) -> None:
    """Insert a session with these columns: its id and query at least. Nothing is read."""
    named = {"title": title_of(None, query=columns["query"]), "state": "new"}
    images = Fragments()
    columns["conversation"] = session_attachments.without(columns.get("conversation"), images)
    connection.execute(SESSIONS.insert(), {"created_at": now, "updated_at": now, **named, **columns})
    images.keep(connection, session=columns["id"])


def change(connection: Connection, session: str, **columns: Any) -> None:
    """Set columns of a session; in PostgreSQL this also locks its row until the transaction ends.

    Raises `UnknownId` when there is no such session.
    """
    images = Fragments()
    if "conversation" in columns:
        columns["conversation"] = session_attachments.without(columns["conversation"], images)
    result = connection.execute(SESSIONS.update().where(SESSIONS.c.id == session).values(**columns))
    if result.rowcount == 0:
        raise _SESSIONS.unknown(session)
    images.keep(connection, session=session)


def titled(connection: Connection, title: str) -> str | None:
    """The id of the oldest session of that title that is not deleted, or None."""
    conditions = SESSIONS.c.title == title, SESSIONS.c.deleted_at.is_(None)
    id: str | None = connection.scalar(
        select(SESSIONS.c.id).where(*conditions).order_by(SESSIONS.c.created_at)
    )
    return id


def rename(connection: Connection, session: str, title: str) -> Session:
    """Give the session another title; an empty one names it after its query."""
    change(connection, session, title=title_of(title, query=find(connection, session).query))
    return find(connection, session)


def set_settings(connection: Connection, session: str, settings: Settings) -> Session:
    """Store the session's settings for its Conductor from now on."""
    change(connection, session, settings=settings)
    return find(connection, session)


def delete(connection: Connection, now: float, *sessions: str) -> None:
    """Hide sessions from the list: all of them or, where one is unknown, none. All of their data stays."""
    for session in sessions:
        change(connection, session, deleted_at=now)


def restore(connection: Connection, *sessions: str) -> None:
    """Put deleted sessions back where they were: all of them or, where one is unknown or being removed for
    good, none.
    """
    for session in sessions:
        # The column alone: one that cannot be read is restored all the same.
        if connection.scalar(select(SESSIONS.c.expires_at).where(SESSIONS.c.id == session)) is not None:
            raise _SESSIONS.unknown(session)
        change(connection, session, deleted_at=None)


def title_of(title: str | None, *, query: str) -> str:
    """The given title in one line; where it is empty, the beginning of the query."""
    line = " ".join((title or "").split()) or " ".join(query.split()) or "Untitled session"
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"


# -- tags ------------------------------------------------------------------------------------------


def tag_of(text: str) -> str:
    """A text as a tag: one line, as long as a tag may be. Raises `StorageError` where nothing is left."""
    tag = " ".join(portable(text).split())
    if not tag:
        raise StorageError("A tag needs at least one character; nothing was tagged.")
    return tag if len(tag) <= MAX_TAG else f"{tag[: MAX_TAG - 1]}…"


def tags_of(connection: Connection, session: str) -> tuple[str, ...]:
    """The session's tags, in alphabetical order."""
    find(connection, session)
    return tuple(connection.scalars(select(TAGS.c.tag).where(TAGS.c.session == session).order_by(TAGS.c.tag)))


def add_tag(connection: Connection, session: str, text: str) -> tuple[str, ...]:
    """Tag the session; nothing happens where it has the tag. A tag is one line; a longer one is cut.

    The session's tags now. Raises `StorageError` for an empty tag.
    """
    tag, tags = tag_of(text), tags_of(connection, session)
    if tag in tags:
        return tags
    connection.execute(TAGS.insert(), {"session": session, "tag": tag})
    return tags_of(connection, session)


def add_tags(connection: Connection, sessions: Sequence[str], texts: Sequence[str]) -> None:
    """Give several sessions tags beside their own: all of them or, where one is unknown, none."""
    for session in sessions:
        for text in texts:
            add_tag(connection, session, text)


def remove_tag(connection: Connection, session: str, tag: str) -> tuple[str, ...]:
    """Take a tag away; nothing happens where the session does not have it. The session's tags now."""
    connection.execute(TAGS.delete().where(TAGS.c.session == session, TAGS.c.tag == tag))
    return tags_of(connection, session)
