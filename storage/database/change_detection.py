"""Detects whether a database was written to since the last check; cheaper than reading any rows.

Knows the two kinds of databases; knows no table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Protocol

from sqlalchemy import Engine


class Look(Protocol):
    """A connection of the driver's own, which never writes."""

    def execute(self, statement: str, /) -> Any:
        """A cursor with the statement's rows."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


SQLITE = "PRAGMA data_version"
"""Another number after every commit of another connection; it compares within one connection."""

POSTGRESQL = "SELECT pg_current_snapshot()::text"
"""Which transactions are seen. A transaction that writes changes it, when it is committed at the latest, and
so may one in another database of that server: then something is read again for nothing.
"""


class Watch:
    """May be used from any thread. `connect` makes the connection when first needed."""

    def __init__(
        self, connect: Callable[[], Look], question: str, *, errors: tuple[type[Exception], ...]
    ) -> None:
        """`question` is the SQL that reads the version; `errors` are those that a connection may raise."""
        self._connect = connect
        self._question = question
        self._errors = errors
        self._lock = threading.Lock()
        self._connection: Look | None = None
        self._connected = 0

    def version(self) -> Hashable:
        """A value that changes with every write; None where the database cannot be reached."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                    self._connected += 1
                found = self._connection.execute(self._question).fetchone()
            except self._errors:
                # The next read raises the error; the next check makes a new connection.
                self._drop()
                return None
            return None if found is None else (self._connected, found[0])

    def close(self) -> None:
        """Close the connection. May be called twice; a later check makes another."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def outside_the_pool(engine: Engine) -> Look:
    """A connection detached from the pool of `engine`, in autocommit mode."""
    pooled = engine.raw_connection()
    connection: Any = pooled.driver_connection
    pooled.detach()
    connection.autocommit = True
    return connection  # type: ignore[no-any-return]
