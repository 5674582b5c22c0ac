"""Where the cards and edges of a workflow's pictures lie: pure geometry, the same for the same access.

Knows a workflow's shape and the sizes of cards; knows nothing of texts, states, colours or canvases. How
wide the window is only the browser knows, so there are several pictures of one workflow, each with the
width from which on it can be read.
Layered: every generation of steps becomes one or more rows, an edge over several rows runs in lanes between
the cards. All cards of a row are equally deep, so the space between
two rows is free of cards: edges curve only there and are straight inside a row. That is why no edge
can pass behind a card.

"across" is the axis along a row, "along" the axis from row to row. Units are canvas pixels at zoom 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import ceil
from types import MappingProxyType
from typing import Literal

from conductor.drawing.layered_layout import Node, Strands, generations_of, ordered, rows_of, straightened
from conductor.workflow.model import Workflow

Direction = Literal["down", "right"]
CardKind = Literal["full", "brief", "flat"]
"""Title, instruction, worker and state; title over some lines and the worker; all of it in one line."""

KINDS: tuple[CardKind, ...] = ("full", "brief", "flat")
"""From the richest to the poorest."""

Point = tuple[float, float]

MARGIN = 24
"""Free pixels around a fitted picture; the browser counts the same."""

_HIGH, _HIGHEST = 728, 1040
"""Pixels a picture may be high, and may be high where it could not be read otherwise."""

_NARROWEST, _WIDEST = 320, 1800
"""No window leaves a picture fewer or more pixels of width than these."""


@dataclass(frozen=True, slots=True)
class Card:
    """A step's rectangle: its centre and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture's geometry with its upper left corner at (0, 0).

    `cards` by position. `routes` by (read step, reading step): an even number of points, out-port first,
    in-port last. From an even point to the next runs a curve through the space between two rows (a cubic
    whose tangents point from row to row, control points half-way), from an odd point a straight lane.
    `readable` is the zoom from which on its letters are large enough and its titles have room.
    """

    direction: Direction
    kind: CardKind
    cards: tuple[Card, ...]
    routes: Mapping[tuple[int, int], tuple[Point, ...]]
    width: float
    height: float
    readable: float

    @property
    def least_width(self) -> int:
        """Pixels of a window's width from which on it can be read, margins included."""
        return ceil(self.width * self.readable) + 2 * MARGIN

    @property
    def least_height(self) -> int:
        """Pixels it has to be high to be read."""
        return ceil(self.height * self.readable)

    @property
    def most_height(self) -> int:
        """Pixels it is shown high at most; what cannot be read even so is zoomed into."""
        return self.least_height if _HIGH < self.least_height <= _HIGHEST else _HIGH


@dataclass(frozen=True, slots=True)
class _Scale:
    """Sizes of one kind of card in one direction: a card's, the spaces around it, the most cards in a row.

    Rows are `gap` apart, and up to `steep_gap` more where edges reach far. `readable` as in a `Layout`, for
    titles of 30 letters; `high` is how many pixels the picture may be high.
    """

    kind: CardKind
    direction: Direction
    width: int
    height: int
    between_cards: int
    beside_lane: int
    between_lanes: int
    gap: int
    steep_gap: int
    widest_row: int
    readable: float
    high: int = _HIGH

    @property
    def depth(self) -> int:
        """A card's size from row to row."""
        return self.height if self.direction == "down" else self.width

    @property
    def most_rows(self) -> int:
        """How many rows a screen has room for that are large enough to be read."""
        room = self.high if self.direction == "down" else _WIDEST
        return int((room / self.readable + self.gap) / (self.depth + self.gap))


_DOWN = (
    _Scale("full", "down", 240, 126, 32, 22, 14, 40, 40, 5, 0.75),
    _Scale("brief", "down", 200, 84, 20, 14, 10, 24, 12, 4, 0.75),
    _Scale("flat", "down", 300, 34, 24, 18, 10, 20, 8, 4, 0.63),
    _Scale("flat", "down", 300, 34, 24, 18, 10, 20, 8, 4, 0.63, _HIGHEST),
)
_RIGHT = (
    _Scale("full", "right", 240, 126, 26, 22, 14, 60, 30, 6, 0.75),
    _Scale("brief", "right", 130, 132, 18, 14, 10, 34, 14, 6, 0.62),
)
"""In order of preference."""

_ROOMY: Mapping[tuple[CardKind, int], tuple[int, float]] = {
    ("brief", 1): (320, 0.75),
    ("brief", 2): (250, 0.75),
    ("flat", 1): (460, 0.44),
    ("flat", 2): (380, 0.49),
}
"""Another width and least zoom for rows of so many cards, drawn downwards."""

_PORT_GAP = 20
"""Between neighbouring in-ports, where the card's edge is long enough."""

_PORT_INSET = 16
"""Distance of in-ports from a card's round corners."""


def layouts(
    workflow: Workflow, *, direction: Direction = "down", kinds: tuple[CardKind, ...] = KINDS
) -> tuple[Layout, ...]:
    """The pictures of `workflow`, the best first, each for narrower windows than those before it.

    To be shown is the first one whose `least_width` there is, else the last one. What is too long to be
    read from left to right is drawn downwards in the end. Where it cannot be read in cards of one of
    `kinds`, there is a picture of flat ones.
    """
    return _layouts(tuple(step.access for step in workflow.steps), direction, kinds)


