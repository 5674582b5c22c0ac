"""The rows of a layered picture: cards, the lanes of long edges, their order and their positions.

Knows rows and who reads whom; knows no sizes but the separations it is given, and no drawing. All edges
out of one step share one strand of lanes, from which each reader branches off: a plan in which every
step reads all earlier ones then has a lane per step, not one per edge.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

Node = tuple[int, int]
"""A step and a row: the step's card in its own row, its lane in a later one."""

_SWEEPS = 10
_PATIENCE = 3
"""Sweeps without a better order after which sorting stops."""

_PASSES = 5
_LANE_PULL = 8.0
"""How much more a lane insists on running straight than a card on standing below what it reads."""


@dataclass(frozen=True, slots=True)
class Strands:
    """Rows of nodes in order, and for each node its neighbours in the row above and below."""

    access: tuple[tuple[int, ...], ...]
    row_of: Mapping[int, int]
    rows: tuple[tuple[Node, ...], ...]
    above: Mapping[Node, tuple[Node, ...]]
    below: Mapping[Node, tuple[Node, ...]]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], access: tuple[tuple[int, ...], ...]) -> Strands:
        """Strands for steps in `rows`; whoever reads must stand in a later row than what it reads."""
        row_of = {step: i for i, row in enumerate(rows) for step in row}
        last = dict.fromkeys(row_of, 0)
        edges: list[tuple[Node, Node]] = []
        for reader, reads in enumerate(access):
            for read in reads:
                last[read] = max(last[read], row_of[reader] - 1)
                edges.append(((read, row_of[reader] - 1), (reader, row_of[reader])))
        for step, end in last.items():
            edges.extend(((step, row - 1), (step, row)) for row in range(row_of[step] + 1, end + 1))
        nodes = [_first_order(i, rows, last) for i in range(len(rows))]
        above: dict[Node, list[Node]] = {node: [] for row in nodes for node in row}
        below: dict[Node, list[Node]] = {node: [] for row in nodes for node in row}
        for upper, lower in edges:
            above[lower].append(upper)
            below[upper].append(lower)
        return cls(
            access=access,
            row_of=row_of,
            rows=tuple(map(tuple, nodes)),
            above={node: tuple(near) for node, near in above.items()},
            below={node: tuple(near) for node, near in below.items()},
        )

    def is_lane(self, node: Node) -> bool:
        """Whether an edge passes here rather than a card standing here."""
        return self.row_of[node[0]] != node[1]


def _first_order(row: int, rows: Sequence[Sequence[int]], last: Mapping[int, int]) -> list[Node]:
    """A row's cards with the lanes that pass it on both sides, those from further above further out."""
    left: list[int] = []
    right: list[int] = []
    for above in rows[:row]:
        passing = [step for step in above if last[step] >= row]
        left += [step for step in passing if _stands_left(step, above)]
        right = [step for step in passing if not _stands_left(step, above)] + right
    return [(step, row) for step in (*left, *rows[row], *right)]


def _stands_left(step: int, row: Sequence[int]) -> bool:
    """Whether a step stands left of its row's middle; in the middle, steps take turns."""
    side = 2 * row.index(step) + 1 - len(row)
    return side < 0 or (side == 0 and step % 2 == 0)


def ordered(strands: Strands) -> Strands:
    """The same strands with rows ordered by barycentre sweeps: the best order met."""
    rows = list(strands.rows)
    best, least, tired = rows, _crossings(rows, strands.below), 0
    for sweep in range(_SWEEPS):
        if least == 0 or tired == _PATIENCE:
            break
        rows = _swept(rows, strands, downward=sweep % 2 == 0)
        crossings = _crossings(rows, strands.below)
        tired = tired + 1 if crossings >= least else 0
        if crossings < least:
            best, least = rows, crossings
    return replace(strands, rows=tuple(best))


def _swept(rows: Sequence[tuple[Node, ...]], strands: Strands, *, downward: bool) -> list[tuple[Node, ...]]:
    """Each row sorted by the mean place of its neighbours in the row sorted before it."""
    near = strands.above if downward else strands.below
    result = list(rows)
    indices = range(1, len(rows)) if downward else range(len(rows) - 2, -1, -1)
    for i in indices:
        place = {node: at for at, node in enumerate(result[i - 1 if downward else i + 1])}
        keys = {
            node: sum(place[other] for other in near[node]) / len(near[node]) if near[node] else float(at)
            for at, node in enumerate(result[i])
        }
        result[i] = tuple(sorted(result[i], key=keys.__getitem__))
    return result


def _crossings(rows: Sequence[Sequence[Node]], below: Mapping[Node, Sequence[Node]]) -> int:
    """Pairs of edges that cross: inversions among the lower ends, met in the order of the upper ones."""
    total = 0
    for upper, lower in pairwise(rows):
        place = {node: at for at, node in enumerate(lower)}
        met: list[int] = []
        for node in upper:
            ends = sorted(place[other] for other in below[node])
            total += sum(len(met) - bisect_right(met, end) for end in ends)
            for end in ends:
                insort(met, end)
    return total


def straightened(strands: Strands, *, separations: Sequence[Sequence[float]]) -> dict[Node, float]:
    """Positions across: lanes straight where possible, cards near what they read and who reads them.

    `separations[i][j]` is the least distance of nodes j and j + 1 of row i; it always holds.
    """
    at: dict[Node, float] = {}
    for row, spaces in zip(strands.rows, separations, strict=True):
        middle = sum(spaces) / 2
        at.update(zip(row, (place - middle for place in _running(spaces)), strict=True))
    down, up = range(len(strands.rows)), range(len(strands.rows) - 1, -1, -1)
    for sides, indices in [*[((strands.above,), down), ((strands.below,), up)] * _PASSES] + [
        ((strands.above, strands.below), down)
    ] * 2:
        for i in indices:
            row = strands.rows[i]
            wishes = [_wish(node, strands, sides=sides, at=at) for node in row]
            at.update(zip(row, _settled(wishes, separations[i]), strict=True))
    return at


def _wish(
    node: Node, strands: Strands, *, sides: Iterable[Mapping[Node, Sequence[Node]]], at: Mapping[Node, float]
) -> tuple[float, float]:
    """Where a node would like to be and how much."""
    lane = strands.is_lane(node)
    total, weight = 0.0, 0.0
    for near in sides:
        for other in near[node]:
            pull = _LANE_PULL if lane and strands.is_lane(other) and other[0] == node[0] else 1.0
            total += pull * at[other]
            weight += pull
    return (total / weight, weight) if weight else (at[node], 0.1)


def _settled(wishes: Sequence[tuple[float, float]], separations: Sequence[float]) -> list[float]:
    """The positions nearest to the wishes (least weighted squares) that keep order and separations.

    Pool adjacent violators: with the running separations taken off, keeping them means not to decrease.
    """
    offsets = _running(separations)
    blocks: list[tuple[float, float, int]] = []
    for (wish, weight), offset in zip(wishes, offsets, strict=True):
        mean, mass, size = wish - offset, weight, 1
        while blocks and blocks[-1][0] >= mean:
            other, more, count = blocks.pop()
            mean = (mean * mass + other * more) / (mass + more)
            mass, size = mass + more, size + count
        blocks.append((mean, mass, size))
    means = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _running(separations: Sequence[float]) -> list[float]:
    places = [0.0]
    for separation in separations:
        places.append(places[-1] + separation)
    return places
