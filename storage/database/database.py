"""Opens the store: one engine to write with, one to read with, and what their errors mean.

Everything that differs between SQLite and PostgreSQL is here. Knows no table.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from stat import S_IMODE
from threading import Lock
from typing import Any, Literal, Self

from sqlalchemy import URL, Connection, Dialect, Engine, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from tenacity import (
    retry,
    retry_if_exception,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_fixed,
)

from conductor.errors import StorageError
from conductor.files.project_folder import STORE, own_store
from storage.database.compiled_statement import by_driver
from storage.database.error_messages import explanation
from storage.database.write_ahead_log import WriteAheadLog

PATIENCE_SECONDS = 10.0
"""How long a write waits: for a lock that another program holds, and for a server that was there before."""

_PATIENCE, _LEFT = int(PATIENCE_SECONDS * 1000), "milliseconds_to_wait"
_NOTED, _OF = "log_noted", "rows_of"

_LOG_PAGES = 4000
"""Of the write-ahead log, after which they are copied into the file: 16.5 MB with the header of each page. A
longer log is cut to that once it has no reader.
"""

_READER_PRAGMAS = (f"busy_timeout={_PATIENCE}", "temp_store=MEMORY", "query_only=ON")
_WRITER_PRAGMAS = (
    f"busy_timeout={_PATIENCE}",
    # Of a new file; an older one takes it when it is rewritten.
    "auto_vacuum=INCREMENTAL",
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "foreign_keys=ON",
    "temp_store=MEMORY",
    f"wal_autocheckpoint={_LOG_PAGES}",
    f"journal_size_limit={_LOG_PAGES * 4120}",
)

_DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")

_PACKAGES = {"psycopg": "psycopg[binary]"}
"""What to install for a driver whose package has another name."""

_SECRETS = ("password", "sslpassword")
"""What in a URL's query is never shown, as its password is not."""

_LOCK_STORE = "SELECT pg_advisory_xact_lock(7164720187315466083)"
"""Of all processes one writes at a time, as in SQLite: what was read in a transaction stays as it was."""

_LOCK_SESSIONS = (
    "SELECT pg_advisory_xact_lock_shared(7164720187315466083), pg_advisory_xact_lock(one)"
    " FROM unnest(%s::bigint[]) AS one"
)
"""The same within some sessions; others write to theirs meanwhile. All take their locks in one order."""

_SESSION = (f"lock_timeout = {_PATIENCE}", "idle_in_transaction_session_timeout = 5000")
"""A process that stops in the middle of a write (a suspended machine) does not block the others."""

_SQLITE_COUNT = "PRAGMA user_version"
"""A number in the file's header, counted up by `count_change`."""

_SQLITE_COUNTS = (
    "SELECT user_version || ' ' || schema_version FROM pragma_user_version, pragma_schema_version"
)
"""That number, with what another program that changes tables changes."""

_LARGEST_COUNT = 2**31

_SERVER_VERSION = "SELECT pg_current_snapshot()::text"
"""Which transactions are seen. A transaction that writes changes it, when it is committed at the latest, and
so may one in another database of that server: then something is read again for nothing.
"""

