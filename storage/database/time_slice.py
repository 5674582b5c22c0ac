"""Work in slices of time, so that no transaction keeps others waiting for longer than one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

SECONDS = 0.02
"""How long a transaction of long work takes, and one part of it more at most."""


def slice_of(work: Iterable[T]) -> Iterator[T]:
    """The first parts of `work`, one at least; each is done when the next is taken. None is taken after
    `SECONDS`.
    """
    end = monotonic() + SECONDS
    for part in work:
        yield part
        if monotonic() >= end:
            return
