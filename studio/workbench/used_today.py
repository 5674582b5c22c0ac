"""What all sessions have used today, as every page shows it.

On a busy server the sum takes time, so it is not made at every look. Knows the store.
"""

from __future__ import annotations

import time
from datetime import datetime
from threading import Lock

from conductor.values.total import Total
from storage.store import SessionStore

KEPT = 50.0
"""For so many times as long as reading a sum took, it is shown again: reading takes 2% of a core at most."""


class UsedToday:
    """Tokens and dollars since midnight of this machine's time zone, planning included."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._day: float | None = None
        self._until = 0.0
        self._total = Total()
        self._reading = Lock()

    def total(self) -> Total:
        """The sum as of now, or of a moment ago where reading it takes long."""
        now = datetime.now().astimezone()
        day = now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        with self._reading:
            began = time.monotonic()
            if day != self._day or began >= self._until:
                self._total, self._day = self._store.sessions.used_since(day), day
                ended = time.monotonic()
                self._until = ended + KEPT * (ended - began)
            return self._total
