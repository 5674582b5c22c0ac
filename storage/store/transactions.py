"""How a part of the store reads and writes: any thread may read, one thread writes.

Knows connections, clock and memory; knows no table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from conductor.events import Event
from storage import journal
from storage.database import Database
from storage.lost_events import LostEvents
from storage.memory import ReadMemory
from storage.writer import Writer, closed

P = ParamSpec("P")
T = TypeVar("T")

Clock = Callable[[], float]
"""Unix seconds."""


class Transactions:
    """What all parts of the store share; each part adds what can be asked of it."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._closed = False
        self._memory = ReadMemory(database.version)
        self._lost = LostEvents()
        self._writer = Writer(
            database,
            keep_events=self._keep_events,
            unkept=self._lost,
        )

    def close(self) -> None:
        """Write what is queued and close every connection. May be called twice."""
        if not self._closed:
            self._retry_lost()
        self._closed = True
        self._writer.close()
        self._database.close()

    def _remember(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `_read`, for frozen values of a moderate size that a page asks for again and again."""
        self._check_open()
        question = (query, args, tuple(kwargs.items()))
        return self._memory.answer(question, lambda: self._read(query, *args, **kwargs))

    def _read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._check_open()
        with self._database.transaction(to="read") as connection:
            return query(connection, *args, **kwargs)

    def _write(self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def run(connection: Connection) -> T:
            return job(connection, *args, **kwargs)

        return self._writer.submit(run).result()

    def _check_open(self) -> None:
        if self._closed:
            raise closed(self._database)

    def _keep_events(self, connection: Connection, events: Sequence[Event]) -> None:
        journal.keep(connection, self._lost.with_earlier(connection, events), now=self._clock())

    def _retry_lost(self) -> None:
        """Queue another try; nobody waits for it, because a trouble that lasts is told where it matters."""
        if self._lost:
            self._writer.submit(self._keep_lost)

    def _keep_lost(self, connection: Connection) -> None:
        self._lost.keep(connection, now=self._clock())
