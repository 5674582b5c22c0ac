"""A workbench from what is configured: which pool, which Conductor, which store.

The composition root of the app and the command line; nothing below knows where its parts come from.
"""

from __future__ import annotations

from pathlib import Path

from conductor.planner.conductor import Conductor
from conductor.planner.model import ModelConductor
from conductor.planner.offline import OfflineConductor
from conductor.workers.pool import Pool, configured_pool
from storage.ensemble import Ensemble
from storage.store import SessionStore, default_url
from storage.workbench import Workbench


def open_workbench(*, pool: Path | None = None, database: str | None = None) -> Workbench:
    """Raises `PoolError` or `StorageError`. Without a pool file or URL the configured ones are opened."""
    ensemble = ensemble_of(configured_pool(pool))
    return Workbench.following(SessionStore.open(database or default_url()), lambda: ensemble)


def ensemble_of(pool: Pool) -> Ensemble:
    """The pool with who plans for it."""
    nests = pool.conductor is not None and pool.conductor.as_worker
    return Ensemble(workers=pool, conductor=conductor_of(pool), nests=nests)


def conductor_of(pool: Pool) -> Conductor:
    """Who plans for a pool: the model that its file names, else the rules."""
    return OfflineConductor() if pool.conductor is None else ModelConductor(pool.conductor)
