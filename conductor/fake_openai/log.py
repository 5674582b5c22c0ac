"""What the server was sent and what became of it, for tests that prove things.

Written by the server's thread, read by any. Keeps that an Authorization header was sent, never what it
said; knows nothing of HTTP otherwise.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from threading import Condition
from typing import Any, Literal

Outcome = Literal["answered", "disconnected", "reset", "hung-up"]

_KEPT = 10_000


@dataclass(slots=True)
class Entry:
    """One request and its fate; times are seconds of the machine's monotonic clock.

    `body` is None where it was not JSON. `status` is None before the headers were sent, `pieces` counts
    the body's pieces handed over. `outcome` is None while the answer is under way: "answered" once it was
    sent to its end, whatever its status; "disconnected" when the client left before; "reset" and "hung-up"
    when the server broke off on command. `ended_at` is when that was known.
    """

    number: int
    path: str
    authorization_sent: bool
    received_at: float
    body: dict[str, Any] | None = None
    faults: tuple[str, ...] = ()
    status: int | None = None
    pieces: int = 0
    outcome: Outcome | None = None
    ended_at: float | None = None

    @property
    def disconnected(self) -> bool:
        """Whether the client left before the answer's end."""
        return self.outcome == "disconnected"


class Log:
    """The newest ten thousand requests, oldest first."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=_KEPT)
        self._changed = Condition()
        self._count = 0

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All that is kept."""
        with self._changed:
            return tuple(self._entries)

    @property
    def shape(self) -> dict[str, Any]:
        """`{"now", "requests": [...]}`, as `GET /log` tells it."""
        return {"now": time.monotonic(), "requests": [asdict(entry) for entry in self.entries]}

    def received(self, path: str, *, authorization_sent: bool) -> Entry:
        """A new entry, numbered from 0."""
        with self._changed:
            entry = Entry(self._count, path, authorization_sent, received_at=time.monotonic())
            self._count += 1
            self._entries.append(entry)
            self._changed.notify_all()
        return entry

    def changed(self) -> None:
        """Wake whoever waits: an entry says something new."""
        with self._changed:
            self._changed.notify_all()

    def ended(self, entry: Entry, outcome: Outcome) -> None:
        """The request's fate is known."""
        with self._changed:
            entry.outcome = outcome
            entry.ended_at = time.monotonic()
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget all entries; numbers begin at 0 again."""
        with self._changed:
            self._entries.clear()
            self._count = 0

    def wait_for(self, holds: Callable[[tuple[Entry, ...]], bool], *, seconds: float) -> bool:
        """Block the calling thread until `holds` is true of the entries; False when it was not in time.

        Looks whenever a request comes, is answered with headers, is kept waiting or ends.
        """
        with self._changed:
            return self._changed.wait_for(lambda: holds(tuple(self._entries)), seconds)
