"""Disks with little room: a real one of a few megabytes, and a limit that SQLite holds by itself.

The first needs the right to mount; the second stands for it everywhere, and knows only full files.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest
import sqlalchemy

_MEGABYTES = 2
_PIECE = bytes(4096)


class Disk(Protocol):
    """Where a store is; `fill` takes all the room there is, `free` gives it back."""

    folder: Path

    def fill(self) -> None: ...

    def free(self) -> None: ...


class SmallDisk:
    """A file system of its own in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Write until nothing more can be written."""
        with self._ballast.open("ab", buffering=0) as ballast:
            while True:
                try:
                    ballast.write(_PIECE)
                except OSError as error:
                    if error.errno == errno.ENOSPC:
                        return
                    raise

    def free(self) -> None:
        """Remove what was written."""
        self._ballast.unlink()


class PageLimit:
    """A database that may have no more pages than it has, or may not be written at all, for SQLite's own
    reasons.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.connections: list[sqlite3.Connection] = []

    def connected(self, connection: sqlite3.Connection, _record: object) -> None:
        self.connections.append(connection)

    def fill(self) -> None:
        """SQLite takes the number of pages for the limit where that is higher."""
        self._limit(1)

    def free(self) -> None:
        """As good as no limit."""
        self._limit(1_000_000)

    def forbid(self) -> None:
        """Let nothing be written."""
        self._say("query_only=ON")

    def allow(self) -> None:
        """Let everything be written."""
        self._say("query_only=OFF")

    def _limit(self, pages: int) -> None:
        self._say(f"max_page_count={pages}")

    def _say(self, pragma: str) -> None:
        for connection in self.connections:
            connection.execute(f"PRAGMA {pragma}").close()


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mount one; the test is skipped where that is not allowed."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(["mount", *options], check=False, capture_output=True, encoding="utf-8")
    except FileNotFoundError:
        pytest.skip("There is no mount command here for a small disk.")
    if mounted.returncode:
        # Without the folder, which is another one each time: one line for all.
        reason = mounted.stderr.partition("\n")[0].rpartition(": ")[2]
        pytest.skip(f"A small disk cannot be mounted here: {reason}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def page_limit(folder: Path) -> Iterator[PageLimit]:
    """Limit all connections that are made meanwhile."""
    folder.mkdir()
    limit = PageLimit(folder)
    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", limit.connected)
    try:
        yield limit
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "connect", limit.connected)


@contextmanager
def read_only(disk: SmallDisk) -> Iterator[None]:
    """Refuse all writes to it meanwhile, root's included; no process may have a file open there."""
    _remount(disk, "ro")
    try:
        yield
    finally:
        _remount(disk, "rw")


def _remount(disk: SmallDisk, how: str) -> None:
    os.sync()
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk.folder)], check=True)
