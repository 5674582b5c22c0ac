"""People's notes on words of a session.

A deleted note stays as a row until its session is removed, so that it can be restored; nothing finds it.
"""

from __future__ import annotations

from sqlalchemy import Connection

from conductor.errors import StorageError
from storage.database.schema import NOTES
from storage.records import NoteRecord
from storage.session_entries import NoteEntry
from storage.tables import revisions, runs, sessions
from storage.tables.rows import Rows

_NOTES = Rows(NoteRecord, NOTES, "note")

find = _NOTES.find
named = _NOTES.named


def add(connection: Connection, now: float, session: str, note: NoteEntry) -> NoteRecord:
    """Store a note, written `now`. Raises `StorageError` where its run or revision is another session's."""
    sessions.find(connection, session)
    if note.revision is not None:
        revisions.check_belongs(session, revision=revisions.find(connection, note.revision))
    if note.run is not None and runs.find(connection, note.run).session != session:
        raise StorageError(
            f"The run {note.run!r} is another session's; choose one of the session's own runs."
        )
    row = {**dict(note), "session": session, "created_at": now}
    connection.execute(NOTES.insert(), row)
    return find(connection, note.id)


def of_session(connection: Connection, session: str) -> tuple[NoteRecord, ...]:
    """The session's notes without deleted ones, oldest first."""
    return _NOTES.select(
        connection, NOTES.c.session == session, NOTES.c.deleted_at.is_(None), by=NOTES.c.created_at
    )


def delete(connection: Connection, now: float, note: str) -> None:
    """Mark a note as deleted. Raises `UnknownId` when there is none."""
    find(connection, note)
    connection.execute(NOTES.update().where(NOTES.c.id == note).values(deleted_at=now))


def restore(connection: Connection, note: str) -> None:
    """Undo `delete`."""
    find(connection, note)
    connection.execute(NOTES.update().where(NOTES.c.id == note).values(deleted_at=None))
