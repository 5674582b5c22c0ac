"""The store of sessions: its parts, and nothing of how they are stored.

Any thread may use it. Writes go to the one writer thread and are durable when a method returns (or
its future resolves): they outlive the process; a power cut may take the last moments. Every method
raises `StorageError`, also for an unknown id and for a closed store, and no other error.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Self

from conductor.errors import StorageError
from conductor.files.project_folder import store_place
from conductor.own_settings import setting
from storage.database.database import Database, sqlite_file
from storage.migrations import bring_up_to_date
from storage.store.housekeeping import Housekeeping
from storage.store.parts import (
    Changes,
    Corrections,
    Evaluations,
    Experiments,
    Ledger,
    Notes,
    People,
    Plans,
    Requests,
    Revisions,
    Runs,
    SessionFiles,
    Sessions,
    TeamTests,
    Tokens,
)
from storage.store.processes import Processes
from storage.store.transactions import ReadOnly, Transactions
from storage.store.writer import Clock


def default_url() -> str:
    """`CONDUCTOR_DATABASE_URL`, else the SQLite file of `store_place`."""
    return setting("CONDUCTOR_DATABASE_URL") or f"sqlite:///{store_place().path}"


def data_folder(url: str) -> Path:
    """The folder of the SQLite file at `url`; for another store that of `store_place`.

    Raises `StorageError` where the URL is none.
    """
    file = sqlite_file(url)
    return store_place().path.parent if file is None else file.parent


class SessionStore:
    """Sessions with their plans, revisions, runs, events and outputs, one part for each kind of them. Made by
    `SessionStore.open`.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = shared = transactions
        self.processes = Processes(shared)
        self.sessions = Sessions(shared)
        self.plans = Plans(shared, self.processes)
        self.revisions = Revisions(shared)
        self.runs = Runs(shared, self.processes)
        self.experiments = Experiments(shared)
        self.evaluations = Evaluations(shared)
        self.corrections = Corrections(shared)
        self.notes = Notes(shared)
        self.changes = Changes(shared)
        self.tests = TeamTests(shared)
        self.files = SessionFiles(shared)
        self.requests = Requests(shared, self.processes)
        self.tokens = Tokens(shared)
        self.people = People(shared)
        self.ledger = Ledger(shared)
        self.housekeeping = Housekeeping(shared, self.processes)

    @classmethod
    def open(cls, url: str, *, clock: Clock = time.time) -> Self:
        """Open or create the store at `url` and end the runs whose process died.

        An older store is copied aside and brought up to date; a newer one is refused unchanged.
        """
        database = Database(url)
        store = cls(Transactions(database, clock=clock))
        try:
            database.create_folder()
            bring_up_to_date(database, now=clock())
            store.processes.mark_interrupted()
            store.processes.watch()
        except StorageError:
            store.close()
            raise
        return store

    def view_only(self) -> SessionStore:
        """The same store for reading only: every write raises `ViewOnly`."""
        return SessionStore(ReadOnly(self._transactions))

    def close(self) -> None:
        """Write what is queued and close every connection. May be called twice."""
        self.processes.close()
        self._transactions.close()
        # Last: what is still written belongs to a store that lives.
        self.processes.lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def waiting_writes(self) -> int:
        """Writes that the writer has not begun yet."""
        return self._transactions.writer.waiting

    def check_writable(self) -> None:
        """Write something and remove it. Raises `StorageError` where that fails, and while events of runs
        could not be written.
        """
        self._transactions.check_writable()
        self._transactions.retry_unwritten()
        self.housekeeping.check_room()
        if self._transactions.writer.unwritten:
            raise StorageError("Events of runs could not be written yet; look at the disk of the store.")

    @property
    def size(self) -> int:
        return self._transactions.database.size
