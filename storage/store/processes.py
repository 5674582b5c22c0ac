"""What the application asks about processes that share a store: whose death ends runs, who stops what."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Connection

from storage import interruption, ownership, processes
from storage.database import Database
from storage.heart import BEAT_SECONDS, Heart
from storage.owner import this_process
from storage.store.transactions import Clock, Transactions

HASTE_SECONDS = 1.0
"""Who had to wait longer for the store does not judge: the others may have had to wait as well."""


class Processes(Transactions):
    """Every open store watches the others' processes, and beats for its own while that has runs."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        super().__init__(database, clock=clock)
        self._started: set[str] = set()
        self._beaten_at: float | None = None
        self._stop: Callable[[str], None] | None = None
        self._heart = Heart(self._tick)

    def hear_stops(self, stop: Callable[[str], None] | None) -> None:
        """`stop` is called, in a thread of the store's and perhaps more than once, with the id of a run of
        this process that another one asked to stop, or that is over, however it ended; it must be quick.
        """
        self._stop = stop

    def ask_to_stop(self, run: str) -> None:
        """Ask the process that runs it to stop, which it does within a second; nothing happens to a run that
        is over.
        """
        self._write(ownership.ask_to_stop, run, now=self._clock())

    def mark_interrupted(self) -> tuple[str, ...]:
        """End, as interrupted, the runs of others whose process died; their ids.

        A process that died here is known at once, any other within ten seconds. Costs one indexed query where
        no run is open. Ends that met trouble before are written behind it.
        """
        self._retry_lost()
        trust = self._trust()
        gone = self._read(interruption.abandoned, trust=trust)
        now = self._clock() if gone else 0.0
        return tuple(
            run.id
            for run in gone
            if self._write(interruption.interrupt_abandoned, run.id, trust=trust, now=now)
        )

    def close(self) -> None:
        """Stop watching, write what is queued and close every connection. May be called twice."""
        self._heart.stop()
        if self._beaten_at is not None and not self._closed:
            # Nobody waits for it: should it fail, the row is forgotten in time.
            self._writer.submit(lambda connection: processes.leave(connection, this_process()))
        super().close()

    def _trust(self) -> interruption.Trust:
        """From now on, and for a moment, silence may be taken for an end."""
        asked = time.monotonic()

        def trust(connection: Connection) -> bool:
            in_time = time.monotonic() - asked < HASTE_SECONDS
            return in_time and self._heart.even(processes.clock(connection))

        return trust

    def _tick(self) -> float:
        """Beat, hear who is to stop, and look after the others."""
        # Taken first: a run that is started meanwhile is none that ended.
        started = frozenset(self._started)
        seen = self._read(ownership.look, owner=this_process())
        if seen.own and self._is_time_to_beat(seen.now):
            self._write(processes.beat, this_process())
            self._beaten_at = seen.now
        over = started - seen.running
        self._started -= over
        stop = self._stop
        if stop is not None:
            for run in over | seen.asked:
                stop(run)
        if len(seen.running) > len(seen.own):
            self.mark_interrupted()
        return seen.now

    def _is_time_to_beat(self, now: float) -> bool:
        """Whether the last beat was too long ago, or was made before the clock was set back."""
        return self._beaten_at is None or not 0 <= now - self._beaten_at < BEAT_SECONDS
