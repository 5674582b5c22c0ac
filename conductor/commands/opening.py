"""Opening and closing a workbench for one command.

Which store, pool and Conductor they are is decided by the options, else by what is configured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from storage.opening import open_workbench
from storage.workbench import Workbench


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[Workbench]:
    """A workbench from `--pool` and `--database`; closed afterwards, whatever happened."""
    workbench = open_workbench(pool=options.pool, database=options.database)
    try:
        yield workbench
    finally:
        workbench.close()
