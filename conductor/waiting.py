"""Waiting for what another thread does, so that an interrupt is heeded meanwhile."""

from __future__ import annotations

from concurrent import futures
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

WAKE_SECONDS = 0.2
"""How long at most a signal waits for its handler."""


def result_of(future: Future[T]) -> T:
    """The result of `future`, as its own `result` returns or raises it once it is there.

    Python runs a signal's handler in the main thread when that wakes. A signal that arrives just before it
    begins to wait does not wake it: so it never waits for long.
    """
    while not future.done():
        futures.wait([future], timeout=WAKE_SECONDS)
    return future.result()
