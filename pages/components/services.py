"""The app's composition root: one workbench for the process, opened when it is first needed.

Knows which store, pool and Conductor the app uses; no page builds any of them.
"""

from __future__ import annotations

import threading

from conductor.planner.offline import OfflineConductor
from conductor.workers.pool import configured_pool
from storage import SessionStore, default_url
from storage.workbench import Workbench

_lock = threading.Lock()
_opened: list[Workbench] = []


def workbench() -> Workbench:
    """The process's workbench.

    Raises `StorageError` or `PoolError` when it cannot be opened; the next call tries again.
    """
    with _lock:
        if not _opened:
            pool = configured_pool()
            store = SessionStore.open(default_url())
            _opened.append(Workbench.over(store, pool=pool, conductor=OfflineConductor()))
        return _opened[0]


def close() -> None:
    """Stop runs and close the store, where they were opened."""
    with _lock:
        while _opened:
            _opened.pop().close()
