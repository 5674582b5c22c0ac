"""Processes that share a store: each ends the runs of dead ones, and stops its runs at others' request."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock, Thread

from sqlalchemy import Connection, select

from conductor.errors import StorageError
from storage.database.owner_lock import owner_lock
from storage.database.schema import RUNNING, RUNS
from storage.store.transactions import Part, Transactions, dated, write
from storage.tables import garbage_collection, plans, runs

LOOK_SECONDS = 0.5
"""How often an open store checks the other processes and their requests to stop."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What an open store reads: the ids of all runs without an end, those of its own runs that must stop, the
    sessions of its own plannings that must, the owners of all other runs and plannings, and the sessions that
    were not to be stored and whose time is over.
    """

    running: frozenset[str]
    to_stop: frozenset[str]
    not_to_plan: frozenset[str]
    others: frozenset[str]
    expired: tuple[str, ...]


def _look(connection: Connection, now: float, owner: str) -> _Seen:
    """What the store of that owner reads."""
    running = connection.execute(select(RUNS.c.id, RUNS.c.owner, RUNS.c.stop_asked_at).where(RUNNING)).all()
    plannings = plans.underway(connection).values()
    owners = {run.owner for run in running} | {planning.owner for planning in plannings}
    return _Seen(
        running=frozenset(run.id for run in running),
        to_stop=frozenset(run.id for run in running if run.owner == owner and run.stop_asked_at is not None),
        not_to_plan=frozenset(one.session for one in plannings if one.owner == owner and one.stop_asked),
        others=frozenset(owners - {owner}),
        expired=garbage_collection.expired(connection, now),
    )


def _interrupt_all(connection: Connection, now: float, owner: str) -> tuple[str, ...]:
    """End the runs and plannings of an owner whose process died; the runs' ids."""
    for planning, entry in plans.underway(connection).items():
        if entry.owner == owner:
            plans.interrupt(connection, planning, entry, now=now)
    ended = tuple(run.id for run in runs.running(connection) if run.owner == owner)
    for run in ended:
        runs.interrupt(connection, now, run)
    return ended


