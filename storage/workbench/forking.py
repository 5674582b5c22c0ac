"""Going on from a revision in a session of its own."""

from __future__ import annotations

from storage.records import Session
from storage.workbench.bench import Bench


class Forking(Bench):
    """Going on from a revision in a session of its own."""

    def fork(self, session: str, revision: str) -> Session:
        """A new session with the query and settings of `session`, and its `revision` as the workflow.

        It knows all outputs that the session knows so far, so that a run of it reuses them, and keeps the
        rounds before. Raises `StorageError` for an unknown revision or one of another session.
        """
        return self.store.fork_session(session, revision)
