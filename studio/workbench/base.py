"""What all parts of the workbench share: one store, and the activities of its sessions."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Self

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
from studio.sessions.experimenting import Experimenting
from studio.sessions.runner import SessionRunner

FOLDED_RUNS = 64
"""Runs whose state is cached; a page reads the same ones many times."""

LOOKED_BACK = 20
"""Runs in which a step's last output, or a run to compare with, is looked for."""


@dataclass(frozen=True)
class Bench:
    """One store, the activities of its sessions, and who plans and answers there."""

    store: SessionStore
    background: Background
    activities: Activities
    runner: SessionRunner
    experimenting: Experimenting = field(init=False)
    _folded: dict[str, RunState] = field(default_factory=dict, repr=False)
    _folding: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        experimenting = Experimenting(self.store, self.background, state=self.state)
        object.__setattr__(self, "experimenting", experimenting)

    @classmethod
    def over(cls, store: SessionStore, *, pool: Pool, conductor: Conductor, nests: bool = False) -> Self:
        """A workbench with its own background loop; `nests`: the Conductor is one of the workers."""
        runtime = Runtime(workers=pool, conductor=conductor, nests=nests)
        return cls.following(store, lambda: runtime)

    @classmethod
    def following(cls, store: SessionStore, runtimes: Runtimes) -> Self:
        """A workbench whose pool and Conductor may change; work under way continues with the earlier ones."""
        background = Background(store.runs)
        store.processes.watch_stops(background.cancel)
        activities = Activities(background)
        runner = SessionRunner(store, background, activities, runtimes=runtimes)
        return cls(store=store, background=background, activities=activities, runner=runner)

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
        """The session's settings for its Conductor."""
        return self.store.sessions.find(session).settings or Settings()

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
            self._remember(run.id, known)
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

    def _remember(self, run: str, state: RunState) -> None:
        # Tabs and requests have a thread each.
        with self._folding:
            self._folded.pop(run, None)
            while len(self._folded) >= FOLDED_RUNS:
                del self._folded[next(iter(self._folded))]
            self._folded[run] = state

    def required_head(self, session: str) -> Revision:
        """The session's current workflow. Raises `WorkflowError` before there is one."""
        head = self.store.revisions.head(session)
        if head is None:
            raise WorkflowError("This session has no workflow yet; plan one first.")
        return head
