"""What a person does with a session: ask, plan, edit, run, stop, try variants. The app, the commands and the
API all stand on this.

Knows the store and the core; knows no page and prints nothing. Every change is durable before a method
returns; a run's events are written behind it.
"""

from __future__ import annotations

from threading import Lock

from conductor.errors import WorkflowError
from conductor.planner.planner import check_query
from conductor.planner.protocol import Conductor
from conductor.runs.request import RunRequest
from conductor.runs.state import RunState
from conductor.runtime import Runtime, Runtimes
from conductor.values.conversation import Conversation
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from storage.records import Revision, RunRecord, Session, SessionOrigin
from storage.store import SessionStore
from studio.sessions.activity import Activities
from studio.sessions.background_runs import Background
from studio.sessions.runner import SessionRunner
from studio.workbench.editing import Editing
from studio.workbench.experiments import Experiments
from studio.workbench.planning import Planning
from studio.workbench.running import Running

FOLDED_RUNS = 64
"""Runs whose state is cached; a page reads the same ones many times."""


class Workbench:
    """One store, the activities of its sessions, and what a person does there.

    Has its own background loop. The pool and the Conductor that `runtimes` returns may change; work under way
    continues with the earlier ones.
    """

    def __init__(self, store: SessionStore, runtimes: Runtimes) -> None:
        self.store = store
        self.background = Background(store.runs)
        store.processes.watch_stops(self.background.cancel)
        self.activities = Activities(self.background)
        self.runner = SessionRunner(store, self.background, self.activities, runtimes=runtimes)
        self.planning = Planning(self)
        self.editing = Editing(self)
        self.running = Running(self)
        self.experiments = Experiments(self)
        self._folded: dict[str, RunState] = {}
        # Tabs and requests have a thread each.
        self._folding = Lock()

    @classmethod
    def over(cls, store: SessionStore, *, pool: Pool, conductor: Conductor, nests: bool = False) -> Workbench:
        """A workbench with this pool and Conductor; `nests`: the Conductor is one of the workers."""
        runtime = Runtime(workers=pool, conductor=conductor, nests=nests)
        return cls(store, lambda: runtime)

    @property
    def pool(self) -> Pool:
        """All who may be given a step now. Raises `PoolError` while the pool cannot be read."""
        return self.runner.runtime.pool

    @property
    def conductor(self) -> Conductor:
        """Who plans now. Raises `PoolError` while the pool cannot be read."""
        return self.runner.runtime.conductor

    def close(self) -> None:
        """Stop what runs and close the store."""
        self.store.processes.watch_stops(None)
        self.background.close()
        self.store.close()

    def ask(
        self,
        query: str,
        *,
        settings: Settings | None = None,
        origin: SessionOrigin = "app",
        conversation: Conversation | None = None,
    ) -> Session:
        """A new session for a query and the messages before it. Raises `QueryError` when the query is empty
        or too long.
        """
        return self.store.sessions.create(
            check_query(query),
            pool_label=self.pool.label,
            origin=origin,
            conversation=conversation,
            settings=settings,
        )

    def request(self, session: str, settings: Settings | None = None) -> RunRequest:
        """The session's query as a request, with `settings` instead of its own where they are given."""
        asked = self.store.sessions.find(session)
        return RunRequest(
            asked.query, settings=settings or asked.settings or Settings(), conversation=asked.said_before
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
        known = self._folded.get(run.id)
        if known is None or known.live:
            known = self.store.runs.state(run.id, known=known)
            with self._folding:
                self._folded.pop(run.id, None)
                while len(self._folded) >= FOLDED_RUNS:
                    del self._folded[next(iter(self._folded))]
                self._folded[run.id] = known
        return known

    def runs_here(self, run: RunRecord) -> bool:
        """Whether this process runs it; where another one does, `stop` sends the request to that one."""
        return self.background.live(run.id) is not None

    def unsaved(self, run: RunRecord) -> str | None:
        """Why some of a run's events could not be stored; None when all could."""
        live = self.background.live(run.id)
        if live is None or (live.kept_later and run.status == live.state.status):
            return None
        return live.unsaved
