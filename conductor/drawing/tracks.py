"""Puts the edges between two rows onto tracks, so that none lies on another.

Knows intervals only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

_CLEAR = 10
"""Pixels by which two edges on one track are apart."""

_BESIDE = 3
"""Pixels by which an edge that comes and one that goes have to be apart to be seen as two."""

E = TypeVar("E")


class Run(NamedTuple):
    """An edge across, from `start` to `end`. Edges with the same `target` may share a track."""

    start: int
    end: int
    target: Hashable


class _Bundle(NamedTuple):
    """Edges to one target from one side."""

    starts: tuple[int, ...]
    end: int

    @property
    def rightward(self) -> bool:
        return self.starts[0] < self.end

    @property
    def span(self) -> tuple[int, int]:
        return min(*self.starts, self.end), max(*self.starts, self.end)

    @property
    def order(self) -> tuple[bool, int, int]:
        """Of edges to one side, those that have gone furthest already turn first: then they do not cross."""
        return (True, -max(self.starts), -self.end) if self.rightward else (False, min(self.starts), self.end)

    def overlaps(self, other: _Bundle) -> bool:
        (low, high), (least, most) = self.span, other.span
        return low < most + _CLEAR and least < high + _CLEAR

    def ends_below(self, other: _Bundle) -> bool:
        """Whether `other` has to turn before this one comes down, as both would lie on one line."""
        return any(abs(start - self.end) < _BESIDE for start in other.starts)


def tracks(runs: Mapping[E, Run]) -> dict[E, int]:
    """The track of each edge that is not straight, counted from the row that it leaves."""
    groups: dict[tuple[Hashable, bool], list[E]] = {}
    for edge, run in runs.items():
        if run.start != run.end:
            groups.setdefault((run.target, run.start < run.end), []).append(edge)
    bundles = {
        _Bundle(tuple(runs[edge].start for edge in edges), runs[edges[0]].end): edges
        for edges in groups.values()
    }
    bundle_levels: list[tuple[_Bundle, int]] = []
    edge_levels: dict[E, int] = {}
    for bundle in _in_order(sorted(bundles, key=lambda bundle: (*bundle.order, bundle))):
        met = [(other, level) for other, level in bundle_levels if bundle.overlaps(other)]
        before = (other.rightward == bundle.rightward or bundle.ends_below(other) for other, _ in met)
        level = max((level + 1 for (_, level), first in zip(met, before, strict=True) if first), default=0)
        while any(level == other for _, other in met):
            level += 1
        bundle_levels.append((bundle, level))
        edge_levels |= dict.fromkeys(bundles[bundle], level)
    return edge_levels


def _in_order(bundles: Sequence[_Bundle]) -> Iterator[_Bundle]:
    """The bundles in their order, each after those that have to turn before it comes down.

    Where these wait for one another, some come too early.
    """
    waits = {
        bundle: {other for other in bundles if other is not bundle and bundle.ends_below(other)}
        for bundle in bundles
    }
    left = list(bundles)
    while left:
        chosen = next((bundle for bundle in left if not waits[bundle]), left[0])
        left.remove(chosen)
        for others in waits.values():
            others.discard(chosen)
        yield chosen
