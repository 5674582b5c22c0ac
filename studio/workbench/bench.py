"""The common base of the workbench: the store, the activities of its sessions, the pool, the Conductor.

Knows what a session is now; changes none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from conductor.errors import WorkflowError
from conductor.orchestration.runtime import Runtimes
from conductor.planner.conductor import Conductor
from conductor.runs.request import Asker, RunRequest
from conductor.runs.state import RunState
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from storage.records import Revision, RunRecord
from storage.store import SessionStore
from studio.sessions.activity import Activities
from studio.sessions.background_runs import Background
from studio.sessions.notes import author
from studio.sessions.runner import SessionRunner
from studio.telemetry.observer import Observer

FOLDED_RUNS = 64
"""Runs whose state is cached; a page reads the same ones many times."""


class Bench:
    """One store and the activities of its sessions.

    Has its own background loop. The pool and the Conductor that `runtimes` returns may change; work under way
    continues with the earlier ones. `observers` look on while sessions plan and run. `person` returns who
    uses it in the calling thread.
    """

    def __init__(
        self,
        store: SessionStore,
        runtimes: Runtimes,
        *,
        observers: Sequence[Observer] = (),
        person: Callable[[], str | None] = author,
    ) -> None:
        self.store = store
        self.background = Background(store.runs)
        self.activities = Activities(self.background)
        store.processes.watch_stops(self.background.cancel, planning=self.activities.stop)
        self._observers = observers
        self._person = person
        self._asker: Asker | None = None
        self.runner = SessionRunner(store, self.background, self.activities, runtimes, observers)
        self._folded: dict[str, RunState] = {}
        # Tabs and requests have a thread each.
        self._folding = Lock()

    @property
    def pool(self) -> Pool:
        """All who may be given a step now. Raises `PoolError` while the pool cannot be read."""
        return self.runner.runtime.pool

    @property
    def conductor(self) -> Conductor:
        """Who plans now. Raises `PoolError` while the pool cannot be read."""
        return self.runner.runtime.conductor

    @property
    def asker(self) -> Asker:
        """Who asks here: the person who uses it in this thread, unless the workbench is one asker's."""
        return self._asker or Asker(person=self._person())

    def close(self) -> None:
        """Stop what runs and close the store."""
        self.store.processes.watch_stops(None)
        self.background.close()
        self.store.close()

    def request(self, session: str, settings: Settings | None = None) -> RunRequest:
        """The session's query as a request, with `settings` instead of its own where they are given."""
        record = self.store.sessions.find(session)
        return RunRequest(
            record.query,
            settings=settings or record.settings or Settings(),
            conversation=record.earlier_conversation,
            by=self.asker,
        )

    def settings(self, session: str) -> Settings:
        return self.store.sessions.find(session).settings or Settings()

    def required_head(self, session: str) -> Revision:
        """The session's current workflow. Raises `WorkflowError` before there is one."""
        head = self.store.revisions.head(session)
        if head is None:
            raise WorkflowError("This session has no workflow yet; plan one first.")
        return head

    def state(self, run: RunRecord) -> RunState:
        """A run's state, live or from the store: the same fold.

        Of a run that another process runs, only what is new since the last time is read.
        """
        live = self.background.live(run.id)
        if live is not None:
            return live.state
        run_state = self._folded.get(run.id)
        # A run that waited at a gate may have been stopped since.
        stopped = run_state is not None and run_state.status == "paused" and run.status != "paused"
        if run_state is None or run_state.live or stopped:
            run_state = self.store.runs.state(run.id, before=run_state)
            with self._folding:
                self._folded.pop(run.id, None)
                while len(self._folded) >= FOLDED_RUNS:
                    del self._folded[next(iter(self._folded))]
                self._folded[run.id] = run_state
        return run_state

    def runs_here(self, run: RunRecord) -> bool:
        """Whether this process runs it; where another one does, `stop` sends the request to that one."""
        return self.background.live(run.id) is not None

    def unsaved(self, run: RunRecord) -> str | None:
        """Why some of a run's events could not be stored; None when all could."""
        live = self.background.live(run.id)
        if live is None or (live.kept_later and run.status == live.state.status):
            return None
        return live.unsaved
