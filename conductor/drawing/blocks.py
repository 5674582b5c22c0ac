"""A large plan whose generations are wider than a row: each is a block of cards in rows, and all blocks have
the same columns. Pure geometry.

Knows which step reads which and the size of a card; knows no texts. Edges run in the channels between the
columns and across in the bands between the blocks, so none passes behind a card: out below its card and down
the channel beside it, across, down the channel of the reader's column and in above the reader. A band has a
track for each reader, or for each step that is read where these are fewer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from conductor.drawing.columns import Point
from conductor.drawing.layered_layout import split_rows

_BESIDE, _BETWEEN_LANES, _MOST_LANES = 14, 7, 8
"""From a card to the first lane of a channel, between lanes, and how many each side of a channel has at most;
where more are needed, neighbouring rows share one."""

_OUT, _IN = 9, 15
"""From a card to where what leaves it turns, and from there down to a card for what comes to it."""

_ROW_GAP = 30
_TRACK_GAP, _LEAST_TRACK_GAP = 8, 3
_USUAL_BAND, _DEEPEST_BAND = 24, 240
"""Between tracks, and how deep all of a band are where they can be close to one another, and at most; where
more are needed, some share one."""

_CLEAR = 10
"""Pixels by which two edges on one track are apart."""

_OUT_PORT = 24
"""Right of a card's middle, at which edges end."""

_BROAD = 1.2
"""How much broader than high a picture is, as a pane is."""


class Blocks:
    """Where the cards of `generations`, each `width` x `height`, stand, and how the edges of `access` run."""

    def __init__(
        self,
        generations: Sequence[Sequence[int]],
        access: Sequence[Sequence[int]],
        *,
        width: int,
        height: int,
    ) -> None:
        self._access, self._width, self._height = access, width, height
        self._count, self._rows = self._balanced(generations)
        self._row_of = {step: at for at, row in enumerate(self._rows) for step in row}
        block_of = {step: at for at, block in enumerate(generations) for step in block}
        # Of each row its block; the rows of a block follow one another.
        self._block = [block_of[row[0]] for row in self._rows]
        self._column = dict(self._columns_of_steps())
        self._readers = [step for step, reads in enumerate(access) if reads]
        self._lanes_in, most_in = self._lanes_of_readers()
        self._lanes_out, most_out = self._lanes_of_sources()
        self._channel = 2 * _BESIDE + (most_in + most_out) * _BETWEEN_LANES
        self._tracks: dict[tuple[int, int], float] = {}
        self.tops: list[float] = []
        self._place_rows()
        self.breadth = self._count * (width + self._channel) + self._channel
        self.length = self.tops[-1] + height

    @property
    def middles(self) -> list[Point]:
        """The middle of each card."""
        return list(map(self._middle, range(len(self._access))))

    def routes(self) -> dict[tuple[int, int], tuple[Point, ...]]:
        """The corners of each edge's line, by (read step, reading step)."""
        return {
            (read, reader): self._route(read, reader)
            for reader in self._readers
            for read in self._access[reader]
        }

    def _balanced(self, generations: Sequence[Sequence[int]]) -> tuple[int, Sequence[Sequence[int]]]:
        """The fewest columns with which the cards are not higher than broad, and their rows."""
        broadest = max(map(len, generations))
        for count in range(1, broadest + 1):
            rows = split_rows(generations, count)
            length = len(rows) * (self._height + _ROW_GAP) + len(generations) * _USUAL_BAND
            if count * (self._width + 2 * _BESIDE) >= _BROAD * length:
                break
        return count, rows

    def _columns_of_steps(self) -> Iterator[tuple[int, int]]:
        """The rows of a block begin in one column, as near to the middle as all columns allow."""
        widest: dict[int, int] = defaultdict(int)
        for block, row in zip(self._block, self._rows, strict=True):
            widest[block] = max(widest[block], len(row))
        for block, row in zip(self._block, self._rows, strict=True):
            first = (self._count - widest[block]) // 2
            yield from ((step, first + at) for at, step in enumerate(row))

    def _is_first_row(self, step: int) -> bool:
        row = self._row_of[step]
        return not row or self._block[row - 1] != self._block[row]

    def _is_last_row(self, step: int) -> bool:
        row = self._row_of[step]
        return row + 1 == len(self._rows) or self._block[row + 1] != self._block[row]

    def _block_of(self, step: int) -> int:
        return self._block[self._row_of[step]]

    def _lanes_of_readers(self) -> tuple[Mapping[int, int], int]:
        """The lane left of each reader, counted from its card, and how many lanes there are; none for one in
        a block's first row that reads of the block before only.
        """
        lanes: dict[int, int] = {}
        ends: dict[int, list[int]] = defaultdict(list)
        for step in sorted(self._readers, key=self._row_of.__getitem__):
            start = min(map(self._block_of, self._access[step]))
            if self._is_first_row(step) and start + 1 == self._block_of(step):
                continue
            busy = ends[self._column[step]]
            lane = next((at for at, end in enumerate(busy) if end <= start), len(busy))
            busy[lane : lane + 1] = [self._block_of(step)]
            lanes[step] = lane
        return _at_most(lanes)

    def _lanes_of_sources(self) -> tuple[Mapping[int, int], int]:
        """The lane right of each step, counted from its card; none for one in a block's last row."""
        last = {block: row for row, block in enumerate(self._block)}
        lanes = {
            step: last[self._block_of(step)] - self._row_of[step] - 1
            for step in {read for reads in self._access for read in reads}
            if not self._is_last_row(step)
        }
        return _at_most(lanes)

    def _place_rows(self) -> None:
        """Where each row begins, and where in the bands the tracks are."""
        edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for reader in self._readers:
            for read in self._access[reader]:
                edges[self._block_of(read)].append((read, reader))
        self.tops.append(0.0)
        for before, after in pairwise(self._block):
            end = self.tops[-1] + self._height
            if before == after:
                self.tops.append(end + _ROW_GAP)
                continue
            band = edges[before]
            by = min((0, 1), key=lambda side: len({edge[side] for edge in band}))
            across: dict[int, list[Point]] = defaultdict(list)
            for edge in band:
                across[edge[by]].append((self._leaves_at(edge[0]), self._arrives_at(edge[1])))
            levels, count = _levels(across)
            apart = min(_TRACK_GAP, max(_LEAST_TRACK_GAP, _USUAL_BAND / max(1, count)))
            for edge in band:
                self._tracks[edge] = end + 2 * _OUT + levels[edge[by]] * apart
            self.tops.append(end + 2 * _OUT + count * apart + _IN)

    def _middle(self, step: int) -> Point:
        return self._across(step), self.tops[self._row_of[step]] + self._height / 2

    def _across(self, step: int) -> float:
        """Where the middle of a card is across."""
        return self._channel + self._column[step] * (self._width + self._channel) + self._width / 2

    def _leaves_at(self, step: int) -> float:
        """Where across an edge that leaves a card runs down to the band."""
        x = self._across(step)
        if step not in self._lanes_out:
            return x + _OUT_PORT
        return x + self._width / 2 + _BESIDE + self._lanes_out[step] * _BETWEEN_LANES

    def _arrives_at(self, step: int) -> float:
        """Where across an edge runs down to its reader."""
        x = self._across(step)
        if step not in self._lanes_in:
            return x
        return x - self._width / 2 - _BESIDE - self._lanes_in[step] * _BETWEEN_LANES

    def _route(self, read: int, reader: int) -> tuple[Point, ...]:
        (x, y), (to_x, to_y), track = self._middle(read), self._middle(reader), self._tracks[read, reader]
        bottom, top = y + self._height / 2, to_y - self._height / 2
        out, into, start = self._leaves_at(read), self._arrives_at(reader), x + _OUT_PORT
        corners = [(start, bottom)]
        if out != start:
            corners += [(start, bottom + _OUT), (out, bottom + _OUT)]
        if out != into:
            corners += [(out, track), (into, track)]
        if into != to_x:
            corners += [(into, top - _IN), (to_x, top - _IN)]
        return (*corners, (to_x, top))


