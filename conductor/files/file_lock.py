"""Files that a process locks while it works, and that are free when it ends in any way.

A paused process still holds its lock; no clocks are compared. Knows files; what a lock stands for is the
caller's. Every function but `lock` raises `OSError` where the file system refuses.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    def lock(file: IO[bytes]) -> bool:
        with suppress(OSError):
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            return True
        return False
else:
    import fcntl

    def lock(file: IO[bytes]) -> bool:
        """Lock it until it is closed; False where it is locked. Programs started here do not inherit it."""
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False


def locked_file(path: Path) -> IO[bytes]:
    """The file at that path, locked, and made with its folder where it is missing. Waits for the lock."""
    while True:
        # Another process may take the file for a dead one's, and remove it before it is locked.
        path.parent.mkdir(exist_ok=True)
        try:
            file = path.open("ab")
        except FileNotFoundError:
            continue
        try:
            if lock(file) and is_at(file, path):
                return file
        except OSError:
            file.close()
            raise
        file.close()


def is_at(file: IO[bytes], path: Path) -> bool:
    """Whether the open file is the one at that path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def is_free(path: Path) -> bool:
    """Whether the file's lock is free; True where there is no such file."""
    try:
        with path.open("rb") as file:
            return lock(file)
    except (FileNotFoundError, IsADirectoryError):
        return True
