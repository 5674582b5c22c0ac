"""The log beside a SQLite store, and the size from which readers are waited for to make it small again.

SQLite writes it over from its beginning only at a moment in which no reader uses it. Where readers always
overlap, such a moment never comes by itself, and the log grows without end.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

LARGEST = 32_000_000
"""Bytes. Where no readers overlap, SQLite begins again at some 17 MB, which is `wal_autocheckpoint` pages."""

_STEP = 16_000_000
"""Bytes by which the log grows before the next try, where a reader took too long."""

_WAIT_MILLISECONDS = 100
"""For each of the readers that began before; the writes wait as long."""


class WriteAheadLog:
    """The log of the store at `path`. Only the thread that writes uses it, outside of transactions."""

    def __init__(self, path: Path) -> None:
        # SQLite writes it beside the file that a link leads to.
        self._path = Path(f"{path.resolve()}-wal")
        self._limit = LARGEST

    def bound(self, connection: sqlite3.Connection) -> None:
        """Empty the log where it is too large, unless a reader takes long."""
        if self._size() <= self._limit:
            return
        # What was written is safe in the log; a disk that takes no more refuses the next write as well.
        with suppress(sqlite3.OperationalError):
            (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
            connection.execute(f"PRAGMA busy_timeout={_WAIT_MILLISECONDS}").close()
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.execute(f"PRAGMA busy_timeout={patience}").close()
        self._limit = max(LARGEST, self._size() + _STEP)

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0
