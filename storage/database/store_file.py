"""The file of a SQLite store and the log beside it, as the operating system identifies them.

SQLite goes on in files that it has open where no other program finds them any more, and makes new ones for a
new connection. Knows no SQL.
"""

from __future__ import annotations

import os
from pathlib import Path


class StoreFile:
    """The file that is at `path` now. Raises `OSError` where there is none."""

    def __init__(self, path: Path) -> None:
        self._path, self._real = str(path.absolute()), str(path.resolve())
        self._log = log_of(path)
        self._identity = _identity(path.stat())
        self._log_identity: tuple[int, int] | None = None

    def note_log(self) -> None:
        """Take the log that is there now for that of the open connections, of which the last removes it."""
        self._log_identity = _identity(self._log.stat()) if self._log.exists() else None

    def is_in_place(self) -> bool:
        """Whether both are still there. A link in the file's place is another one: beside what it leads to, a
        new connection makes a second log.
        """
        # Called with each transaction, and a path takes twice as long as the `os` functions.
        try:
            return (
                _identity(os.lstat(self._real)) == self._identity
                and (self._path == self._real or _identity(os.stat(self._path)) == self._identity)  # noqa: PTH116
                and (self._log_identity is None or _identity(os.lstat(self._log)) == self._log_identity)
            )
        except OSError:
            return False


def log_of(store: Path) -> Path:
    """Where SQLite writes the log of the store at this path: beside the file that a link leads to."""
    return Path(f"{store.resolve()}-wal")


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
