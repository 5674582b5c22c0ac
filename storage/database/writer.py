"""The one thread that writes: whatever waits is committed together, in the order it came.

Knows jobs and events, not what they do to tables. Callers get futures that resolve once their write
is committed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError, TimeoutError

from conductor.errors import ConductorError, NotKeptYet, StorageError
from conductor.events import Event
from storage.database import Database

T = TypeVar("T")

LINGER_SECONDS = 0.005
"""How long events wait for company: a transaction costs as much as some twenty events in one."""

_OF_THE_DATABASE = (SQLAlchemyError, ValueError, OverflowError)
"""The last two are what a driver raises, unwrapped, for values that fit no column."""

_log = logging.getLogger(__name__)

Job = Callable[[Connection], T]
KeepEvents = Callable[[Connection, Sequence[Event]], None]


def _uncancellable() -> Future[Any]:
    """A future that cannot be cancelled: what is queued will be written, whoever stopped waiting."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass(frozen=True, slots=True)
class _Write:
    """A job, or events to keep: neighbours share a future, because a future costs more than its event."""

    job: Job[Any] | None = None
    events: list[Event] = field(default_factory=list)
    done: Future[Any] = field(default_factory=_uncancellable)


class Unkept(Protocol):
    """Events that met trouble, which `keep_events` may try again. Called in the writer thread."""

    def remember(self, events: Sequence[Event]) -> None:
        """These events met trouble with the store."""
        ...

    def committed(self) -> None:
        """What was tried again in the transaction is kept."""
        ...

    def rolled_back(self) -> None:
        """It is not."""
        ...


class Writer:
    """Group commit: all that queued up during one transaction makes the next.

    A write that is refused, or breaks by a fault of this program, fails its own future alone (events that
    came one after another have one between them, and all but the refused are kept); trouble with the store
    itself (locked, full) fails every write of that transaction, and the next transaction is tried as if
    nothing had been.
    """

    def __init__(self, database: Database, *, keep_events: KeepEvents, unkept: Unkept) -> None:
        self._database = database
        self._keep_events = keep_events
        self._unkept = unkept
        self._queue: list[_Write] = []
        self._urgent = False
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job[T]) -> Future[T]:
        """Run `job` in a transaction; the future holds what it returned. Raises `StorageError` if closed."""
        write = _Write(job=job)
        with self._changed:
            self._expect(urgent=True)
            self._queue.append(write)
        return write.done

    def append(self, event: Event, *, urgent: bool) -> Future[None]:
        """Keep `event`, within `LINGER_SECONDS` or at once. Raises `StorageError` if closed."""
        with self._changed:
            self._expect(urgent=urgent)
            if not self._queue or self._queue[-1].job is not None:
                self._queue.append(_Write())
            write = self._queue[-1]
            write.events.append(event)
        return write.done

    def close(self) -> None:
        """Write what waits, then stop. May be called twice."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _expect(self, *, urgent: bool) -> None:
        """Wake the writer where it must hear of what its caller, holding the queue, is about to put there."""
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
            writes, self._queue, self._urgent = self._queue, [], False
            return writes

    def _commit(self, writes: Sequence[_Write]) -> None:
        try:
            with self._database.writer.begin() as connection:
                results = [self._perform(connection, write) for write in writes]
        except Exception as error:  # noqa: BLE001 - a fault in one write may not end the writing of all others
            self._unkept.rolled_back()
            if _is_trouble(error):
                # Told before the futures fail, so that who hears of the failure finds it acted upon.
                self._unkept.remember([event for write in writes for event in write.events])
                self._fail(writes, error, yet=True)
            elif len(writes) > 1:
                for write in writes:
                    self._commit([write])
            elif len(writes[0].events) > 1:
                self._commit_each(writes[0])
            else:
                self._fail(writes, error)
        else:
            self._unkept.committed()
            for write, result in zip(writes, results, strict=True):
                write.done.set_result(result)

    def _commit_each(self, write: _Write) -> None:
        """Keep what can be kept of events of which one was refused; the first refusal is told."""
        alone = [_Write(events=[event]) for event in write.events]
        for each in alone:
            self._commit([each])
        refused = next((error for each in alone if (error := each.done.exception()) is not None), None)
        if refused is None:
            write.done.set_result(None)
        else:
            write.done.set_exception(refused)

    def _perform(self, connection: Connection, write: _Write) -> Any:
        if write.job is not None:
            return write.job(connection)
        return self._keep_events(connection, write.events)

    def _fail(self, writes: Sequence[_Write], error: Exception, *, yet: bool = False) -> None:
        """Fail their futures; `yet` where events are not kept yet, but may be later."""
        own = self._database.explain(error) if isinstance(error, _OF_THE_DATABASE) else error
        if not isinstance(own, ConductorError):
            _log.error("a write to the store broke", exc_info=own)
        for write in writes:
            write.done.set_exception(NotKeptYet(str(own)) if yet and write.events else own)

    def _abandon(self, writes: Sequence[_Write]) -> None:
        """Whatever ended the thread, nobody waits for it in vain."""
        with self._changed:
            self._closed = True
            waiting, self._queue = self._queue, []
        for write in (*writes, *waiting):
            if not write.done.done():
                write.done.set_exception(closed(self._database))


def _is_trouble(error: Exception) -> bool:
    """Whether the store could not be used, whatever was to be written: it is locked or full, or away.

    A server that cuts a connection need not say so by an `OperationalError`; and while the store is written
    anew there is no connection to be had.
    """
    cut = isinstance(error, DBAPIError) and error.connection_invalidated
    return cut or isinstance(error, OperationalError | TimeoutError)


def closed(database: Database) -> StorageError:
    """The error of whoever uses a closed store."""
    return StorageError(f"The store {database.place} is closed. What was saved is kept; open it again.")
