"""A workbench from what is configured: which pool, which Conductor, which store.

The composition root of the app and the command line; nothing below knows where its parts come from.
"""

from __future__ import annotations

from pathlib import Path

from conductor.runtime import runtime_of
from conductor.workers.pool.pool import configured_pool
from storage.store import SessionStore, default_url
from studio.workbench import Workbench


def open_workbench(*, pool: Path | None = None, database: str | None = None) -> Workbench:
    """Raises `PoolError` or `StorageError`. Without a pool file or URL the configured ones are opened."""
    runtime = runtime_of(configured_pool(pool))
    return Workbench(SessionStore.open(database or default_url()), lambda: runtime)
