"""A crew answers an evaluation's items in other processes: what they are given, and what they give back.

Values and a protocol. Knows nothing of how those processes are reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from conductor.evaluation.evaluation_table import Cell

Unit = tuple[int, int]
"""An item's position and a repeat: all of its planners are asked in one process, which shares their calls."""


@dataclass(frozen=True)
class Part:
    """What came of some units. `failure` is why no more can be answered."""

    answered: tuple[Cell, ...] = ()
    failure: str | None = None


class Crew(Protocol):
    """Processes on the same store and with the same pool."""

    def answer(
        self, evaluation: str, units: Sequence[Unit], *, parallel: int, over: Callable[[], bool]
    ) -> Iterator[Part]:
        """Answer the units, `parallel` at a time in each process; what came of each part, as it comes.

        Once `over`, nothing more is begun, what is under way is stopped, and its parts still come. Units that
        are lost are answered by others. Closing the iterator stops all.
        """
        ...
