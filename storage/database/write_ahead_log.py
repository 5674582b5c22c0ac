"""The log beside a SQLite store, and the size from which readers are waited for to make it small again.

SQLite writes it over from its beginning only at a moment in which no reader uses it. Where readers always
overlap, such a moment never comes by itself, and the log grows without end.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

LARGEST = 32_000_000
"""Bytes. Where no readers overlap, SQLite begins again at some 17 MB, which is `wal_autocheckpoint` pages."""

_STEP = 16_000_000
"""Bytes by which the log grows before the next try, where a reader took too long."""

_WAIT_MILLISECONDS = 100
"""For each of the readers that began before; the writes wait as long."""


class WriteAheadLog:
    """The log of the store at `path`."""

    def __init__(self, path: Path) -> None:
        # SQLite writes it beside the file that a link leads to.
        # Texts, because they are looked at with each transaction, where a `Path` takes twice as long.
        self._path, self._index = (f"{path.resolve()}{ending}" for ending in ("-wal", "-shm"))
        self._limit = LARGEST
        self._files: Sequence[tuple[int, int]] | None = None

    def note(self) -> None:
        """Remember the log and its index as those that an open connection has, which SQLite leaves there."""
        self._files = self._identities()

    def forget(self) -> None:
        """Expect no file: the connection of `note` is closed, and the last one of all removes the files."""
        self._files = None

    def is_in_place(self) -> bool:
        """Whether both files of `note`, if there are any, are still at their paths."""
        return (noted := self._files) is None or self._identities() == noted

    def bound(self, connection: sqlite3.Connection) -> None:
        """Empty the log where it is too large, unless a reader takes long. Outside of transactions, in the
        thread that writes.
        """
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

    def _identities(self) -> Sequence[tuple[int, int]] | None:
        try:
            there = [os.lstat(each) for each in (self._path, self._index)]
        except OSError:
            return None
        return [(each.st_dev, each.st_ino) for each in there]

    def _size(self) -> int:
        try:
            return os.stat(self._path).st_size  # noqa: PTH116
        except OSError:
            return 0
