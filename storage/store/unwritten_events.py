"""Events of runs that a failing store (locked, full) did not take, until they can be written.

The run's process lives, so no other process writes its events: the missing ones are written before the run's
next event, and other writes retry them too, so that a run gets its end once the store works again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from conductor.runs.events import Event
from storage.tables import events as journal
from storage.tables import runs


class UnwrittenEvents:
    """Used only by the writer thread, in whose transactions they are stored; true while it holds any."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[int, Event]] = {}
        self._tried: set[tuple[str, int]] = set()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def remember(self, events: Iterable[Event]) -> None:
        """Add events that could not be written, because the store failed."""
        for event in events:
            self._waiting.setdefault(event.run, {})[event.seq] = event

    def committed(self) -> None:
        """Forget what was tried since the last transaction."""
        for run, seq in self._tried:
            self._waiting[run].pop(seq)
            if not self._waiting[run]:
                del self._waiting[run]
        self._tried.clear()

    def rolled_back(self) -> None:
        """What was tried is still to be stored."""
        self._tried.clear()

    def with_earlier(self, connection: Connection, events: Sequence[Event]) -> Sequence[Event]:
        """The events, preceded by the missing ones of their runs."""
        affected = {event.run for event in events} & self._waiting.keys() if self._waiting else ()
        if not affected:
            return events
        new = {(event.run, event.seq) for event in events}
        return [*(e for e in self._missing(connection, affected) if (e.run, e.seq) not in new), *events]

    def keep(self, connection: Connection, *, now: float) -> None:
        """Try again to store all of them; drop those of runs that are over."""
        if not self._waiting:
            return
        running = {run.id for run in runs.running(connection)}
        for run in self._waiting.keys() - running:
            self._tried |= {(run, seq) for seq in self._waiting[run]}
        missing = self._missing(connection, self._waiting.keys() & running)
        if missing:
            journal.keep(connection, missing, now=now)

    def _missing(self, connection: Connection, of_runs: Iterable[str]) -> list[Event]:
        """The events of these runs that the store does not have, in order; they count as tried."""
        missing: list[Event] = []
        for run in of_runs:
            waiting = self._waiting[run]
            # A transaction that was thought to have failed may have been committed.
            stored_seqs = runs.event_numbers(connection, run, seq=min(waiting))
            missing += (waiting[seq] for seq in sorted(waiting.keys() - stored_seqs))
            self._tried |= {(run, seq) for seq in waiting}
        return missing
