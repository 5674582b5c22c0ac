"""The rows of a layered picture: cards, the lanes of long edges, their order and their positions.

Knows rows and which step reads which; knows no sizes except the given separations, and no drawing. All edges
out of one step share one strand of lanes, from which each reader branches off: a plan in which every
step reads all earlier ones then has a lane per step, not one per edge. The cards of a row are in the
order of their steps, whatever reads them, so an added step changes the order of no others. Only lanes are
sorted to cross little.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import inf

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
    above: Mapping[Node, Sequence[Node]]
    below: Mapping[Node, Sequence[Node]]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], access: tuple[tuple[int, ...], ...]) -> Strands:
        """Strands for steps in `rows`; a reader must be in a later row than what it reads."""
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
        return cls(access, row_of, tuple(map(tuple, nodes)), above, below)

    def is_lane(self, node: Node) -> bool:
        """Whether an edge passes here rather than a card standing here."""
        return self.row_of[node[0]] != node[1]


def generations_of(access: Sequence[Sequence[int]]) -> list[list[int]]:
    """The steps by how many must have run before them at least; each generation in order."""
    generation: list[int] = []
    for reads in access:
        generation.append(max((generation[read] + 1 for read in reads), default=0))
    generations: list[list[int]] = [[] for _ in range(max(generation, default=-1) + 1)]
    for step, at in enumerate(generation):
        generations[at].append(step)
    return generations


def rows_of(generations: Sequence[Sequence[int]], widest: int) -> list[Sequence[int]]:
    """Each generation in as few rows of at most `widest` steps as needed, evenly filled.

    Later rows of a generation, which more lanes pass, are the shorter ones.
    """
    return [part for generation in generations for part in _split(generation, widest)]


def _split(generation: Sequence[int], widest: int) -> list[Sequence[int]]:
    count = -(-len(generation) // widest)
    least, longer = divmod(len(generation), count)
    ends = [(i + 1) * least + min(i + 1, longer) for i in range(count)]
    return [generation[start:end] for start, end in pairwise([0, *ends])]


def _first_order(row: int, rows: Sequence[Sequence[int]], last: Mapping[int, int]) -> list[Node]:
    """A row's cards and, each below its own step's place in its row, the lanes that pass it."""
    keys: dict[Node, tuple[float, int, int]] = {}
    for at in range(row + 1):
        for i, step in enumerate(rows[at]):
            place = (2 * i + 1) / (2 * len(rows[at]))
            if at == row:
                keys[step, row] = (place, 0, 0)
            elif last[step] >= row:
                side = _side(place, step)
                keys[step, row] = (place, side, -side * at)
    return sorted(keys, key=keys.__getitem__)


def _side(place: float, step: int) -> int:
    """On which side a lane passes a card at the place of its own step: nearer to the middle."""
    if place == 0.5:
        return -1 if step % 2 == 0 else 1
    return 1 if place < 0.5 else -1


def ordered(strands: Strands) -> Strands:
    """The same strands with lanes ordered by barycentre sweeps: the best order met."""
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
    """Each row sorted by the mean place of its neighbours in the row sorted before it, cards by step."""
    near = strands.above if downward else strands.below
    result = list(rows)
    indices = range(1, len(rows)) if downward else range(len(rows) - 2, -1, -1)
    for i in indices:
        place = {node: at for at, node in enumerate(result[i - 1 if downward else i + 1])}
        keys = {
            node: sum(place[other] for other in near[node]) / len(near[node]) if near[node] else float(at)
            for at, node in enumerate(result[i])
        }
        cards = [node for node in result[i] if not strands.is_lane(node)]
        rising = _settled([(keys[card], 1.0) for card in cards], [0.0] * (len(cards) - 1), within=inf)
        keys.update(zip(cards, rising, strict=True))
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

    `separations[i][j]` is the least distance of nodes j and j + 1 of row i; it always holds. No row is
    broader than the one that has to be the broadest.
    """
    at: dict[Node, float] = {}
    breadth = max(sum(spaces) for spaces in separations)
    for row, spaces in zip(strands.rows, separations, strict=True):
        middle = sum(spaces) / 2
        at.update(zip(row, (place - middle for place in _running(spaces)), strict=True))
    down = range(len(strands.rows))
    to_and_fro = [((strands.above,), down), ((strands.below,), down[::-1])] * _PASSES
    for sides, indices in [*to_and_fro, *[((strands.above, strands.below), down)] * 2]:
        for i in indices:
            row = strands.rows[i]
            wishes = [_wish(node, strands, sides=sides, at=at) for node in row]
            at.update(zip(row, _settled(wishes, separations[i], within=breadth / 2), strict=True))
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


def _settled(
    wishes: Sequence[tuple[float, float]], separations: Sequence[float], *, within: float
) -> list[float]:
    """The positions nearest to the wished ones (least weighted squares) with order and separations unchanged.

    None is further than `within` from 0, for which there must be room. Pool adjacent violators: with the
    running separations subtracted, the constraint is that positions do not decrease.
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
    means = [min(max(mean, -within), within - offsets[-1]) for mean, _, size in blocks for _ in range(size)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _running(separations: Sequence[float]) -> list[float]:
    return list(accumulate(separations, initial=0.0))
