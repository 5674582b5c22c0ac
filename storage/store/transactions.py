"""How a part of the store reads and writes: any thread may read, one thread writes.

Knows connections, clock and memory; knows no table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from conductor.runs.events import Event
from storage.database.database import Database
from storage.database.read_cache import ReadMemory
from storage.database.writer import Writer, closed
from storage.ownership.unwritten_events import LostEvents
from storage.tables import events as journal

P = ParamSpec("P")
T = TypeVar("T")

Clock = Callable[[], float]
"""Unix seconds."""


class Transactions:
    """How all parts of one store read and write."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self.database = database
        self.clock = clock
        self.closed = False
        self._memory = ReadMemory(database.version)
        self._lost = LostEvents()
        self.writer = Writer(
            database,
            keep_events=self._keep_events,
            unkept=self._lost,
        )

    def close(self) -> None:
        """Write what is queued and close every connection. May be called twice."""
        if not self.closed:
            self.retry_lost()
        self.closed = True
        self.writer.close()
        self.database.close()

    def remember(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `read`, with a cache: for frozen values of a moderate size that a page reads many times."""
        self.check_open()
        question = (query, args, tuple(kwargs.items()))
        return self._memory.answer(question, lambda: self.read(query, *args, **kwargs))

    def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `query` returns, called with a connection and these arguments."""
        with self.reading() as connection:
            return query(connection, *args, **kwargs)

    def write(self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `job` returns, called in a transaction of the writer thread; durable when this returns."""

        def run(connection: Connection) -> T:
            return job(connection, *args, **kwargs)

        return self.writer.submit(run).result()

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

    def _keep_events(self, connection: Connection, events: Sequence[Event]) -> None:
        journal.keep(connection, self._lost.with_earlier(connection, events), now=self.clock())

    def retry_lost(self) -> None:
        """Queue another try to write the events that could not be written; it is not waited for, because an
        error that lasts is reported where it matters.
        """
        if self._lost:
            self.writer.submit(self.keep_lost)

    def keep_lost(self, connection: Connection) -> None:
        """Write the events that could not be written before."""
        self._lost.keep(connection, now=self.clock())


class Part:
    """One kind of what is stored. All parts of a store share its transactions."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._read = transactions.read
        self._write = transactions.write
        self._remember = transactions.remember
        self._clock = transactions.clock
