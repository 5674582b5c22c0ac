"""The requests that the endpoint received, and how each of them ended.

Written by the server's thread, read by any. Holds that an Authorization header was sent, never its value.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from typing import Any, Literal

Outcome = Literal["answered", "disconnected", "reset", "hung-up"]


@dataclass(slots=True)
class Entry:
    """One request. `body` is None if none was sent; `pieces` counts the chunks of the response's body.

    `outcome` is None while the answer is under way: "answered" once it was sent to its end, whatever its
    status; "disconnected" when the client left before; "reset" and "hung-up" when a fault ended the
    connection. `ended_at` is the time of that, in seconds of the machine's monotonic clock.
    """

    path: str
    authorization_sent: bool
    body: dict[str, Any] | None = None
    pieces: int = 0
    outcome: Outcome | None = None
    ended_at: float | None = None


class Log:
    """All requests, oldest first."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._changed = Condition()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All requests since the last `clear`."""
        with self._changed:
            return tuple(self._entries)

    def add(self, entry: Entry) -> None:
        """Appends a request that was just received."""
        with self._changed:
            self._entries.append(entry)
            self._changed.notify_all()

    def sent(self, entry: Entry) -> None:
        """Counts a chunk of the response's body."""
        with self._changed:
            entry.pieces += 1
            self._changed.notify_all()

    def ended(self, entry: Entry, outcome: Outcome) -> None:
        """Records the end of a request."""
        with self._changed:
            entry.outcome, entry.ended_at = outcome, time.monotonic()
            self._changed.notify_all()

    def clear(self) -> None:
        """Removes all entries."""
        with self._changed:
            self._entries.clear()

    def wait_for(self, holds: Callable[[tuple[Entry, ...]], bool], *, seconds: float) -> bool:
        """Blocks until `holds` is true of the entries; False when it is not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: holds(tuple(self._entries)), seconds)
