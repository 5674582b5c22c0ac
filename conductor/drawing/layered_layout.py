"""The rows of a layered picture: cards, the lanes of long edges, their order and their positions.

Knows rows and which step reads which; knows no sizes except the given separations, and no drawing. All long
edges into one step run side by side in one strand, which whatever it reads joins. Each is a line of its own
where few pass a row, else two at most share a line; only a plan in which almost every step reads all earlier
ones has more of them on one. The cards of a row are
in the order of their steps, whatever reads them, so an added step changes the order of no others. Only lanes
are sorted to cross little.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import inf

Node = tuple[int, int]
"""A step and a row: the step's card in its own row, in an earlier one the lane of what it reads."""

_MOST_ALONE = 6
"""How many lines pass a row at most where each edge has one for itself."""

_SWEEPS = 10
_PATIENCE = 3
"""Sweeps without a better order after which sorting stops."""

_PASSES = 5
_LANE_PULL, _CHAIN_PULL = 8.0, 6.0
"""How much more a lane insists on running straight, and a chain of steps on standing one below the other,
than other cards on standing below what they read."""

_STAY = 1e6
"""How much a card insists on staying where it was drawn before."""

_CLOSER = 5
"""How much nearer than its separation a lane may come to its neighbours, to be straight."""

Wish = tuple[tuple[float, float], ...]
"""Where a node would like to be: places and how much each of them counts."""


