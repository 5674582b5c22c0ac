"""The app's composition root: one workbench for the process, opened when it is first needed.

Which store, pool and Conductor it has is decided by what is configured; no page builds any of them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from conductor.workers.checkup import Checkup
from storage import SessionStore, default_url
from storage.configured import ConfiguredEnsemble
from storage.retention import apply_daily
from storage.workbench import Workbench

TIDYING_SECONDS = 2.0
"""How long the store stays open for what removes long deleted sessions; the rest of them goes another day."""


@dataclass(frozen=True)
class Services:
    """What the pages of all tabs share. The pool file may change: `configured` tells what it says now."""

    workbench: Workbench
    configured: ConfiguredEnsemble
    checkup: Checkup
    tidying: threading.Thread


_lock = threading.Lock()
_opened: list[Services] = []


def services() -> Services:
    """The process's services. Raises `StorageError` while the store cannot be opened.

    A pool that cannot be read is an error only where somebody needs one.
    """
    with _lock:
        if not _opened:
            configured = ConfiguredEnsemble()
            bench = Workbench.following(SessionStore.open(default_url()), configured)
            tidying = threading.Thread(target=apply_daily, args=(bench.store,), name="retention", daemon=True)
            tidying.start()
            _opened.append(Services(bench, configured, Checkup(bench.background.spawn), tidying))
        return _opened[0]


def workbench() -> Workbench:
    """The process's workbench. Raises as `services`."""
    return services().workbench


def close() -> None:
    """Stop runs and close the store, where they were opened."""
    with _lock:
        while _opened:
            last = _opened.pop()
            last.tidying.join(timeout=TIDYING_SECONDS)
            last.workbench.close()
