"""Streamed text in batches, so that redrawing and storing need not follow every token.

Knows asyncio's timers, nothing of steps or events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

BATCH_SECONDS = 0.03
"""Batches are at least this far apart; a page redraws no faster."""


class DeltaBatch:
    """Hands text to `emit`: what comes in the first turn of the loop after it, later pieces gathered over
    `BATCH_SECONDS`.
    """

    __slots__ = ("_emit", "_first", "_pieces", "_timer")

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._pieces: list[str] = []
        self._timer: asyncio.Handle | None = None
        self._first = True

    def add(self, text: str) -> None:
        """Take another piece."""
        if not text:
            return
        self._pieces.append(text)
        if self._first:
            # Not at once: where the answer ends in the same turn, no piece of it is needed.
            self._first = False
            self._timer = asyncio.get_running_loop().call_soon(self.flush)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self.flush)

    def flush(self) -> None:
        """Hand on what is gathered."""
        text = "".join(self._pieces)
        self.drop()
        if text:
            self._emit(text)

    def drop(self) -> None:
        """Forget what is gathered."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pieces.clear()
