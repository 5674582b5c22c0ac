"""The store's methods for its size, and for removing data for good."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing

from sqlalchemy import Connection, select, text
from sqlalchemy.exc import SQLAlchemyError

from conductor.errors import StorageError
from conductor.values.messages import Value
from storage.database.database import Database
from storage.database.schema import META
from storage.database.time_slice import slice_of
from storage.records import SessionFilter
from storage.search import listing
from storage.store.processes import Processes
from storage.store.transactions import Part, Transactions
from storage.tables import ageing, garbage_collection, runs

_BATCH = 200
"""Sessions that one transaction deletes, or whose outputs it looks through."""

_FILLER, _FILLER_BYTES = "filler", 128 * 1024
"""Written to learn whether there is room: on a full disk, SQLite's log may still have some for less."""

_INCREMENTAL = 2
"""What SQLite calls a file that can give unused pages back."""

_SAMPLE = 50
"""Deleted sessions that are measured."""

_PAGES = 64
"""That are cut off a file together: 256 kB."""

_WAIT_SECONDS = 10.0
"""How long the rewriting of the file waits for a lock."""


class Room(Value):
    """The store's size in bytes, how many sessions are `deleted`, as `Sessions.count` counts, and about what
    it would free to remove these, by the size of some.
    """

    bytes: int
    deleted: int
    freeable: int


class Removed(Value):
    """Sessions removed for good: their titles by id, and how many runs they had."""

    sessions: Mapping[str, str] = {}
    runs: int = 0


class Cleaning(Removed):
    """What cleaning up removed for good, or would remove.

    `outputs` counts those that no run refers to, in the sessions that stay. `bytes_after` is None if
    nothing was done yet, and `freed` is then an estimate. `unused` are bytes that stay free in the file.
    """

    outputs: int
    bytes_before: int
    bytes_after: int | None
    freed: int
    unused: int = 0


