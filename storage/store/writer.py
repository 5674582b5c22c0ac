"""The one thread that writes: all waiting writes are committed together, in the order they came.

Callers get futures that resolve once their write is committed.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Condition, Thread
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError, TimeoutError

from conductor.errors import ConductorError, NotKeptYet, StorageError
from conductor.runs.events import Event, TextPiece
from storage.database.database import Database, is_deadlock
from storage.store.unwritten_events import UnwrittenEvents
from storage.tables import events as journal

T = TypeVar("T")

LINGER_SECONDS = 0.005
"""How long events wait for company: a transaction costs as much as some twenty events in one."""

MOST = 64
"""Events and jobs from which on a transaction takes no further ones: those behind them would wait for all."""

_OF_THE_DATABASE = (SQLAlchemyError, ValueError, OverflowError)
"""The last two are what a driver raises, unwrapped, for values that fit no column."""

_log = logging.getLogger(__name__)

Job = Callable[[Connection], T]
Clock = Callable[[], float]
"""Unix seconds."""


def _uncancellable() -> Future[Any]:
    """A future that cannot be cancelled: what is queued is written even when its caller stops waiting."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass(slots=True)
class _Write:
    """A job, or events to store: neighbours share a future, because a future costs more than its event. It
    reads and writes rows of the sessions `of` alone, or of any (None).
    """

    queued_at: float
    of: set[str] | None
    job: Job[Any] | None = None
    events: list[Event] = field(default_factory=list)
    done: Future[Any] = field(default_factory=_uncancellable)

    @property
    def weight(self) -> int:
        """How much it adds to a transaction."""
        return len(self.events) or 1


