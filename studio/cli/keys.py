"""Confirming that a key may be sent to a host where it was never sent, before anything is sent.

Knows a pool's endpoints. Without a terminal the workers stay unusable, and their messages name what to do.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conductor.workers.health.targets import targets, unconfirmed
from conductor.workers.keys.hosts import confirm
from conductor.workers.pool.pool import configured_pool
from studio.cli.terminal import agreed, print_remark


def ask_about_keys(path: Path | None) -> None:
    """Ask about each key of the pool that is not confirmed for its host. Raises `PoolError`.

    Does nothing unless stdin and stderr are terminals.
    """
    # A stream that was closed before the program started is None.
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return
    for pair in unconfirmed(targets(configured_pool(path))):
        if agreed(f"Send {pair.variable} to {pair.origin}?"):
            confirm(pair)


def confirm_keys(path: Path | None) -> None:
    """Confirm every key of the pool for its host, and print each. Raises `PoolError`."""
    for pair in unconfirmed(targets(configured_pool(path))):
        confirm(pair)
        print_remark(f"{pair.variable} may be sent to {pair.origin} from now on.")
