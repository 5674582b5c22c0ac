"""An event loop whose clock stands still while something happens, and jumps where all would only wait.

Knows asyncio's timers. It does not wait for a thread or a process.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: `now` goes on by what would have been waited, in seconds."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("nothing is left to happen: a test waits for ever")
        self.now += max(0.0, timeout)
        return super().select(0)


class SimulatedTime(asyncio.SelectorEventLoop):
    """A loop in which an hour passes at once. Its first moment is 0."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def in_simulated_time(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns. Raises what it raises."""
    with asyncio.Runner(loop_factory=SimulatedTime) as runner:
        return runner.run(coroutine)


def now() -> float:
    """The running loop's seconds."""
    return asyncio.get_running_loop().time()