_REACH: Mapping[str, int] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""How soon a broken connection is detected (seconds; the last in milliseconds); the URL overrides each."""


@dataclass(frozen=True, slots=True)
class _File:
    """The file at a path, as the operating system identifies it; `real` has no link in it."""

    path: str
    real: str
    device: int
    inode: int

    @classmethod
    def at(cls, path: Path) -> Self:
        """The file that is there now. Raises `OSError`."""
        status = path.stat()
        return cls(str(path.absolute()), str(path.resolve()), status.st_dev, status.st_ino)

    def is_in_place(self) -> bool:
        """Whether it is still at its path. A link in its place, also to itself elsewhere, is another file: a
        new connection would have a log of its own, beside what the link leads to.
        """
        # Called with each transaction, where a `Path` takes twice as long.
        try:
            there = [os.lstat(self.real)]
            if self.path != self.real:
                there.append(os.stat(self.path))  # noqa: PTH116
        except OSError:
            return False
        return all((each.st_dev, each.st_ino) == (self.device, self.inode) for each in there)


class Database:
    """The two engines of one URL. `place` is what messages call it; it never holds a password."""

    def __init__(self, url: str) -> None:
        """Raises `StorageError` for a URL that names no database, or whose driver is missing."""
        self._url = _parsed(url)
        self.path = _sqlite_path(self._url)
        self._log = None if self.path is None else WriteAheadLog(self.path)
        # A query of PostgreSQL's may hold a password, too.
        self.place = str(self.path or self._url.set(query={}).render_as_string(hide_password=True))
        try:
            self.writer, self.reader = self._sqlite() if self.path else self._postgresql()
        except ModuleNotFoundError as error:
            package = _PACKAGES.get(error.name or "", error.name)
            raise StorageError(
                f"The store {self.place} needs the Python package {package!r}, which is not installed; "
                f"install it with: pip install '{package}'."
            ) from error
        self._file: _File | None = None
        self._version_lock = Lock()
        self._version_connection: Any = None
        self._version_connections = 0

    def _sqlite(self) -> tuple[Engine, Engine]:
        # isolation_level=None keeps Python's sqlite3 from opening transactions of its own.
        own: dict[str, Any] = {"connect_args": {"isolation_level": None}}
        writer, reader = self._engine(connections=1, **own), self._engine(connections=16, **own)
        _prepare(
            writer,
            [f"PRAGMA {pragma}" for pragma in _WRITER_PRAGMAS],
            begin=partial(by_driver, text="BEGIN IMMEDIATE"),
            wait="PRAGMA busy_timeout = ",
        )
        _prepare(
            reader, [f"PRAGMA {pragma}" for pragma in _READER_PRAGMAS], begin=partial(by_driver, text="BEGIN")
        )
        log = self._log
        assert log is not None

        @event.listens_for(writer, "begin")
        def _note_log(connection: Connection) -> None:
            # Before its first transaction, a connection may have opened none.
            if _NOTED not in connection.info:
                log.note()
                connection.info[_NOTED] = True

        event.listen(writer, "close", lambda *_: log.forget())
        return writer, reader

    def _postgresql(self) -> tuple[Engine, Engine]:
        reach = {name: value for name, value in _REACH.items() if name not in self._url.query}
        # Without the last, each engine looks for that type.
        own: dict[str, Any] = {"connect_args": reach, "pool_pre_ping": True, "use_native_hstore": False}
        # Each statement of a transaction would see a state of its own.
        one_state = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        writer = self._engine(connections=1, **own)
        reader = self._engine(connections=8, execution_options=one_state, **own)
        _prepare(
            writer,
            [f"SET {setting}" for setting in _SESSION],
            begin=_lock,
            wait="SET lock_timeout = ",
        )
        _be_patient(writer)
        return writer, reader

    def _engine(self, *, connections: int, **own: Any) -> Engine:
        return create_engine(self._url, pool_size=connections, max_overflow=0, hide_parameters=True, **own)

    def create_folder(self) -> None:
        """Make the folder of a SQLite file, and the file its owner's alone, with its copies and the default
        folder, which holds what a store leads to. Raises `StorageError`.
        """
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StorageError(
                f"The folder of the store {self.place} cannot be made: {error.strerror}. Nothing was "
                "changed; name another file in CONDUCTOR_DATABASE_URL."
            ) from error
        # What cannot be done here, as in a folder that may not be written to, SQLite reports.
        with suppress(OSError):
            # SQLite gives the files beside it, such as its log, the same permissions.
            if not self.path.exists():
                # One that is there is not opened: closing it would take SQLite's own locks off it.
                self.path.touch(mode=0o600)
            own = tuple(f"{self.path.name}{ending}" for ending in ("-wal", "-shm", ".version-"))
            beside = (each for each in self.path.parent.iterdir() if each.name.startswith(own))
            # Another folder may be shared.
            folder = [self.path.parent] if self.path in (STORE, own_store()) else []
            for place in (*folder, self.path, *beside):
                if (mode := S_IMODE(place.stat().st_mode)) & 0o077:
                    place.chmod(mode & 0o700)
            self._file = _File.at(self.path)

    def _check_in_place(self) -> None:
        """Raise `OperationalError` if the file of `create_folder`, or its log, is no longer at its path.

        SQLite itself would go on in the file that it has open, which no other program finds, and make an
        empty one for each new connection.
        """
        if not all(place.is_in_place() for place in (self._file, self._log) if place is not None):
            moved = sqlite3.OperationalError("the file was removed, moved or replaced")
            moved.sqlite_errorcode = sqlite3.SQLITE_READONLY_DBMOVED
            raise OperationalError(None, None, moved)

    @contextmanager
    def transaction(self, *, to: Literal["read", "write"]) -> Iterator[Connection]:
        """A connection in a transaction; reads see one state. Raises no error but `StorageError`."""
        engine = self.reader if to == "read" else self.writer
        try:
            self._check_in_place()
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self.explain(error) from error

    @contextmanager
    def writing(self, *, waited: float, of: Collection[str] = ()) -> Iterator[Connection]:
        """A connection in a transaction, for what has waited so many seconds already.

        It waits for a lock until that is `PATIENCE_SECONDS`. With `of`, only what belongs to these sessions
        is read and written: on PostgreSQL, other processes write what belongs to others at the same time.
        Raises what SQLAlchemy raises.
        """
        # Setting another limit costs more than a short wait would save.
        left = _PATIENCE if waited < 0.1 else max(1, _PATIENCE - int(waited * 1000))
        self._check_in_place()
        with self.writer.connect() as connection:
            if left != _PATIENCE:
                connection.execution_options(**{_LEFT: left})
            if of:
                connection.execution_options(**{_OF: of})
            with connection.begin():
                yield connection
                self._check_in_place()
            if self._log is not None:
                driver = connection.connection.driver_connection
                assert isinstance(driver, sqlite3.Connection)
                self._log.bound(driver)

    def explain(self, error: Exception) -> StorageError:
        """The error that names the fault, what is still stored and what to do."""
        return StorageError(f"The store {self.place} {self._without_password(explanation(error))}")

    def _without_password(self, message: str) -> str:
        for secret in (self._url.password, *(self._url.query.get(name) for name in _SECRETS)):
            message = message.replace(secret, "***") if isinstance(secret, str) and secret else message
        return message

    @property
    def address(self) -> str:
        """The URL of a server without its password and options, as the server's own programs take it."""
        own = self._url
        plain = URL.create("postgresql", own.username, None, own.host, own.port, own.database)
        return plain.render_as_string()

    def copy_to(self, target: Path) -> None:
        """Copy a SQLite store, its uncommitted write-ahead log included, to a new file; no writer waits."""
        with self.transaction(to="read") as connection:
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600))
            try:
                with closing(sqlite3.connect(target)) as copy:
                    source.backup(copy)
            except sqlite3.Error as error:
                raise StorageError(
                    f"The store {self.place} cannot be copied to {target}: {error}. "
                    "It was not changed; make room in that folder, then try again."
                ) from error

    @property
    def size(self) -> int:
        """Bytes of the file, its unused pages included, once all is in it that now is in the write-ahead log.

        The log beside it is not counted: SQLite writes over it, whatever its size, and removes it at the end.
        Raises `StorageError`.
        """
        pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        query = pages if self.path else "SELECT pg_database_size(current_database())"
        with self.transaction(to="read") as connection:
            return int(connection.scalar(text(query)) or 0)

    def count_change(self, connection: Connection) -> None:
        """Have this transaction change what `version` returns on SQLite."""
        if self.path is not None:
            # By the driver itself: SQLAlchemy's own handling would take most of the time.
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            (count,) = driver.execute(_SQLITE_COUNT).fetchone()
            driver.execute(f"{_SQLITE_COUNT} = {(count + 1) % _LARGEST_COUNT}")

    def version(self) -> Hashable:
        """A value that changes with every write, on SQLite with those that are counted, also of another
        process; None if the database cannot be reached. Cheaper than reading any row.
        """
        query = _SQLITE_COUNTS if self.path else _SERVER_VERSION
        with self._version_lock:
            try:
                self._check_in_place()
                if self._version_connection is None:
                    self._version_connection = self.unpooled()
                    self._version_connections += 1
                cursor = self._version_connection.execute(query)
                return (self._version_connections, cursor.fetchone()[0])
            except (SQLAlchemyError, self.reader.dialect.loaded_dbapi.Error):
                # The next read raises the error; the next check makes a new connection.
                self._close_version()
                return None

    def unpooled(self) -> Any:
        """A connection of the driver's own, in autocommit mode, which never writes."""
        if self.path is not None:
            only_there = f"{self.path.resolve().as_uri()}?mode=ro"
            return sqlite3.connect(only_there, uri=True, check_same_thread=False, isolation_level=None)
        pooled = self.reader.raw_connection()
        connection: Any = pooled.driver_connection
        pooled.detach()
        connection.autocommit = True
        return connection

    def _close_version(self) -> None:
        connection, self._version_connection = self._version_connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close every connection, the writer's last: SQLite's last connection folds the log into the file."""
        with self._version_lock:
            self._close_version()
        self.reader.dispose()
        self.writer.dispose()


def sqlite_file(url: str) -> Path | None:
    """The file of a store on SQLite, None for another one. Raises `StorageError` where the URL is none."""
    return _sqlite_path(_parsed(url))


def several_may_write(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether several processes may write to one file for long with that version of SQLite.

    Others have the WAL-reset bug (sqlite.org/wal.html#walresetbug): where one process checkpoints while
    another one writes, writes can be lost, though very rarely.
    """
    return version >= (3, 51, 3) or any(
        version[:2] == fixed[:2] and version >= fixed for fixed in ((3, 44, 6), (3, 50, 7))
    )