class Housekeeping(Part):
    """The store's size, and the removal of what can no longer be reached."""

    def __init__(self, transactions: Transactions, processes: Processes) -> None:
        super().__init__(transactions)
        self._processes = processes

    def room(self) -> Room:
        """What the store takes now."""
        count = self._cached(listing.count, SessionFilter(deleted=True))
        bytes_of = garbage_collection.taken_by_removable
        sample = self._cached(bytes_of, before=None, most=_SAMPLE) if count else 0
        return Room(
            bytes=self._transactions.database.size,
            deleted=count,
            freeable=unused(self._transactions.database) + sample * max(count, _SAMPLE) // _SAMPLE,
        )

    def check_room(self) -> None:
        """Write as much as a short request does, and remove it. Raises `StorageError` where that fails."""
        # Written apart: what one transaction inserts and deletes is never written. Nothing compresses it.
        filler = secrets.token_hex(_FILLER_BYTES // 2)
        self._transactions.write(_put, _FILLER, filler)
        self._transactions.write(_put, _FILLER, None)

    def is_due(self, task: str, *, every: float) -> bool:
        """Whether `task` was not begun within so many seconds; it counts as begun now where True."""
        now = self._clock()

        def claim(connection: Connection) -> bool:
            last = connection.scalar(select(META.c.value).where(META.c.key == task))
            # A clock that was set back does not keep a task from being done for ever.
            if last is not None and 0 <= now - float(last) < every:
                return False
            _put(connection, task, repr(now))
            return True

        return self._write(claim)

    def aged(self, *, older_than: float, exempt: str, most: int | None = None) -> int:
        """How many sessions at rest without the tag were last updated more than so many seconds ago; beyond
        `most` it counts no further.
        """
        return self._read(ageing.count, before=self._clock() - older_than, exempt=exempt, most=most)

    def delete_aged(self, *, older_than: float, exempt: str) -> int:
        """Delete these sessions, which can be undone, in transactions of some hundred; returns how many."""
        before = self._clock() - older_than
        count = 0
        while deleted := self._write(
            ageing.delete, self._clock(), before=before, exempt=exempt, limit=_BATCH
        ):
            count += deleted
        return count

    def removable(self, *, older_than: float) -> Mapping[str, str]:
        """The sessions that `remove_deleted` would remove: their titles by id, the oldest deletion first."""
        return dict(self._read(garbage_collection.removable, before=self._clock() - older_than))

    def remove_deleted(self, *, older_than: float) -> Removed:
        """Remove for good the sessions deleted more than so many seconds ago, each with all of its data.

        In transactions of some hundredths of a second; a session that runs stays.
        """
        before = self._clock() - older_than
        gone: dict[str, str] = {}
        count = 0
        for session, title in self._read(garbage_collection.removable, before=before):
            removed = self._remove(session, before=before)
            if removed is not None:
                gone[session] = title
                count += removed
        return Removed(sessions=gone, runs=count)

    def remove_session(self, session: str) -> bool:
        """Remove a deleted session for good with all of its data; False where it was restored, or runs."""
        return self._remove(session, before=None) is not None

    def _remove(self, session: str, *, before: float | None) -> int | None:
        """Remove a session that was deleted before; how many runs it had, or None if it stays."""
        count = self._write_of(session, garbage_collection.begin_removal, session, before=before)
        while count is not None and not self._write_of(session, garbage_collection.remove_slice, session):
            pass
        return count

    def cleaning(self, *, older_than: float | None) -> Cleaning:
        """What `clean_up` would do; `freed` is an estimate."""
        before = float("-inf") if older_than is None else self._clock() - older_than
        removable = dict(self._read(garbage_collection.removable, before=before))
        return Cleaning(
            sessions=removable,
            runs=self._read(garbage_collection.runs_of_removable, before=before),
            outputs=sum(len(names) for session, names in self._unreferenced() if session not in removable),
            bytes_before=self._transactions.database.size,
            bytes_after=None,
            freed=unused(self._transactions.database)
            + self._read(garbage_collection.taken_by_removable, before=before),
        )

    def clean_up(self, *, older_than: float | None, compact: bool = False) -> Cleaning:
        """Remove for good the sessions deleted more than so many seconds ago (None: none) and the outputs
        that no run refers to, then return the space to the disk, in transactions of some hundredths of a
        second.

        `compact` rewrites a SQLite file, while which no one writes: raises `StorageError`, and has removed
        nothing, while anything runs.
        """
        if compact:
            self._check_at_rest()
        before = self._transactions.database.size
        removed = Removed() if older_than is None else self.remove_deleted(older_than=older_than)
        outputs = sum(
            self._write_of(session, garbage_collection.collect, session)
            for session, _ in self._unreferenced()
        )
        database = self._transactions.database
        if database.path is None:
            _vacuum_server(database)
        elif compact:
            rewrite(database)
        else:
            while self._write(_free_slice):
                pass
        after = self._transactions.database.size
        return Cleaning(
            sessions=removed.sessions,
            runs=removed.runs,
            outputs=outputs,
            bytes_before=before,
            bytes_after=after,
            freed=before - after,
            unused=unused(database),
        )

    def _unreferenced(self) -> Iterator[tuple[str, Collection[str]]]:
        sessions = self._read(garbage_collection.with_own_outputs)
        for start in range(0, len(sessions), _BATCH):
            some = sessions[start : start + _BATCH]
            yield from self._read(garbage_collection.unreferenced, some).items()

    def _check_at_rest(self) -> None:
        self._processes.mark_interrupted()
        going = self._read(runs.running)
        if going:
            raise StorageError(
                f"The session {going[0].session!r} is running, so the store cannot be cleaned up. Wait "
                "for the run or stop it, then clean up again."
            )


def _put(connection: Connection, key: str, value: str | None) -> None:
    """Make that the value of the key; None removes it."""
    connection.execute(META.delete().where(META.c.key == key))
    if value is not None:
        connection.execute(META.insert().values(key=key, value=value))


# -- unused space ----------------------------------------------------------------------------------


def unused(database: Database) -> int:
    """Unused bytes in the file; 0 on PostgreSQL, which does not report them. Raises `StorageError`."""
    if database.path is None:
        return 0
    with database.transaction(to="read") as connection:
        pages = connection.scalar(text("PRAGMA freelist_count")) or 0
        return int(pages * (connection.scalar(text("PRAGMA page_size")) or 0))


def _free_slice(connection: Connection) -> bool:
    """Cut unused pages off the file, as many as one transaction may; whether there are more.

    A file of an earlier version has them until it is rewritten.
    """
    if connection.scalar(text("PRAGMA auto_vacuum")) != _INCREMENTAL:
        return False
    for _ in slice_of(iter(lambda: connection.scalar(text("PRAGMA freelist_count")), 0)):
        # By the driver: it frees a page with each of its rows, which have no columns.
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()
    return bool(connection.scalar(text("PRAGMA freelist_count")))


def rewrite(database: Database) -> None:
    """Rewrite the SQLite file without its gaps; other writes wait until this ends.

    Raises `StorageError`, for example where the disk has no room for the copy; the store is then unchanged.
    """
    assert database.path is not None
    try:
        # Taking the writer's only connection makes the writer wait; no transaction may be open in it.
        with closing(database.writer.raw_connection()):
            # A separate connection, whose temporary copy is a file: the writer's are in memory.
            file = sqlite3.connect(database.path, timeout=_WAIT_SECONDS, isolation_level=None)
            with closing(file) as own:
                own.execute("PRAGMA auto_vacuum=INCREMENTAL")
                own.execute("VACUUM")
                own.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise database.explain(error) from error


def _vacuum_server(database: Database) -> None:
    """Have PostgreSQL use the room again; no writer waits for that. Raises `StorageError`."""
    try:
        with closing(database.unpooled()) as own, closing(own.cursor()) as cursor:
            cursor.execute("VACUUM")
    except (SQLAlchemyError, database.reader.dialect.loaded_dbapi.Error) as error:
        raise database.explain(error) from error
