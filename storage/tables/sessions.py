"""Sessions as rows: made, found by id, named, deleted. Functions of a connection inside a transaction."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError
from sqlalchemy import Connection, RowMapping, select

from conductor.errors import StorageError, UnknownId
from conductor.values.conversation import Conversation
from conductor.values.messages import Value
from conductor.values.presets import Settings
from storage.database.schema import SESSIONS
from storage.records import Session, SessionOrigin

R = TypeVar("R", bound=Value)

MAX_TITLE = 80
"""The most characters of a title; a longer one is cut."""

_SESSION = select(*(SESSIONS.c[name] for name in Session.model_fields))


def new_id() -> str:
    """A fresh id for any row: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def record(kind: type[R], row: RowMapping | Mapping[str, Any]) -> R:
    """The row as a record. Raises `StorageError` where it does not fit, as one of a later version may not."""
    try:
        return kind(**row)
    except ValidationError as error:
        columns = sorted({str(part) for problem in error.errors() for part in problem["loc"][:1]})
        raise StorageError(
            "The store holds a row that this version cannot read "
            f"({kind.__name__} {row['id']!r}: {', '.join(columns)}). "
            "The rest is kept; update Conductor Studio or restore a copy of the store."
        ) from error


def create(
    connection: Connection,
    query: str,
    *,
    id: str | None = None,
    title: str | None,
    pool_label: str | None,
    origin: SessionOrigin | None,
    forked_from: str | None = None,
    conversation: Conversation | None = None,
    settings: Settings | None = None,
    now: float,
) -> Session:
    """See `store.sessions.create`. It gets a new id unless one is given."""
    session = id or new_id()
    row = {
        "id": session,
        "title": _title(title, query=query),
        "query": query,
        "created_at": now,
        "updated_at": now,
        "pool_label": pool_label,
        "state": "new",
        "origin": origin,
        "forked_from": forked_from,
        "conversation": conversation,
        "settings": settings,
    }
    connection.execute(SESSIONS.insert(), row)
    return find(connection, session)


def find(connection: Connection, session: str) -> Session:
    """The session of that id, deleted or not. Raises `UnknownId` when there is none."""
    row = connection.execute(_SESSION.where(SESSIONS.c.id == session)).mappings().first()
    if row is None:
        raise _unknown(session)
    return record(Session, row)


def change(connection: Connection, session: str, **columns: Any) -> None:
    """Set columns of a session; in PostgreSQL this also locks its row until the transaction ends.

    Raises `UnknownId` when there is no such session.
    """
    result = connection.execute(SESSIONS.update().where(SESSIONS.c.id == session).values(**columns))
    if result.rowcount == 0:
        raise _unknown(session)


def rename(connection: Connection, session: str, title: str) -> Session:
    """See `store.sessions.rename`."""
    change(connection, session, title=_title(title, query=find(connection, session).query))
    return find(connection, session)


def set_settings(connection: Connection, session: str, settings: Settings) -> Session:
    """See `store.sessions.set_settings`."""
    change(connection, session, settings=settings)
    return find(connection, session)


def set_deleted(connection: Connection, session: str, *, at: float | None) -> Session:
    """Delete the session (at that time), or restore it (None)."""
    set_all_deleted(connection, [session], at=at)
    return find(connection, session)


def set_all_deleted(connection: Connection, sessions: Sequence[str], *, at: float | None) -> None:
    """The same for several: all of them or, where one is unknown, none."""
    for session in sessions:
        change(connection, session, deleted_at=at)


def _title(title: str | None, *, query: str) -> str:
    """The given title in one line; where it is empty, the beginning of the query."""
    line = " ".join((title or "").split()) or " ".join(query.split()) or "Untitled session"
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"


def _unknown(session: str) -> UnknownId:
    return UnknownId(f"There is no session {session!r} in this store; choose one from the list of sessions.")
