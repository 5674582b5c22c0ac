"""A store's heart: it ticks in a thread of its own, and tells how evenly it has ticked.

Who has not ticked evenly (a suspended machine, a store that was locked or away) has no right to call others
silent. Knows no table; the times are the database's own, in Unix seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread

from conductor.errors import StorageError

TICK_SECONDS = 0.5
"""Within this time a process hears what others ask of it."""

BEAT_SECONDS = 2.0
"""How often a process that has runs says that it lives."""

GAP_SECONDS = 3.0
"""Ticks that are further apart are not even: others may have been kept from beating as well."""

EVEN_SECONDS = 2 * BEAT_SECONDS
"""For so long a heart ticks before it counts as even: time enough for all others to beat."""

_log = logging.getLogger(__name__)


class Heart:
    """`tick` gives the time at which it looked; where it raises `StorageError`, it is tried again."""

    def __init__(self, tick: Callable[[], float]) -> None:
        self._tick = tick
        self._stopped = Event()
        self._thread = Thread(target=self._beat, name="store-heart", daemon=True)
        self._even: tuple[float, float] | None = None

    def start(self) -> None:
        """Begin to tick; once."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. May be called twice, and before it was started."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def even(self, now: float) -> bool:
        """Whether it has ticked without a gap for long enough, up to `now`."""
        if self._even is None:
            return False
        since, last = self._even
        return 0 <= now - last < GAP_SECONDS and last - since >= EVEN_SECONDS

    def ticked(self, now: float) -> None:
        """Count a tick at that time."""
        since, last = self._even or (now, now)
        self._even = (since if 0 <= now - last < GAP_SECONDS else now, now)

    def _beat(self) -> None:
        while not self._stopped.wait(TICK_SECONDS):
            try:
                self.ticked(self._tick())
            except StorageError:
                # Whoever uses the store is told what is wrong; the gap is seen in the next tick's time.
                continue
            except Exception:  # noqa: BLE001 - a process whose heart stands still is taken for dead
                _log.exception("a tick of the store's heart broke")