class Processes(Part):
    """Every open store holds a lock while it runs or plans, and checks the others' locks in a thread."""

    def __init__(self, transactions: Transactions) -> None:
        super().__init__(transactions)
        self.lock = owner_lock(transactions.database)
        self.started: set[str] = set()
        self.sessions: dict[str, str] = {}
        """The session of each run that was begun here and may still be under way, by the run's id."""

        self._holds = False
        self._judging = Lock()
        self._free_since: dict[str, float] = {}
        self._stop: Callable[[str], None] | None = None
        self._stop_planning: Callable[[str], None] | None = None
        self._ended_elsewhere: Callable[[frozenset[str]], None] | None = None
        self._elsewhere: frozenset[str] = frozenset()
        self._closing = Event()
        self._watch = Thread(target=self._look_on, name="store-watch", daemon=True)

    def watch(self) -> None:
        """Start the thread that checks the others; call once."""
        self._watch.start()

    def watch_stops(
        self, stop: Callable[[str], None] | None, *, planning: Callable[[str], None] | None = None
    ) -> None:
        """Set the function that is called with the id of a run of this store which another process asked to
        stop, or which is over in any way; and the one that is called with a session in which this store plans
        and is asked not to. The store's thread calls them, perhaps repeatedly; they must be quick.
        """
        self._stop, self._stop_planning = stop, planning

    def watch_ends(self, ended: Callable[[frozenset[str]], None] | None) -> None:
        """Set the function that is called with runs of other processes that are over, in any way. The store's
        thread calls it; it must be quick.
        """
        self._ended_elsewhere = ended

    ask_to_stop = dated(runs.ask_to_stop)
    ask_to_stop_planning = write(plans.ask_to_stop)

    @property
    def owner(self) -> str:
        """This store's `owner` text; others see by it that this process lives. Raises `StorageError`."""
        if not self._holds:
            self.hold()
        return self.lock.owner

    def lives(self, owner: str) -> bool:
        """Whether the process with that `owner` text lives. On PostgreSQL a living one may be taken for dead
        for half a second, while it makes a connection again that was cut.
        """
        return owner == self.lock.owner or not self._read(self.lock.free, {owner})

    def retry_unwritten(self) -> None:
        """Write, in the background, events of this process that could not be written before."""
        self._transactions.retry_unwritten()

    def mark_interrupted(self, *, wait: bool = True) -> tuple[str, ...]:
        """End, as interrupted, the runs and plannings of others whose process died; the runs' ids.

        Costs two small queries where nothing is open. On PostgreSQL a death is certain after two seconds;
        without `wait` a later call ends them; every open store makes two calls a second. Ends that could not
        be written before are written in the background.
        """
        self._transactions.retry_unwritten()
        if not self._judging.acquire(blocking=wait):
            return ()
        try:
            died = self._died()
            while wait and self._free_since.keys() - died:
                time.sleep(self.lock.confirm_seconds / 10)
                died = self._died()
            return tuple(run for owner in died for run in self._interrupt(owner))
        finally:
            self._judging.release()

    def hold(self) -> str:
        """This store's `owner` text for a run or planning; its lock is held from now on.

        Call it before the row is written: a run whose owner's lock is free counts as a dead process's. Raises
        `StorageError`.
        """
        self._transactions.check_writable()
        self.lock.hold()
        self._holds = True
        return self.lock.owner

    def close(self) -> None:
        """End the thread, before the store's transactions are closed. May be called twice."""
        self._closing.set()
        if self._watch.is_alive():
            self._watch.join()

    def _died(self) -> frozenset[str]:
        """The owners of runs and plannings whose lock was free at every look, for long enough."""
        others = self._read(_look, self._clock(), self.lock.owner).others
        free = self._read(self.lock.free, others) if others else frozenset()
        now = time.monotonic()
        self._free_since = since = {owner: self._free_since.get(owner, now) for owner in free}
        return frozenset(owner for owner in free if now - since[owner] >= self.lock.confirm_seconds)

    def _interrupt(self, owner: str) -> tuple[str, ...]:
        def interrupt(connection: Connection) -> tuple[str, ...]:
            # Checked again, because its connection may have been cut and made again meanwhile.
            if not self.lock.free(connection, {owner}):
                return ()
            return _interrupt_all(connection, self._clock(), owner)

        return self._write(interrupt)

    def _look_on(self) -> None:
        while not self._closing.wait(LOOK_SECONDS):
            try:
                self._tick()
            except StorageError:
                # The next use of the store raises the error; the next check tries again.
                continue
            except Exception:  # noqa: BLE001 - a store that looks no more neither stops its runs nor ends others'
                _log.exception("a look at the other processes of the store broke")

    def _tick(self) -> None:
        """Take the lock again where it was lost, stop what is to stop, end what dead processes left, and
        remove what was not to be stored.
        """
        # Copied first: a run that starts meanwhile must not count as ended.
        started = frozenset(self.started)
        # Before the lock, which would make the folder again from which a store was moved.
        now = self._clock()
        seen = self._read(_look, now, self.lock.owner)
        if self._holds:
            self.lock.hold()
        elsewhere, self._elsewhere = self._elsewhere, seen.running - started
        if self._ended_elsewhere is not None and (ended := elsewhere - seen.running):
            self._ended_elsewhere(ended)
        over = started - seen.running
        self.started -= over
        for run in over:
            self.sessions.pop(run, None)
        stop = self._stop
        if stop is not None:
            for run in over | seen.to_stop:
                stop(run)
        if self._stop_planning is not None:
            for session in seen.not_to_plan:
                self._stop_planning(session)
        if seen.others:
            self.mark_interrupted(wait=False)
        if seen.expired:
            self._write(garbage_collection.remove_expired, now)
