"""What all parts of the workbench share: one store, and what goes on in its sessions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from conductor.background import Background
from conductor.errors import WorkflowError
from conductor.modes import Settings
from conductor.planner.conductor import Conductor
from conductor.planner.planner import check_query
from conductor.run_state import RunState
from conductor.workers.pool import Pool
from storage.conducting import Conducting
from storage.ensemble import Ensemble, Ensembles
from storage.experimenting import Experimenting
from storage.records import Revision, RunRecord, Session
from storage.store import SessionStore

FOLDED_RUNS = 64
"""Ended runs whose state is kept in memory; a page asks for the same ones again and again."""

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
        self.background.close()
        self.store.close()

    def ask(self, query: str, *, settings: Settings | None = None) -> Session:
        """A new session for a query. Raises `QueryError` when it is empty or too long."""
        session = self.store.create_session(check_query(query), pool_label=self.pool.label)
        return session if settings is None else self.store.set_settings(session.id, settings)

    def settings(self, session: str) -> Settings:
        """What the session asks of its Conductor."""
        return self.store.session(session).settings or Settings()

    def state(self, run: RunRecord) -> RunState:
        """A run's state, live or from the store: the same fold."""
        live = self.background.live(run.id)
        if live is not None:
            return live.state
        known = self._folded.get(run.id)
        if known is None:
            known = self.store.run_state(run.id)
            if not known.live:
                self._remember(run.id, known)
        return known

    def runs_here(self, run: RunRecord) -> bool:
        """Whether this process runs it, and so can stop it."""
        return self.background.live(run.id) is not None

    def unsaved(self, run: RunRecord) -> str | None:
        """Why not everything of a run could be kept; None when it could."""
        live = self.background.live(run.id)
        return live.unsaved if live is not None else None

    def _remember(self, run: str, state: RunState) -> None:
        while len(self._folded) >= FOLDED_RUNS:
            self._folded.pop(next(iter(self._folded)), None)
        self._folded[run] = state

    def required_head(self, session: str) -> Revision:
        """The session's current workflow. Raises `WorkflowError` before there is one."""
        head = self.store.head(session)
        if head is None:
            raise WorkflowError("This session has no workflow yet; plan one first.")
        return head