@dataclass(frozen=True, slots=True)
class Strands:
    """Rows of nodes in order, and for each node its neighbours in the row above and below."""

    access: tuple[tuple[int, ...], ...]
    row_of: Mapping[int, int]
    rows: tuple[tuple[Node, ...], ...]
    above: Mapping[Node, Sequence[Node]]
    below: Mapping[Node, Sequence[Node]]
    lines: Mapping[int, Sequence[Sequence[int]]]
    """By reader, what each line of its strand leads from: the steps in the order in which they join."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], access: tuple[tuple[int, ...], ...], most: int) -> Strands:
        """Strands for steps in `rows`; a reader must be in a later row than what it reads. Where edges share
        lines, `most` of these pass a row, as far as that can be.
        """
        row_of = {step: i for i, row in enumerate(rows) for step in row}
        first = {
            reader: min((row_of[read] + 1 for read in reads), default=row_of[reader])
            for reader, reads in enumerate(access)
        }
        edges: list[tuple[Node, Node]] = [
            ((read, row_of[read]), (reader, row_of[read] + 1))
            for reader, reads in enumerate(access)
            for read in reads
        ]
        for step, begin in first.items():
            edges.extend(((step, row), (step, row + 1)) for row in range(begin, row_of[step]))
        nodes = [_first_order(i, rows, first) for i in range(len(rows))]
        above: dict[Node, list[Node]] = {node: [] for row in nodes for node in row}
        below: dict[Node, list[Node]] = {node: [] for row in nodes for node in row}
        for upper, lower in edges:
            above[lower].append(upper)
            below[upper].append(lower)
        return cls(access, row_of, tuple(map(tuple, nodes)), above, below, _lines(access, row_of, most))

    def is_lane(self, node: Node) -> bool:
        """Whether an edge passes here rather than a card standing here."""
        return self.row_of[node[0]] != node[1]


def _lines(
    access: Sequence[Sequence[int]], row_of: Mapping[int, int], most: int
) -> dict[int, list[list[int]]]:
    """The lines of each strand: as few edges on one as there is room for, those that begin side by side."""
    share = 1
    while True:
        lines: dict[int, list[list[int]]] = {}
        passing = [0] * (max(row_of.values(), default=0) + 1)
        for reader, reads in enumerate(access):
            far = sorted((row_of[read] + 1, read) for read in reads if row_of[read] + 1 < row_of[reader])
            groups = [far[at : at + share] for at in range(0, len(far), share)]
            lines[reader] = [[read for _, read in group] for group in groups]
            for row in range(far[0][0] if far else row_of[reader], row_of[reader]):
                passing[row] += len(groups)
        if max(passing) <= (_MOST_ALONE if share == 1 else most) or share >= len(access):
            return lines
        share *= 2


def generations_of(access: Sequence[Sequence[int]]) -> list[list[int]]:
    """The steps by how many must have run before them at least; each generation in order."""
    generation: list[int] = []
    for reads in access:
        generation.append(max((generation[read] + 1 for read in reads), default=0))
    generations: list[list[int]] = [[] for _ in range(max(generation, default=-1) + 1)]
    for step, at in enumerate(generation):
        generations[at].append(step)
    return generations


def split_rows(generations: Sequence[Sequence[int]], widest: int) -> list[Sequence[int]]:
    """Each generation in as few rows of at most `widest` steps as needed, evenly filled.

    Later rows of a generation, which more lanes pass, are the shorter ones.
    """
    return [part for generation in generations for part in _split(generation, widest)]


def _split(generation: Sequence[int], widest: int) -> list[Sequence[int]]:
    count = -(-len(generation) // widest)
    least, longer = divmod(len(generation), count)
    ends = [(i + 1) * least + min(i + 1, longer) for i in range(count)]
    return [generation[start:end] for start, end in pairwise([0, *ends])]


def _first_order(row: int, rows: Sequence[Sequence[int]], first: Mapping[int, int]) -> list[Node]:
    """A row's cards and, each above its own step's place in its row, the lanes that pass it."""
    keys: dict[Node, tuple[float, int, int]] = {}
    for at in range(row, len(rows)):
        for i, step in enumerate(rows[at]):
            place = (2 * i + 1) / (2 * len(rows[at]))
            if at == row:
                keys[step, row] = (place, 0, 0)
            elif first[step] <= row:
                side = _side(place, step)
                keys[step, row] = (place, side, side * at)
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
        rising = settled([((keys[card], 1.0),) for card in cards], [0.0] * (len(cards) - 1))
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


def straightened(
    strands: Strands, *, separations: Sequence[Sequence[float]], before: Mapping[int, float]
) -> dict[Node, float]:
    """Positions across: lanes straight where possible, cards near what they read and who reads them.

    `separations[i][j]` is the least distance of nodes j and j + 1 of row i; it always holds. The cards of
    the steps in `before` stay there as far as it allows. Without these no row is broader than the one that
    has to be the broadest.
    """
    at: dict[Node, float] = {}
    breadth = inf if before else max(sum(spaces) for spaces in separations)
    stay = {(step, strands.row_of[step]): ((place, _STAY),) for step, place in before.items()}
    for row, spaces in zip(strands.rows, separations, strict=True):
        middle = sum(spaces) / 2
        at.update(zip(row, (place - middle for place in _running(spaces)), strict=True))
    down = range(len(strands.rows))
    to_and_fro = [((strands.above,), down), ((strands.below,), down[::-1])] * _PASSES
    for sides, indices in [*to_and_fro, *[((strands.above, strands.below), down)] * 2]:
        for i in indices:
            row = strands.rows[i]
            wishes = [stay.get(node) or _wish(node, strands, sides=sides, at=at) for node in row]
            at.update(zip(row, settled(wishes, separations[i], within=breadth / 2), strict=True))
    for row, spaces in zip(strands.rows[1:], separations[1:], strict=True):
        _follow(row, spaces, strands, at)
    return at


def _follow(
    row: Sequence[Node],
    spaces: Sequence[float],
    strands: Strands,
    at: dict[Node, float],
) -> None:
    """Put each lane of a row below its part in the row above where that is almost free."""
    for i, node in enumerate(row):
        before = (node[0], node[1] - 1)
        if not strands.is_lane(node) or before not in at:
            continue
        left = at[row[i - 1]] + spaces[i - 1] - _CLOSER if i else at[before]
        right = at[row[i + 1]] - spaces[i] + _CLOSER if i + 1 < len(row) else at[before]
        if left <= at[before] <= right:
            at[node] = at[before]


def _wish(
    node: Node, strands: Strands, *, sides: Iterable[Mapping[Node, Sequence[Node]]], at: Mapping[Node, float]
) -> Wish:
    """Where a node would like to be: where its neighbours are."""
    near = [other for side in sides for other in side[node]]
    return tuple((at[other], _pull(node, other, strands)) for other in near) or ((at[node], 0.1),)


def _pull(node: Node, other: Node, strands: Strands) -> float:
    if node[0] == other[0]:
        if strands.is_lane(node) and strands.is_lane(other):
            # Two that pull alike would have it between them, where it is straight with neither.
            return _LANE_PULL + (other[1] < node[1])
        return 1.0
    upper, lower = (node, other) if node[1] < other[1] else (other, node)
    if strands.is_lane(upper) or strands.is_lane(lower):
        return 1.0
    cards = (
        [near for near in strands.above[lower] if not strands.is_lane(near)],
        [near for near in strands.below[upper] if not strands.is_lane(near)],
    )
    return _CHAIN_PULL if all(len(neighbours) == 1 for neighbours in cards) else 1.0


def settled(wishes: Sequence[Wish], separations: Sequence[float], *, within: float = inf) -> list[float]:
    """The positions nearest to the wished ones (least weighted distances), in order and so far apart.

    None is further than `within` from 0, for which there must be room. Distances and not their squares: what
    most insists gets just what it wishes, so that lines are straight or clearly not. Pool adjacent violators:
    with the running separations subtracted, the constraint is that positions do not decrease.
    """
    offsets = _running(separations)
    blocks: list[tuple[float, list[tuple[float, float]], int]] = []
    for wish, offset in zip(wishes, offsets, strict=True):
        places, size = sorted((place - offset, weight) for place, weight in wish), 1
        middle = _median(places)
        while blocks and blocks[-1][0] >= middle:
            _, more, count = blocks.pop()
            places, size = sorted([*more, *places]), size + count
            middle = _median(places)
        blocks.append((middle, places, size))
    middles = [min(max(at, -within), within - offsets[-1]) for at, _, size in blocks for _ in range(size)]
    return [middle + offset for middle, offset in zip(middles, offsets, strict=True)]


def _median(places: Sequence[tuple[float, float]]) -> float:
    """The weighted median of sorted places; between two that are both, their middle."""
    half, mass = sum(weight for _, weight in places) / 2, 0.0
    for i, (place, weight) in enumerate(places):
        mass += weight
        if mass > half:
            return place
        if mass == half:
            return (place + places[i + 1][0]) / 2
    return places[-1][0]


def _running(separations: Sequence[float]) -> list[float]:
    return list(accumulate(separations, initial=0.0))
