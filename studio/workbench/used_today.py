"""Sums up what all sessions have used today, as every page shows it.

On a busy server the sum takes time, so it is not made at every look. Knows the store.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from threading import Lock

from conductor.values.total import Total
from storage import SessionStore, leave_out, left_out_rows

REUSE_FACTOR = 50.0
"""For so many times as long as reading a sum took, it is shown again: reading takes 2% of a core at most."""


class UsedToday:
    """Tokens and dollars since midnight of this machine's time zone, planning included."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._day: float | None = None
        self._until = self._read_at = 0.0
        self._total = self._unpaid = Total()
        self._left_out: Sequence[str] = ()
        self._reading = Lock()

    def total(self, *, after: float = 0.0) -> Total:
        """The sum of what is paid for as of now, or of a moment ago where reading it takes long; never one
        from before `after`, in Unix seconds, such as the end of a run.
        """
        return self._read(after)[0]

    def unpaid(self, *, after: float = 0.0) -> Total:
        """The sum of what models on this machine took, as `total`."""
        return self._read(after)[1]

    def _read(self, after: float) -> tuple[Total, Total]:
        now = datetime.now().astimezone()
        day = now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        with self._reading:
            began = time.monotonic()
            if day != self._day or began >= self._until or self._read_at <= after:
                self._read_at = now.timestamp()
                with left_out_rows() as sentences:
                    read = self._store.sessions.used_since
                    self._total, self._unpaid, self._day = read(day), read(day, "embedded"), day
                self._left_out = tuple(sentences)
                ended = time.monotonic()
                self._until = ended + REUSE_FACTOR * (ended - began)
            leave_out(*self._left_out)
            return self._total, self._unpaid
