"""Waiting in tests: for a condition, and never for ever.

A limit is there to end a wait that will never succeed, not to measure: a busy machine is ten times as slow.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SECONDS = 180.0
"""How long a test waits, if it has no reason for another limit."""


def until(holds: Callable[[], T], seconds: float = SECONDS, *, what: str = "", every: float = 0.02) -> T:
    """What `holds` returns as soon as that is true; an AssertionError that names `what` if it stays false."""
    start = time.monotonic()
    while not (held := holds()):
        _heed_limit(holds, start, seconds, what)
        time.sleep(every)
    return held


async def until_async(
    holds: Callable[[], T], seconds: float = SECONDS, *, what: str = "", every: float = 0.02
) -> T:
    """As `until`, while other tasks of the loop go on."""
    start = time.monotonic()
    while not (held := holds()):
        _heed_limit(holds, start, seconds, what)
        await asyncio.sleep(every)
    return held


def _heed_limit(holds: Callable[[], object], start: float, seconds: float, what: str) -> None:
    waited = time.monotonic() - start
    if waited > seconds:
        raise AssertionError(f"After {waited:.1f} s it does not hold: {what or _source(holds)}")


def _source(holds: Callable[[], object]) -> str:
    """The condition as it is written: of a lambda, the line on which it stands."""
    try:
        lines = inspect.getsource(holds)
    except (OSError, TypeError):
        return repr(holds)
    return " ".join(lines.split())
