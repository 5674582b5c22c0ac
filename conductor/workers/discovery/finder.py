"""Looks for local servers in a background loop, and remembers for a moment what it found."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import Any

from conductor.workers.discovery.local_servers import LocalServer, local_servers

FRESH_SECONDS = 10.0
"""What was found so recently is not looked for again."""

_Found = tuple[LocalServer, ...]
Spawn = Callable[[Coroutine[Any, Any, _Found]], "Future[_Found]"]
"""Begins a coroutine in the loop, from any thread."""


class Finder:
    """One a process; its pages share what is found. Safe in several threads."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._looking: Future[_Found] | None = None
        self._last: Future[_Found] | None = None

    def look(self, *, wait: float) -> tuple[LocalServer, ...]:
        """The servers as of a moment ago, after at most `wait` seconds.

        `looking` is true where they are not all known yet. Raises `PoolError` where the ports cannot be read.
        """
        with self._lock:
            if self._looking is None and time.monotonic() - self._looked_at > FRESH_SECONDS:
                self._looked_at = time.monotonic()
                self._looking = self._spawn(local_servers())
            looking = self._looking
        if looking is not None:
            wait_for([looking], wait)
            if looking.done():
                self._last, self._looking = looking, None
        if self._last is None:
            return ()
        if (error := self._last.exception()) is not None:
            raise error.with_traceback(None)
        return self._last.result()

    @property
    def looking(self) -> bool:
        return self._looking is not None
