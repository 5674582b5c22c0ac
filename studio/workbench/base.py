"""What all parts of the workbench share: one store, and what goes on in its sessions."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Self

from conductor.background import Background
from conductor.conversation import Conversation
from conductor.errors import WorkflowError
from conductor.modes import Settings
from conductor.planner.conductor import Conductor
from conductor.planner.planner import check_query
from conductor.run_state import RunState
from conductor.workers.pool import Pool
from storage.conducting import Conducting
from storage.ensemble import Ensemble, Ensembles
from storage.experimenting import Experimenting
from storage.records import Revision, RunRecord, Session, SessionOrigin
from storage.store import SessionStore

FOLDED_RUNS = 64
"""Runs whose state is kept in memory; a page asks for the same ones again and again."""

LOOKED_BACK = 20
"""Runs in which a step's last output, or a run to compare with, is looked for."""


@dataclass(frozen=True)
class Bench:
    """One store, what goes on in its sessions, and who plans and answers there."""

    store: SessionStore
    background: Background
    conducting: Conducting
    experimenting: Experimenting = field(init=False)
    _folded: dict[str, RunState] = field(default_factory=dict, repr=False)
    _folding: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        experimenting = Experimenting(self.store, self.background, state=self.state)
        object.__setattr__(self, "experimenting", experimenting)

    @classmethod
    def over(cls, store: SessionStore, *, pool: Pool, conductor: Conductor, nests: bool = False) -> Self:
        """A workbench with its own background loop; `nests`: the Conductor is one of the workers."""
        ensemble = Ensemble(workers=pool, conductor=conductor, nests=nests)
        return cls.following(store, lambda: ensemble)

    @classmethod
    def following(cls, store: SessionStore, ensembles: Ensembles) -> Self:
        """A workbench whose pool and Conductor may change; what has begun keeps those it began with."""
        background = Background(store)
        store.hear_stops(background.cancel)
        conducting = Conducting(store, background, ensembles=ensembles)
        return cls(store=store, background=background, conducting=conducting)

    @property
    def pool(self) -> Pool:
        """All who may be given a step now. Raises `PoolError` while the pool cannot be read."""
        return self.conducting.ensemble.pool

    @property
    def conductor(self) -> Conductor:
        """Who plans now. Raises `PoolError` while the pool cannot be read."""
        return self.conducting.ensemble.conductor

    def close(self) -> None:
        """Stop what runs and close the store."""
        self.store.hear_stops(None)
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
        """A new session for a query, and for what was said before it. Raises `QueryError` when the query is
        empty or too long.
        """
        return self.store.create_session(
            check_query(query),
            pool_label=self.pool.label,
            origin=origin,
            conversation=conversation,
            settings=settings,
        )

    def settings(self, session: str) -> Settings:
        """What the session asks of its Conductor."""
        return self.store.session(session).settings or Settings()

    def state(self, run: RunRecord) -> RunState:
        """A run's state, live or from the store: the same fold.

        Of a run that another process runs, only what is new since the last time is read.
        """
        live = self.background.live(run.id)
        if live is not None:
            return live.state
        known = self._folded.get(run.id)
        if known is None or known.live:
            known = self.store.run_state(run.id, known=known)
            self._remember(run.id, known)
        return known

    def runs_here(self, run: RunRecord) -> bool:
        """Whether this process runs it; where another one does, `stop` asks that one."""
        return self.background.live(run.id) is not None

    def unsaved(self, run: RunRecord) -> str | None:
        """Why not everything of a run could be kept; None when it could."""
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
        head = self.store.head(session)
        if head is None:
            raise WorkflowError("This session has no workflow yet; plan one first.")
        return head
