"""A picture far higher than broad, cut between rows into columns that stand side by side: pure geometry.

Knows points and where rows begin; knows no steps. An edge into the next column leads out below its own, up
between the two and in above the next one, beside the others that do so and across none of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil, sqrt

Point = tuple[float, float]

_FAR_HIGHER = 2.5
"""How much higher than broad a picture is at least that is cut."""

_ROOM = 18
"""Beside cards and above them, free of edges."""

_APART = 8
"""Between neighbouring edges."""

_BEFORE = 6
"""How far before its first row a column begins, behind all that runs across above that row."""


class Columns:
    """Where the points of a picture go, drawn downwards and `breadth` wide, whose rows begin at `starts`."""

    def __init__(self, starts: Sequence[float], routes: Iterable[Sequence[Point]], breadth: float) -> None:
        height = starts[-1] - starts[0]
        count = round(sqrt(height / (breadth + 3 * _ROOM))) if height > _FAR_HIGHER * breadth else 1
        firsts = list(starts[:: ceil(len(starts) / count)])
        self._breaks = [first - _BEFORE for first in firsts[1:]]
        crossing: list[set[float]] = [set() for _ in self._breaks]
        for route in routes:
            for (x, before), (_, after) in pairwise(route):
                for at in range(self._column(before), self._column(after)):
                    crossing[at].add(x)
        # The rightmost one turns first, and is above all others behind the turn.
        self._order = [{x: at for at, x in enumerate(sorted(xs, reverse=True))} for xs in crossing]
        self._head = max((_ROOM + _APART * len(xs) for xs in crossing), default=0)
        self._tops = [first - self._head for first in firsts]
        self._breadth, self._lefts = breadth, [0.0]
        for xs in crossing:
            self._lefts.append(self._lefts[-1] + breadth + 2 * _ROOM + _APART * len(xs))

    def place(self, x: float, y: float) -> Point:
        """Where a point goes."""
        at = self._column(y)
        return x + self._lefts[at], y - self._tops[at]

    def route(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """The corners of an edge, with those that it has between columns."""
        corners = [self.place(*points[0])]
        for (x, before), (after_x, after) in pairwise(points):
            for at in range(self._column(before), self._column(after)):
                corners += self._turn(at, x)
            corners.append(self.place(after_x, after))
        return tuple(corners)

    def _column(self, y: float) -> int:
        return bisect_right(self._breaks, y)

    def _turn(self, at: int, x: float) -> tuple[Point, ...]:
        order = self._order[at][x]
        below = self._breaks[at] - self._tops[at] + _APART * order
        above = self._head - _ROOM - _APART * (len(self._order[at]) - 1 - order)
        between = self._lefts[at] + self._breadth + _ROOM + _APART * order
        enters = x + self._lefts[at + 1]
        return (x + self._lefts[at], below), (between, below), (between, above), (enters, above)