def _at_most(lanes: Mapping[int, int]) -> tuple[Mapping[int, int], int]:
    """The lanes, as many as there may be, and their number."""
    count = max(lanes.values(), default=-1) + 1
    most = min(count, _MOST_LANES)
    return {step: lane * most // count for step, lane in lanes.items()}, most


def _levels(edges: Mapping[int, Sequence[Point]]) -> tuple[Mapping[int, int], int]:
    """A track for each group of edges, given from where to where across these run, and how many tracks there
    are. None lies on another while there are tracks enough.
    """
    levels: dict[int, int] = {}
    busy: list[list[Point]] = []
    for key in sorted(edges, key=lambda key: _turn(edges[key])):
        start, end = min(map(min, edges[key])), max(map(max, edges[key]))
        levels[key] = next(
            (
                level
                for level, spans in enumerate(busy)
                if all(end + _CLEAR <= low or high + _CLEAR <= start for low, high in spans)
            ),
            len(busy),
        )
        if levels[key] == len(busy):
            busy.append([])
        busy[levels[key]].append((start, end))
    most = min(len(busy), int(_DEEPEST_BAND / _LEAST_TRACK_GAP))
    return {key: level * most // len(busy) for key, level in levels.items()}, most


def _turn(edges: Sequence[Point]) -> Point:
    """Of edges to one side, those that have gone furthest already turn first: then they cross less."""
    aside, gone = (sum(xs) / len(edges) for xs in zip(*((to - at, at) for at, to in edges), strict=True))
    return (1, -gone) if aside > 0 else (0, gone)
