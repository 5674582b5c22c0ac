"""What was read from a store, remembered for as long as nobody writes to it.

A page asks for the same rows again and again, once for each of its parts. Knows a store's version, no table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")

MOST = 512
"""Answers that are remembered at most; the whole memory is emptied when there are more."""


class ReadMemory:
    """May be used from any thread. `version` is something else after every write, by whomever, and None where
    that cannot be told; then nothing is remembered.
    """

    def __init__(self, version: Callable[[], Hashable]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._of: Hashable = None
        self._answers: dict[Hashable, object] = {}

    def answer(self, question: Hashable, read: Callable[[], T]) -> T:
        """What `read` gives, or gave to the same question since the last write. It must be a frozen value."""
        # Asked before the rows are read: what is newer than its version is read once more, never the reverse.
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
