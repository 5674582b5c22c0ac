"""Where the cards and edges of a workflow's picture lie: pure geometry, the same for the same access.

Knows a workflow's shape and the sizes of cards; knows nothing of texts, states, colours or canvases.
Layered: networkx gives the generations, every generation becomes one or more rows, an edge over
several rows runs in lanes between the cards. All cards of a row are equally deep, so the space between
two rows is free of cards: edges curve only there and are straight inside a row. That is why no edge
can pass behind a card.

"across" is the axis along a row, "along" the axis from row to row. Units are canvas pixels at zoom 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

import networkx as nx

from conductor.strands import Node, Strands, ordered, straightened
from conductor.workflow import Workflow

Direction = Literal["down", "right"]
Density = Literal["full", "compact"]
Point = tuple[float, float]

FULL_STEPS = 14
FULL_ROWS = 8
"""Full cards up to this many steps in this many rows; a longer plan gets flat cards that stay readable."""

GRAPH_MARGIN = 24
"""Free pixels around a fitted picture; the component's view uses the same."""


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
    """

    direction: Direction
    density: Density
    cards: tuple[Card, ...]
    routes: Mapping[tuple[int, int], tuple[Point, ...]]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Scale:
    """Sizes of one density in one direction: a card's, the spaces around it, the most cards in a row.

    Rows are `gap` apart, and up to `steep_gap` more where edges reach far.
    """

    width: int
    height: int
    between_cards: int
    beside_lane: int
    between_lanes: int
    gap: int
    steep_gap: int
    widest_row: int


_SCALES: Mapping[tuple[Density, Direction], _Scale] = {
    ("full", "down"): _Scale(236, 84, 32, 22, 14, 46, 40, 5),
    ("full", "right"): _Scale(236, 84, 26, 22, 14, 60, 30, 6),
    ("compact", "down"): _Scale(300, 34, 24, 18, 10, 20, 8, 4),
    ("compact", "right"): _Scale(176, 48, 18, 14, 10, 36, 20, 12),
}

_PORT_GAP = 20
"""Between neighbouring in-ports, where the card's edge is long enough."""

_PORT_INSET = 16
"""In-ports keep clear of a card's round corners."""


def layout(workflow: Workflow, *, direction: Direction = "down", density: Density | None = None) -> Layout:
    """The picture of `workflow`; `density` None chooses by the number of steps and rows."""
    return _layout(tuple(step.access for step in workflow.steps), direction, density)


def graph_height(layout: Layout, width_hint: int) -> int:
    """Pixels of height that suit a picture shown `width_hint` pixels wide: 200 to 820, no zoom above 1."""
    free = 2 * GRAPH_MARGIN
    scale = min(1.0, max(width_hint - free, 1) / layout.width)
    return round(min(820, max(200, layout.height * scale + free)))


@lru_cache(maxsize=64)
def _layout(access: tuple[tuple[int, ...], ...], direction: Direction, density: Density | None) -> Layout:
    """Cached, because a page redraws four times a second while texts change and the shape does not."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(access)))
    graph.add_edges_from((read, reader) for reader, reads in enumerate(access) for read in reads)
    generations = [sorted(generation) for generation in nx.topological_generations(graph)]
    density = density or _density(len(access), len(generations))
    scale = _scale(density, direction, widest=max(map(len, generations)))
    rows = [part for generation in generations for part in _split(generation, scale.widest_row)]
    strands = ordered(Strands.of(rows, access))
    across = straightened(
        strands, separations=[_separations(row, strands, scale, direction) for row in strands.rows]
    )
    return _Picture(strands, across, scale, direction, density).layout()


def _scale(density: Density, direction: Direction, *, widest: int) -> _Scale:
    """Flat cards of a narrow plan are wider: width is what it has left over, and titles need it."""
    scale = _SCALES[density, direction]
    if (density, direction) != ("compact", "down"):
        return scale
    return replace(scale, width={1: 460, 2: 380}.get(widest, scale.width))


def _density(steps: int, rows: int) -> Density:
    return "full" if steps <= FULL_STEPS and rows <= FULL_ROWS else "compact"


def _split(generation: Sequence[int], widest: int) -> list[list[int]]:
    """A generation in as few rows as needed, evenly filled."""
    count = -(-len(generation) // widest)
    return [
        list(generation[i * len(generation) // count : (i + 1) * len(generation) // count])
        for i in range(count)
    ]


def _separations(row: Sequence[Node], strands: Strands, scale: _Scale, direction: Direction) -> list[float]:
    """The least distance between the middles of each two neighbours in a row."""
    half = (scale.width if direction == "down" else scale.height) / 2
    spaces = (2 * half + scale.between_cards, half + scale.beside_lane, scale.between_lanes)
    return [spaces[strands.is_lane(left) + strands.is_lane(right)] for left, right in pairwise(row)]


class _Picture:
    """Turns ordered strands and their positions across into cards and routes."""

    def __init__(
        self,
        strands: Strands,
        across: Mapping[Node, float],
        scale: _Scale,
        direction: Direction,
        density: Density,
    ) -> None:
        self.strands, self.scale, self.direction, self.density = strands, scale, direction, density
        down = direction == "down"
        self.extent, self.depth = (scale.width, scale.height) if down else (scale.height, scale.width)
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
            direction=self.direction,
            density=self.density,
            cards=tuple(self._card(step) for step in steps),
            routes=MappingProxyType({edge: points for step in steps for edge, points in self._routes(step)}),
            width=width,
            height=height,
        )

    def _starts(self) -> list[float]:
        """Where each row begins along; far-reaching curves get a deeper space, so that they stay steep."""
        starts = [0.0]
        for row in self.strands.rows[:-1]:
            reach = max(
                (
                    abs(self.across[node] - self.across[below])
                    for node in row
                    for below in self.strands.below[node]
                ),
                default=0,
            )
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
        return (across, along) if self.direction == "down" else (along, across)
