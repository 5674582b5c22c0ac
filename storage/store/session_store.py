"""The store of sessions: what the application asks, and nothing of how it is kept.

Any thread may use it. Writes go to the one writer thread and are durable when a method returns (or
its future resolves): they outlive the process; a power cut may take the last moments. Every method
raises `StorageError`, also for an unknown id and for a closed store, and no other error.
"""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Self

from conductor.errors import StorageError
from storage.database import Database
from storage.migrations import bring_up_to_date
from storage.store.corrections import Corrections
from storage.store.experiments import Experiments
from storage.store.housekeeping import Housekeeping
from storage.store.plans import Plans
from storage.store.requests import Requests
from storage.store.revisions import Revisions
from storage.store.runs import Runs
from storage.store.session_files import SessionFiles
from storage.store.sessions import Sessions
from storage.store.tokens import Tokens
from storage.store.transactions import Clock


def default_url() -> str:
    """`CONDUCTOR_DATABASE_URL`, else a SQLite file under `data/` of the current folder."""
    return os.environ.get("CONDUCTOR_DATABASE_URL") or "sqlite:///data/conductor.db"


class SessionStore(
    Sessions, Plans, Revisions, Runs, Experiments, Corrections, Housekeeping, SessionFiles, Tokens, Requests
):
    """Sessions with their plans, revisions, runs, events and outputs. Made by `SessionStore.open`."""

    @classmethod
    def open(cls, url: str, *, clock: Clock = time.time) -> Self:
        """Open or create the store at `url` and end the runs whose process died.

        An older store is copied aside and brought up to date; a newer one is refused unchanged.
        """
        database = Database(url)
        store = cls(database, clock=clock)
        try:
            database.create_folder()
            bring_up_to_date(database, now=clock())
            store.mark_interrupted()
            store._heart.start()
        except StorageError:
            store.close()
            raise
        return store

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
    def size(self) -> int:
        """Bytes the store takes."""
        return self._database.size
