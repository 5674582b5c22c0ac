"""The lock that shows that an open store's process is alive: it is released when the process ends in any way.

For SQLite it is a locked file beside the store, for PostgreSQL a connection's advisory lock. A paused process
still holds it; no clocks are compared. Knows the two kinds of databases and no table.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from conductor.errors import StorageError
from conductor.files.file_lock import is_at, is_free, locked_file
from storage.database.database import Database

_HELD = """SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ShareLock' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""

_KEEPALIVE = ("tcp_keepalives_idle = 10", "tcp_keepalives_interval = 3", "tcp_keepalives_count = 3")
"""The server notices within some twenty seconds that a machine lost its power or its network."""


class FileLock:
    """A locked file in a folder beside the store. Its name is the `owner` text in the rows of what the store
    runs. Any thread may use it; every method raises `StorageError` and no other error.
    """

    confirm_seconds = 0.0
    """How long another store's lock must be free before its process counts as dead."""

    def __init__(self, store: Path, owner: str) -> None:
        self.owner = owner
        self._folder = store.with_name(f"{store.name}.processes")
        self._path = self._folder / owner
        self._file: IO[bytes] | None = None
        self._mutex = Lock()

    def hold(self) -> None:
        """Take the lock, unless it is held; also where it was lost. Removes the files of dead processes."""
        with self._mutex:
            if self._file is not None and is_at(self._file, self._path):
                return
            try:
                if self._file is not None:
                    self._file.close()
                self._file = locked_file(self._path)
            except OSError as error:
                raise self._refused(error) from error
            for other in self._folder.iterdir():
                with suppress(OSError):
                    if other != self._path and is_free(other):
                        other.unlink()

    def free(self, connection: Connection, owners: Collection[str]) -> frozenset[str]:  # noqa: ARG002
        """Those of the owners whose lock is free now."""
        try:
            # Earlier versions wrote paths, which name no file here and must not lead elsewhere.
            return frozenset(o for o in owners if Path(o).name != o or is_free(self._folder / o))
        except OSError as error:
            raise self._refused(error) from error

    def release(self) -> None:
        """Release the lock. May be called twice."""
        with self._mutex:
            file, self._file = self._file, None
            if file is not None:
                with suppress(OSError):
                    self._path.unlink()
                    self._folder.rmdir()
                file.close()

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(
            f"The folder {self._folder}, in which each process locks a file while it runs a workflow, cannot "
            f"be used: {error.strerror}. What was saved before is kept; allow this user to write there, or "
            "name a store on a disk of this machine in CONDUCTOR_DATABASE_URL (network disks may lack locks)."
        )


class ServerLock:
    """An advisory lock on the server, held by a dedicated connection; the methods are those of `FileLock`.

    A connection may be cut while its process lives. So a free lock is checked again after a time in which
    the process, if it lives, has taken the lock with another connection.
    """

    confirm_seconds = 2.0

    def __init__(self, database: Database, owner: str) -> None:
        self.owner = owner
        self._key = _key(owner)
        self._database = database
        self._connection: Connection | None = None
        self._mutex = Lock()

    def hold(self) -> None:
        """See `FileLock.hold`."""
        with self._mutex:
            try:
                if self._connection is not None:
                    self._connection.execute(text("SELECT 1"))
                    return
            except SQLAlchemyError:
                self._drop()
            try:
                connection = self._database.reader.connect()
                self._connection = connection.execution_options(isolation_level="AUTOCOMMIT")
                self._connection.detach()
                for setting in _KEEPALIVE:
                    self._connection.execute(text(f"SET {setting}"))
                # Shared: the server may not have noticed yet that the last connection ended.
                self._connection.execute(text(f"SELECT pg_advisory_lock_shared({self._key})"))
            except SQLAlchemyError as error:
                self._drop()
                raise self._database.explain(error) from error

    def free(self, connection: Connection, owners: Collection[str]) -> frozenset[str]:
        """See `FileLock.free`."""
        held = set(connection.scalars(text(_HELD)))
        return frozenset(owner for owner in owners if _key(owner) not in held)

    def release(self) -> None:
        """See `FileLock.release`."""
        with self._mutex:
            if self._connection is not None:
                # The server notices the end of a connection a moment later.
                with suppress(SQLAlchemyError):
                    self._connection.execute(text(f"SELECT pg_advisory_unlock_shared({self._key})"))
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.close()


def owner_lock(database: Database) -> FileLock | ServerLock:
    """The lock of a store that is being opened; it is not taken yet."""
    owner = f"{os.getpid()}-{secrets.token_hex(8)}"
    return FileLock(database.path.resolve(), owner) if database.path else ServerLock(database, owner)


def _key(owner: str) -> int:
    """The owner as the number of a lock: 63 bits, so that it is not negative."""
    return int.from_bytes(hashlib.sha256(owner.encode()).digest()[:8]) >> 1
