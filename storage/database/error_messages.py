"""Messages for database errors: what is wrong, what is still stored and what to do.

Knows the codes of SQLite and PostgreSQL, and no connection; messages are quoted only without a code.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError

_SAFE = "What was saved before is kept"
_UNCHANGED = "It was not changed"
_ELSEWHERE = "name another file in CONDUCTOR_DATABASE_URL"

# An extended code goes before the code that is its last byte.
_SQLITE = {
    sqlite3.SQLITE_READONLY_DBMOVED: "was removed, moved or replaced while this program had it open. Nothing "
    "more is written; put the same file back, or end this program and start it again.",
    sqlite3.SQLITE_BUSY: f"is locked by another program. {_SAFE}; close that program, then try again.",
    sqlite3.SQLITE_LOCKED: f"is locked by another program. {_SAFE}; close that program, then try again.",
    sqlite3.SQLITE_READONLY: f"cannot be written. {_SAFE}; allow this user to write the file and its folder.",
    sqlite3.SQLITE_PERM: f"cannot be opened. {_SAFE}; allow this user to write the file and its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Nothing was changed; check that its folder exists and that "
    "this user may write it.",
    sqlite3.SQLITE_FULL: f"is full: its disk has no room left. {_SAFE}; free some space, then try again.",
    sqlite3.SQLITE_IOERR: f"was refused by its disk. {_SAFE}; check the disk and its free space, "
    "then try again.",
    sqlite3.SQLITE_NOTADB: f"is not a database. {_UNCHANGED}; move it away, or {_ELSEWHERE}.",
    sqlite3.SQLITE_CORRUPT: f"is damaged. {_UNCHANGED}; restore a copy, or {_ELSEWHERE}.",
}

_GONE = f"cannot be reached: its server stopped or is starting. {_SAFE}; try again when it runs."
_UNREACHED = f"cannot be reached. {_SAFE}; check that its server runs and that host and port are right."
_HELD = f"is held by another program that makes no progress. {_SAFE}; end that program, then try again."
_REFUSED = (
    "refused this user. Nothing was changed; check the user and the password in CONDUCTOR_DATABASE_URL, or "
    "keep the password in a password file (PGPASSFILE)."
)
_CROWDED = f"takes no more connections. {_SAFE}; close other programs, or raise its max_connections."

# By SQLSTATE, else by its class, which is its first two characters.
_POSTGRESQL = {
    "08": _UNREACHED,
    "25006": f"cannot be written. {_SAFE}; name a server that is no read-only copy.",
    "25P03": f"did not wait for this program, which stopped in the middle of a write. {_SAFE}; try again.",
    "28": _REFUSED,
    "3D000": "does not exist. Make it (createdb), or name another one in CONDUCTOR_DATABASE_URL.",
    "40": f"was written by another program at the same moment. {_SAFE}; try again.",
    "42501": f"does not let this user do that. {_SAFE}; make the user the database's owner, or give it the "
    "right to create and change tables there.",
    "53100": f"is full: its disk has no room left. {_SAFE}; free some space, then try again.",
    "53300": _CROWDED,
    "55P03": _HELD,
    "57P": _GONE,
    "58030": f"was refused by its disk. {_SAFE}; check the server's disk, then try again.",
    "XX001": f"is damaged. {_SAFE}; restore a copy.",
    "XX002": f"is damaged. {_SAFE}; restore a copy.",
}

# Messages of libpq about a connection that failed to open have no code.
_UNCONNECTED = (
    ("password authentication failed", _REFUSED),
    ("no password supplied", _REFUSED),
    ("no pg_hba.conf entry", _REFUSED),
    ('role "', _REFUSED),
    ('database "', _POSTGRESQL["3D000"]),
    ("too many c", _CROWDED),
    ("remaining connection slots", _CROWDED),
    ("starting up", _GONE),
    ("shutting down", _GONE),
    ("connection", _UNREACHED),
    ("failed to resolve", _UNREACHED),
    ("timeout", _UNREACHED),
)


def explanation(error: Exception) -> str:
    """What follows the store's name in a sentence about `error`; it may quote the database's message."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return _cause_message(cause) or f"could not be used: {cause}. {_SAFE}; try again."


def _cause_message(cause: BaseException | None) -> str | None:
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE.get(code) or _SQLITE.get(code & 0xFF)
    # The driver of PostgreSQL is not imported: it need not be installed.
    if cause is None or not hasattr(cause, "sqlstate"):
        return None
    state: str | None = cause.sqlstate
    if state is not None:
        return _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:3]) or _POSTGRESQL.get(state[:2])
    if type(cause).__name__ not in ("OperationalError", "ConnectionTimeout"):
        return None
    message = str(cause)
    return next((words for mark, words in _UNCONNECTED if mark in message), None)
