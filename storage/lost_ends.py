"""The ends of runs that met trouble with the store (locked, full), until they could be kept.

The run's process lives, so nobody else may end its run: each next write that passes by tries again.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from conductor.events import Event, RunFinished
from storage import runs


class LostEnds:
    """Changed by the writer thread alone, in whose transactions they are kept; true while it holds any."""

    def __init__(self) -> None:
        self._ends: dict[str, RunFinished] = {}

    def __bool__(self) -> bool:
        return bool(self._ends)

    def remember(self, events: Sequence[Event]) -> None:
        """Those of `events`, which were not kept, that end a run."""
        self._ends |= {event.run: event for event in events if isinstance(event, RunFinished)}

    def keep(self, connection: Connection, *, now: float) -> None:
        """Try again. Those of an earlier try that was committed are forgotten here: only now is it known."""
        if not self._ends:
            return
        running = {run.id for run in runs.running(connection)}
        self._ends = {run: end for run, end in self._ends.items() if run in running}
        if self._ends:
            runs.keep_events(connection, list(self._ends.values()), now=now)
