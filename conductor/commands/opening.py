"""Opening and closing a workbench for one command.

The command line's composition root: the only place that says which store, pool and Conductor it uses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from conductor.planner.offline import OfflineConductor
from conductor.workers.pool import configured_pool
from storage import SessionStore, default_url
from storage.workbench import Workbench


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[Workbench]:
    """A workbench from `--pool` and `--database`; closed afterwards, whatever happened."""
    pool = configured_pool(options.pool)
    store = SessionStore.open(options.database or default_url())
    workbench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    try:
        yield workbench
    finally:
        workbench.close()