def _parsed(url: str) -> URL:
    try:
        # The short name is what many servers' own pages write.
        parsed = make_url(f"postgresql{url[8:]}" if url.startswith("postgres:") else url)
        driver = parsed.drivername
    except (ArgumentError, ValueError):
        driver = None
    if driver not in _DRIVERS:
        # Neither the URL nor the cause is quoted: a part of either may be the password.
        raise StorageError(
            "The store's URL (--database, or CONDUCTOR_DATABASE_URL) names no database that this program can "
            "use; write sqlite:///<file> or postgresql://<user>@<host>/<name>."
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


def _prepare(
    engine: Engine, settings: Sequence[str], *, begin: Callable[[Connection], object], wait: str | None = None
) -> None:
    """Every connection starts with `settings`, every transaction with `begin`.

    `wait` sets the milliseconds that `begin` waits for, where the connection's execution options give them.
    """

    @event.listens_for(engine, "connect")
    def _connected(connection: DBAPIConnection, _record: object) -> None:
        cursor = connection.cursor()
        for setting in settings:
            _patiently(cursor.execute, setting)
        cursor.close()
        connection.commit()

    @event.listens_for(engine, "begin")
    def _begin_transaction(connection: Connection) -> None:
        if wait is not None:
            left = connection.get_execution_options().get(_LEFT, _PATIENCE)
            if left != connection.info.get(_LEFT, _PATIENCE):
                connection.exec_driver_sql(f"{wait}{left}")
                connection.info[_LEFT] = left
        begin(connection)


def _lock(connection: Connection) -> None:
    """Take the locks of PostgreSQL with which a transaction that writes begins."""
    of = connection.get_execution_options().get(_OF)
    if of:
        connection.exec_driver_sql(_LOCK_SESSIONS, (sorted(map(_lock_of, of)),))
    else:
        connection.exec_driver_sql(_LOCK_STORE)


def is_deadlock(error: BaseException) -> bool:
    """Whether PostgreSQL ended the transaction because two waited for one another."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) == "40P01"


def _lock_of(name: str) -> int:
    """The number of its advisory lock; two of one number take turns."""
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest(), signed=True)


def _is_busy(error: BaseException) -> bool:
    # Of an extended code, such as that of a store which another process recovers, the last byte is the kind.
    return (
        isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    )


@retry(
    retry=retry_if_exception(_is_busy),
    stop=stop_after_delay(PATIENCE_SECONDS),
    wait=wait_fixed(0.01),
    reraise=True,
)
def _patiently(execute: Callable[[str], object], setting: str) -> None:
    """SQLite does not wait, whatever its `busy_timeout`, when it changes the journal mode of a file that
    another process writes at that moment, as when several make one store together.
    """
    execute(setting)


def _be_patient(engine: Engine) -> None:
    """A server that was reached once is waited for, as when it is restarted."""
    reached = False

    @event.listens_for(engine, "do_connect")
    def _connect(dialect: Dialect, _record: object, arguments: Any, options: Any) -> DBAPIConnection:
        nonlocal reached
        patient = retry(
            retry=retry_if_exception_type(dialect.loaded_dbapi.OperationalError),
            stop=stop_after_delay(PATIENCE_SECONDS) if reached else stop_after_attempt(1),
            wait=wait_fixed(0.2),
            reraise=True,
        )
        connection = patient(dialect.connect)(*arguments, **options)
        reached = True
        return connection