@lru_cache(maxsize=64)
def _layouts(
    access: tuple[tuple[int, ...], ...], direction: Direction, kinds: tuple[CardKind, ...]
) -> tuple[Layout, ...]:
    """Cached, because a page redraws four times a second while texts change and the shape does not."""
    generations = generations_of(access)
    chosen: list[Layout] = []
    least = _WIDEST
    for scale in (*(_RIGHT if direction == "right" else ()), *_DOWN):
        if scale.kind not in kinds:
            continue
        for widest in range(min(scale.widest_row, max(map(len, generations))), 0, -1):
            rows = rows_of(generations, widest)
            shown = _roomy(scale, widest)
            if least <= _NARROWEST or len(rows) > shown.most_rows:
                continue
            picture = _Picture(rows, access, shown).layout()
            if picture.least_width < least and picture.least_height <= shown.high:
                chosen.append(picture)
                least = picture.least_width
    if all(picture.direction == "right" for picture in chosen):
        # Such a picture has to be zoomed into to be read.
        rows = rows_of(generations, _DOWN[-1].widest_row)
        longest = _Picture(rows, access, _roomy(_DOWN[-1], max(map(len, rows)))).layout()
        if longest.least_width < least or not chosen:
            chosen.append(longest)
    return tuple(chosen)


def _roomy(scale: _Scale, widest: int) -> _Scale:
    """Cards of a narrow plan are broader where they are not high: width is what it has left over."""
    if scale.direction == "down" and (scale.kind, widest) in _ROOMY:
        width, readable = _ROOMY[scale.kind, widest]
        return replace(scale, width=width, readable=readable)
    return scale


def _separations(row: Sequence[Node], strands: Strands, scale: _Scale) -> list[float]:
    """The least distance between the middles of each two neighbours in a row."""
    half = (scale.width if scale.direction == "down" else scale.height) / 2
    spaces = (2 * half + scale.between_cards, half + scale.beside_lane, scale.between_lanes)
    return [spaces[strands.is_lane(left) + strands.is_lane(right)] for left, right in pairwise(row)]


class _Picture:
    """Turns rows of steps into cards and routes: orders their strands, and gives each a place across."""

    def __init__(
        self, rows: Sequence[Sequence[int]], access: tuple[tuple[int, ...], ...], scale: _Scale
    ) -> None:
        self.strands = strands = ordered(Strands.of(rows, access))
        separations = [_separations(row, strands, scale) for row in strands.rows]
        across = straightened(strands, separations=separations)
        self.scale, self.down = scale, scale.direction == "down"
        self.extent, self.depth = scale.width if self.down else scale.height, scale.depth
        first = min(at - (0 if strands.is_lane(node) else self.extent / 2) for node, at in across.items())
        self.across = {node: round(at - first) for node, at in across.items()}
        self.starts = self._starts()

    def layout(self) -> Layout:
        steps = range(len(self.strands.access))
        breadth = max(
            at + (0 if self.strands.is_lane(node) else self.extent / 2) for node, at in self.across.items()
        )
        length = self.starts[-1] + self.depth
        width, height = self._point(breadth, length)
        return Layout(
            direction=self.scale.direction,
            kind=self.scale.kind,
            cards=tuple(self._card(step) for step in steps),
            routes=MappingProxyType({edge: points for step in steps for edge, points in self._routes(step)}),
            width=width,
            height=height,
            readable=self.scale.readable,
        )

    def _starts(self) -> list[float]:
        """Where each row begins along; far-reaching curves get a deeper space, so that they stay steep."""
        starts = [0.0]
        for row in self.strands.rows[:-1]:
            edges = ((node, below) for node in row for below in self.strands.below[node])
            reach = max((abs(self.across[node] - self.across[below]) for node, below in edges), default=0)
            gap = self.scale.gap + min(self.scale.steep_gap, round(reach * 0.06))
            starts.append(starts[-1] + self.depth + gap)
        return starts

    def _card(self, step: int) -> Card:
        row = self.strands.row_of[step]
        x, y = self._point(self.across[step, row], self.starts[row] + self.depth / 2)
        return Card(x=x, y=y, width=self.scale.width, height=self.scale.height)

    def _routes(self, reader: int) -> list[tuple[tuple[int, int], tuple[Point, ...]]]:
        """The routes into `reader`, each to its own in-port, in the order in which they arrive."""
        row = self.strands.row_of[reader]
        reads = sorted(self.strands.access[reader], key=lambda read: (self.across[read, row - 1], read))
        middle = self.across[reader, row]
        room = self.extent - 2 * _PORT_INSET
        step = min(_PORT_GAP, room / max(1, len(reads) - 1))
        ports = (middle + step * (i - (len(reads) - 1) / 2) for i in range(len(reads)))
        return [
            ((read, reader), self._route(read, row, port)) for read, port in zip(reads, ports, strict=True)
        ]

    def _route(self, read: int, row: int, port: float) -> tuple[Point, ...]:
        points = []
        for passed in range(self.strands.row_of[read], row):
            lane = self.across[read, passed]
            if passed > self.strands.row_of[read]:
                points.append(self._point(lane, self.starts[passed]))
            points.append(self._point(lane, self.starts[passed] + self.depth))
        points.append(self._point(port, self.starts[row]))
        return tuple(points)

    def _point(self, across: float, along: float) -> Point:
        return (across, along) if self.down else (along, across)