class Writer:
    """Group commit: what queues up during one transaction makes the next, up to a limit.

    A write that is refused, or fails by a fault of this program, fails only its own future (consecutive
    events share one, and all but the refused are stored). A failure of the store itself (locked, full) fails
    every write of that transaction; the next transaction is tried normally. Its events wait in `unwritten`.
    """

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.unwritten = UnwrittenEvents()
        self._queue: list[_Write] = []
        self._urgent = False
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job[T], *, urgent: bool = True, of: str | None = None) -> Future[T]:
        """Run `job` in a transaction, at once or within `LINGER_SECONDS`; the future holds what it returned.

        It reads and writes what belongs to the session `of`, or anything. Raises `StorageError` if closed.
        """
        write = _Write(monotonic(), None if of is None else {of}, job=job)
        with self._changed:
            self._expect(urgent=urgent)
            self._queue.append(write)
        return write.done

    def append(self, event: Event, *, urgent: bool, of: str | None = None) -> Future[None]:
        """Store `event`, of a run of the session `of`, within `LINGER_SECONDS` or at once. Raises
        `StorageError` if closed.
        """
        with self._changed:
            self._expect(urgent=urgent)
            if not self._queue or self._queue[-1].job is not None or self._queue[-1].weight >= MOST:
                self._queue.append(_Write(monotonic(), set()))
            write = self._queue[-1]
            write.events.append(event)
            if of is None or write.of is None:
                write.of = None
            else:
                write.of.add(of)
        return write.done

    @property
    def waiting(self) -> int:
        """Writes in the queue; neighbouring events count as one."""
        return len(self._queue)

    def close(self) -> None:
        """Write what waits, then stop. May be called twice."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _expect(self, *, urgent: bool) -> None:
        """Wake the writer, if necessary, for the write that the caller, holding the lock, will queue."""
        if self._closed:
            raise closed(self._database)
        self._urgent = self._urgent or urgent
        # Waking the thread takes the interpreter from the caller; while it lingers, nothing calls for it.
        if urgent or not self._queue:
            self._changed.notify()

    def _work(self) -> None:
        writes: Sequence[_Write] = ()
        try:
            while writes := self._next():
                self._commit(writes)
        finally:
            self._abandon(writes)

    def _next(self) -> list[_Write]:
        """Everything that waits, once it is urgent or has lingered; empty once closed and done."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            self._changed.wait_for(lambda: self._urgent or self._closed, timeout=LINGER_SECONDS)
            fit = 1 + bisect_left(list(accumulate(write.weight for write in self._queue)), MOST)
            writes, self._queue = self._queue[:fit], self._queue[fit:]
            # What is left has lingered already.
            self._urgent = bool(self._queue)
            return writes

    def _commit(self, writes: Sequence[_Write], *, alone: bool = False) -> None:
        """`alone`: no other process writes meanwhile, to whatever session."""
        try:
            # What was queued while the one before waited for a lock has waited for it as well.
            waited = monotonic() - writes[0].queued_at
            of = () if alone else self._sessions(writes)
            with self._database.writing(waited=waited, of=of) as connection:
                results = [self._perform(connection, write) for write in writes]
                if not all(map(_is_quiet, writes)):
                    self._database.count_change(connection)
        except Exception as error:  # noqa: BLE001 - a fault in one write may not end the writing of all others
            self.unwritten.rolled_back()
            if is_deadlock(error) and not alone:
                self._commit(writes, alone=True)
            elif _is_failure(error):
                # Before the futures fail, so that their callbacks find the events remembered.
                self.unwritten.remember([event for write in writes for event in write.events])
                self._fail(writes, error, yet=True)
            elif len(writes) > 1:
                for write in writes:
                    self._commit([write])
            elif len(writes[0].events) > 1:
                self._commit_each(writes[0])
            else:
                self._fail(writes, error)
        else:
            self.unwritten.committed()
            for write, result in zip(writes, results, strict=True):
                write.done.set_result(result)

    def _commit_each(self, write: _Write) -> None:
        """Store each event alone, after one was refused; the future gets the first refusal."""
        alone = [_Write(write.queued_at, write.of, events=[event]) for event in write.events]
        for each in alone:
            self._commit([each])
        refused = next((error for each in alone if (error := each.done.exception()) is not None), None)
        if refused is None:
            write.done.set_result(None)
        else:
            write.done.set_exception(refused)

    def _sessions(self, writes: Sequence[_Write]) -> Collection[str]:
        """The sessions whose rows alone the writes concern; empty if these may be any rows."""
        sessions = [write.of for write in writes if write.of is not None]
        return () if self.unwritten or len(sessions) < len(writes) else frozenset().union(*sessions)

    def _perform(self, connection: Connection, write: _Write) -> Any:
        if write.job is not None:
            return write.job(connection)
        events = self.unwritten.with_earlier(connection, write.events)
        return journal.keep(connection, events, now=self._clock())

    def _fail(self, writes: Sequence[_Write], error: Exception, *, yet: bool = False) -> None:
        """Fail their futures; `yet` where events are not stored yet, but may be later."""
        own = self._database.explain(error) if isinstance(error, _OF_THE_DATABASE) else error
        if not isinstance(own, ConductorError):
            _log.error("a write to the store broke", exc_info=own)
        for write in writes:
            write.done.set_exception(NotKeptYet(str(own)) if yet and write.events else own)

    def _abandon(self, writes: Sequence[_Write]) -> None:
        """Fail the futures of all unfinished writes, however the thread ended."""
        with self._changed:
            self._closed = True
            waiting, self._queue = self._queue, []
        for write in (*writes, *waiting):
            if not write.done.done():
                write.done.set_exception(closed(self._database))


def _is_quiet(write: _Write) -> bool:
    """Whether it adds nothing but pieces of texts, which come many times a second, to a run's events."""
    return write.job is None and all(isinstance(event, TextPiece) for event in write.events)


def _is_failure(error: Exception) -> bool:
    """Whether the store itself failed, independently of the write: it is locked, full or not reachable.

    A server that cuts a connection need not raise an `OperationalError`; and while the store is rewritten,
    no connection is available.
    """
    cut = isinstance(error, DBAPIError) and error.connection_invalidated
    return cut or isinstance(error, OperationalError | TimeoutError)


def closed(database: Database) -> StorageError:
    """The error raised when a closed store is used."""
    return StorageError(f"The store {database.place} is closed. What was saved is kept; open it again.")
