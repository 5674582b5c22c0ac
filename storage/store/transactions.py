"""The transactions of a part of the store: any thread may read, one thread writes.

Knows connections, clock and cache; knows no table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast

from sqlalchemy import Connection

from conductor.errors import ViewOnly
from storage.database.database import Database
from storage.database.unreadable_rows import leave_out, left_out_rows
from storage.store.writer import Clock, Writer, closed
from storage.tables.rows import new_id

P = ParamSpec("P")
T = TypeVar("T")

MAX_ANSWERS = 512
"""Answers in the cache; it is emptied when there are more."""


class ReadCache:
    """What was read, until the next write: a page requests the same rows for each of its parts.

    May be used from any thread. `version` returns another value after every write, also of another process,
    and None if the version is unknown; then nothing is cached. Each answer names what its read left out.
    """

    def __init__(self, version: Callable[[], Hashable]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._of: Hashable = None
        self._answers: dict[Hashable, tuple[object, Sequence[str]]] = {}

    def answer(self, question: Hashable, read: Callable[[], T]) -> T:
        """What `read` returns, or returned for the same question since the last write: a frozen value."""
        # Before the rows are read: rows newer than their version are read once more, never the reverse.
        version = self._version()
        if version is None:
            return read()
        with self._lock:
            if version != self._of or len(self._answers) >= MAX_ANSWERS:
                self._of, self._answers = version, {}
            value, sentences = self._answers.get(question, (None, None))
        if sentences is None:
            with left_out_rows() as current:
                value = read()
            sentences = tuple(current)
            with self._lock:
                if self._of == version:
                    self._answers[question] = value, sentences
        leave_out(*sentences)
        return cast("T", value)


class Transactions:
    """How all parts of one store read and write."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self.database = database
        self.clock = clock
        self.closed = False
        self._cache = ReadCache(database.version)
        self.writer = Writer(database, clock=clock)

    def close(self) -> None:
        """Write what is queued and close every connection. May be called twice."""
        if not self.closed:
            self.retry_unwritten()
        self.closed = True
        self.writer.close()
        self.database.close()

    def cached(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `read`, with a cache: for frozen values of a moderate size that a page reads many times.

        They must not depend on the pieces of a run's texts, whose writes are not counted.
        """
        self.check_open()
        question = query, args, tuple(kwargs.items())
        return self._cache.answer(question, lambda: self.read(query, *args, **kwargs))

    def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `query` returns, called with a connection and these arguments."""
        with self.reading() as connection:
            return query(connection, *args, **kwargs)

    def stream(
        self, query: Callable[Concatenate[Connection, P], Iterator[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Generator[T]:
        """As `read`, row by row as they are consumed, all from one state of the store."""
        with self.reading() as connection:
            yield from query(connection, *args, **kwargs)

    def write(self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `job` returns, called in a transaction of the writer thread; durable when this returns."""
        return self.write_of(None, job, *args, **kwargs)

    def write_of(
        self,
        session: str | None,
        job: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As `write`. The job reads and writes only what belongs to that session, so that other processes may
        write to others at the same time: sums over all are written by triggers, which see to that themselves.
        """

        def run(connection: Connection) -> T:
            return job(connection, *args, **kwargs)

        return self.writer.submit(run, of=session).result()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One state of the store for all reads in the block. Raises `StorageError` once it is closed."""
        self.check_open()
        with self.database.transaction(to="read") as connection:
            yield connection

    def check_open(self) -> None:
        """Raise `StorageError` once the store is closed."""
        if self.closed:
            raise closed(self.database)

    def check_writable(self) -> None:
        """Raise `StorageError` where nothing can be written."""
        self.check_open()

    def retry_unwritten(self) -> None:
        """Queue another try to write the events that could not be written; it is not waited for, because an
        error that lasts is reported where it matters.
        """
        if self.writer.unwritten:
            self.writer.submit(self.write_unwritten)

    def write_unwritten(self, connection: Connection) -> None:
        """Write the events that could not be written before."""
        self.writer.unwritten.keep(connection, now=self.clock())


class ReadOnly(Transactions):
    """The reads of other transactions, from their cache; every write raises `ViewOnly`."""

    def __init__(self, of: Transactions) -> None:
        # Nothing of its own: no connection, no cache, no thread that writes.
        self._of = of
        self.database, self.clock, self.closed = of.database, of.clock, False
        self._cache = of._cache
        self.writer = cast("Writer", _NoWriter())

    def check_open(self) -> None:
        self._of.check_open()

    def check_writable(self) -> NoReturn:
        raise _refused()


class _NoWriter:
    """What stands in the place of the thread that writes."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _refused()


def _refused() -> ViewOnly:
    return ViewOnly("This session is view-only here; nothing was changed. Open it in the app to change it.")


class Part:
    """One kind of what is stored. All parts of a store share its transactions."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._read = transactions.read
        self._write = transactions.write
        self._write_of = transactions.write_of
        self._cached = transactions.cached
        self._clock = transactions.clock


# -- functions of a connection as methods of a part ------------------------------------------------


def _method(query: Callable[..., Any], call: Callable[..., T]) -> Callable[..., T]:
    @wraps(query)
    def method(self: Part, /, *args: Any, **kwargs: Any) -> T:
        return call(self._transactions, query, *args, **kwargs)

    return method


def read(query: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Part, P], T]:
    """The method that reads in a transaction; see `Transactions.read`."""
    return _method(query, Transactions.read)


def cached(query: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Part, P], T]:
    """The method that reads with a cache; see `Transactions.cached`."""
    return _method(query, Transactions.cached)


def streamed(
    query: Callable[Concatenate[Connection, P], Iterator[T]],
) -> Callable[Concatenate[Part, P], Generator[T]]:
    """The method that reads row by row; see `Transactions.stream`."""
    return _method(query, Transactions.stream)


def write(job: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Part, P], T]:
    """The method that writes in a transaction; see `Transactions.write`."""
    return _method(job, Transactions.write)


def dated(job: Callable[Concatenate[Connection, float, P], T]) -> Callable[Concatenate[Part, P], T]:
    """The same for a job that is also given the time in Unix seconds."""
    return _method(job, lambda shared, job, *args, **own: shared.write(job, shared.clock(), *args, **own))


def new_session_dated(
    job: Callable[Concatenate[Connection, float, P], T],
) -> Callable[Concatenate[Part, P], T]:
    """The same for a job that writes only what belongs to a session that it creates."""
    return _method(
        job, lambda shared, job, *args, **own: shared.write_of(new_id(), job, shared.clock(), *args, **own)
    )


def session_write(
    job: Callable[Concatenate[Connection, str, P], T],
) -> Callable[Concatenate[Part, str, P], T]:
    """The method that writes what belongs to a session, its first argument, or to a token by its id; see
    `Transactions.write_of`.
    """
    return _method(
        job, lambda shared, job, session, *args, **own: shared.write_of(session, job, session, *args, **own)
    )


def session_dated(
    job: Callable[Concatenate[Connection, float, str, P], T],
) -> Callable[Concatenate[Part, str, P], T]:
    """The same for a job that is also given the time in Unix seconds."""
    return _method(
        job,
        lambda shared, job, session, *args, **own: shared.write_of(
            session, job, shared.clock(), session, *args, **own
        ),
    )
