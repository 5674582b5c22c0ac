"""A cache of what was read from a store, valid until the next write.

A page requests the same rows many times, once for each of its parts. Knows a store's version, no table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")

MOST = 512
"""The most answers in the cache; it is emptied when there are more."""


class ReadMemory:
    """May be used from any thread. `version` returns another value after every write, also of another
    process, and None where the version is unknown; then nothing is cached.
    """

    def __init__(self, version: Callable[[], Hashable]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._of: Hashable = None
        self._answers: dict[Hashable, object] = {}

    def answer(self, question: Hashable, read: Callable[[], T]) -> T:
        """What `read` returns, or returned for the same question since the last write: a frozen value."""
        # Before the rows are read: rows newer than their version are read once more, never the reverse.
        version = self._version()
        if version is None:
            return read()
        with self._lock:
            if version != self._of or len(self._answers) >= MOST:
                self._of, self._answers = version, {}
            elif question in self._answers:
                return cast("T", self._answers[question])
        found = read()
        with self._lock:
            if self._of == version:
                self._answers[question] = found
        return found
