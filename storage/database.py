"""Where the store is: one engine to write with, one to read with, and what their errors mean.

Everything that differs between SQLite and PostgreSQL stands here. Knows no table.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from conductor.errors import StorageError

_READER_PRAGMAS = ("busy_timeout=10000", "temp_store=MEMORY", "query_only=ON")
_WRITER_PRAGMAS = (
    "busy_timeout=10000",
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "foreign_keys=ON",
    "temp_store=MEMORY",
    "wal_autocheckpoint=4000",
)

_PACKAGES = {"psycopg": "psycopg[binary]", "psycopg2": "psycopg2-binary"}
"""What to install for a driver whose package has another name."""

_KEPT = "What was saved before is kept"
_TROUBLES = {
    sqlite3.SQLITE_BUSY: f"is locked by another program. {_KEPT}; close that program, then try again.",
    sqlite3.SQLITE_LOCKED: f"is locked by another program. {_KEPT}; close that program, then try again.",
    sqlite3.SQLITE_READONLY: f"cannot be written. {_KEPT}; allow this user to write the file and its folder.",
    sqlite3.SQLITE_PERM: f"cannot be opened. {_KEPT}; allow this user to write the file and its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Nothing was changed; check that its folder exists and that "
    "this user may write it.",
    sqlite3.SQLITE_FULL: f"is full: its disk has no room left. {_KEPT}; free some space, then try again.",
    sqlite3.SQLITE_IOERR: f"was refused by its disk. {_KEPT}; check the disk and its free space, "
    "then try again.",
    sqlite3.SQLITE_NOTADB: "is not a database. It was not changed; move it away, or name another file in "
    "CONDUCTOR_DATABASE_URL.",
    sqlite3.SQLITE_CORRUPT: "is damaged. It was not changed; restore a copy, or name another file in "
    "CONDUCTOR_DATABASE_URL.",
}


class Database:
    """The two engines of one URL. `place` is what messages call it; it never holds a password."""

    def __init__(self, url: str) -> None:
        """Raises `StorageError` for a URL that names no database, or whose driver is missing."""
        self._url = _parsed(url)
        self.path = _sqlite_path(self._url)
        self.place = str(self.path) if self.path else self._url.render_as_string(hide_password=True)
        self.writer = self._engine(_WRITER_PRAGMAS, begin="BEGIN IMMEDIATE", connections=1)
        self.reader = self._engine(_READER_PRAGMAS, begin="BEGIN", connections=16)
        self._watching = threading.Lock()
        self._watch: sqlite3.Connection | None = None

    def _engine(self, pragmas: Sequence[str], *, begin: str, connections: int) -> Engine:
        # isolation_level=None keeps Python's sqlite3 from opening transactions of its own.
        options: dict[str, Any] = {"isolation_level": None} if self.path else {}
        try:
            engine = create_engine(
                self._url,
                connect_args=options,
                pool_size=connections,
                max_overflow=0,
                pool_pre_ping=self.path is None,
                hide_parameters=True,
            )
        except ModuleNotFoundError as error:
            package = _PACKAGES.get(error.name or "", error.name)
            raise StorageError(
                f"The store {self.place} needs the Python package {package!r}, which is not installed; "
                f"install it with: pip install '{package}'."
            ) from error
        if self.path:
            _prepare(engine, pragmas, begin=begin)
        return engine

    def create_folder(self) -> None:
        """Make the folder of a SQLite file. Raises `StorageError`."""
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"The folder of the store {self.place} cannot be made: {error.strerror}. Nothing was "
                "changed; name another file in CONDUCTOR_DATABASE_URL."
            ) from error

    @contextmanager
    def transaction(self, *, to: Literal["read", "write"]) -> Iterator[Connection]:
        """A connection in a transaction; reads see one state. Raises no error but `StorageError`."""
        engine = self.reader if to == "read" else self.writer
        try:
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self.explain(error) from error

    def explain(self, error: Exception) -> StorageError:
        """What went wrong, what is kept and what to do."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(cause, "sqlite_errorcode", None)
        trouble = None if code is None else _TROUBLES.get(code & 0xFF)
        if trouble is None:
            trouble = f"could not be used: {self._without_password(str(cause))}. {_KEPT}; try again."
        return StorageError(f"The store {self.place} {trouble}")

    def _without_password(self, message: str) -> str:
        return message.replace(self._url.password, "***") if self._url.password else message

    def copy_to(self, target: Path) -> None:
        """Copy a SQLite store, its uncommitted write-ahead log included, to a new file."""
        with self.transaction(to="read") as connection:
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            copy = sqlite3.connect(target)
            try:
                source.backup(copy)
            except sqlite3.Error as error:
                raise StorageError(
                    f"The store {self.place} cannot be copied to {target} before it is updated: {error}. "
                    "It was not changed; make room in that folder, then try again."
                ) from error
            finally:
                copy.close()

    @property
    def size(self) -> int:
        """Bytes on disk, the write-ahead log included."""
        if self.path:
            files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
            return sum(file.stat().st_size for file in files if file.exists())
        with self.transaction(to="read") as connection:
            return int(connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)

    def version(self) -> int | None:
        """Another number than before where anybody has written since; None where that cannot be told.

        Source: SQLite's `PRAGMA data_version`, which compares within one connection that never writes.
        """
        with self._watching:
            try:
                self._watch = self._watch or self._watcher()
                found = self._watch.execute("PRAGMA data_version").fetchone() if self._watch else None
            except sqlite3.Error:
                # Whoever reads next says what is wrong with the file.
                return None
            return None if found is None else int(found[0])

    def _watcher(self) -> sqlite3.Connection | None:
        if self.path is None:
            return None
        only_there = f"{self.path.resolve().as_uri()}?mode=ro"
        return sqlite3.connect(only_there, uri=True, check_same_thread=False, isolation_level=None)

    def close(self) -> None:
        """Close every connection, the writer's last: whoever is last folds the log into the file."""
        with self._watching:
            if self._watch is not None:
                self._watch.close()
                self._watch = None
        self.reader.dispose()
        self.writer.dispose()


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        kind = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        kind = None
    if kind not in ("sqlite", "postgresql"):
        # Neither the URL nor the cause is quoted: a part of either may be the password.
        raise StorageError(
            "CONDUCTOR_DATABASE_URL names no database that this program can use; write sqlite:///<file> or "
            "postgresql://<user>@<host>/<name>."
        )
    return parsed


def _sqlite_path(url: URL) -> Path | None:
    if url.get_backend_name() != "sqlite":
        return None
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise StorageError(
            f"The store {url.render_as_string()} names no file; write sqlite:///<file> with a plain path."
        )
    return Path(url.database)


def _prepare(engine: Engine, pragmas: Sequence[str], *, begin: str) -> None:
    @event.listens_for(engine, "connect")
    def _connected(connection: sqlite3.Connection, _record: object) -> None:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        connection.exec_driver_sql(begin)
