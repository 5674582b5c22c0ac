"""Lays out the cards and edges of a workflow's pictures: pure geometry, the same for the same access.

Knows a workflow's shape and the sizes of cards; knows nothing of texts, states, colours or canvases. How
wide the window is only the browser knows, so there are several pictures of one workflow, each with the
width from which on it can be read.
Layered: every generation of steps becomes one or more rows, an edge over several rows runs in lanes between
the cards. All cards of a row are equally deep, so the space between two rows is free of cards: edges run
across only there, each on a track of its own, and are straight inside a row. That is why no edge can pass
behind a card, and none lies on another that leads elsewhere.

"across" is the axis along a row, "along" the axis from row to row. Units are canvas pixels at zoom 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise
from math import ceil, copysign
from types import MappingProxyType
from typing import Literal

from conductor.drawing.blocks import Blocks
from conductor.drawing.columns import Columns, Point
from conductor.drawing.layered_layout import (
    Node,
    Strands,
    generations_of,
    ordered,
    settled,
    split_rows,
    straightened,
)
from conductor.drawing.tracks import Run, tracks
from conductor.workflow.model import Workflow

Direction = Literal["down", "right"]
CardKind = Literal["full", "brief", "flat"]
"""Title, instruction, worker and state; title over some lines and the worker; all of it in one line."""

KINDS: tuple[CardKind, ...] = ("full", "brief", "flat")
"""From the richest to the poorest."""

MARGIN = 24
"""Free pixels around a fitted picture; the browser counts the same."""

_HIGH, _HIGHEST = 728, 1040
"""Pixels a picture may be high, and may be high where it could not be read otherwise."""

_MOST_PICTURES = 14
"""How many pictures a page is given at most, the ones that need the least room."""

LARGE = 100
"""Steps from which on there is one picture: whatever it is, it has to be zoomed into to be read."""

_NARROWEST, _WIDEST = 320, 1800
"""No window leaves a picture fewer or more pixels of width than these."""

_WIDEST_PANE, _HIGHEST_PANE = 3600, 2000
"""No window leaves a pane more pixels of width or height than these."""


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
    """A picture's geometry with its upper left corner at (0, 0), or where an earlier one lets it be.

    `cards` by position. `routes` by (read step, reading step): the corners of a line that runs along and
    across in turn, an even number, out-port first, in-port last. Edges into one step may share its end.
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

    Rows are `gap` apart, and up to `more_gap` more, or what is needed, where many edges run across.
    `readable` as in a `Layout`, for titles of 30 letters; `high` is how many pixels the picture may be high.
    """

    kind: CardKind
    direction: Direction
    width: int
    height: int
    between_cards: int
    beside_lane: int
    between_lanes: int
    gap: int
    more_gap: int
    widest_row: int
    readable: float
    high: int = _HIGH

    @property
    def depth(self) -> int:
        """A card's size from row to row."""
        return self.height if self.direction == "down" else self.width

    def most_rows(self, *, width: int, height: int) -> int:
        """How many rows there is room for that are large enough to be read."""
        room = height if self.direction == "down" else width
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

_IN_GAP, _OUT_GAP = 18, 26
"""Between neighbouring ports, where the card's edge is long enough. They differ, so that what leaves a card
and what comes to the one below it do so at different places."""

_PORT_INSET = 16
"""Distance of ports from a card's round corners."""

_TRACK_GAP = 8
"""Between neighbouring tracks, where there is room."""

_LEAST_TRACK_GAP, _MOST_NEEDED = 3, 20
"""Between tracks that are to be seen as two, and how much rows are moved apart for that at most."""

_MOST_LINES, _MOST_IN_PANE, _MOST_IN_LARGE = 44, 90, 12
"""How many lines pass a row at most where edges share lines: on a page of any width, where so many left and
right of the broadest card can be read in 640 pixels, and in a pane, for which such a picture is too high
anyway; and in the one picture of a large plan.
"""

_BEFORE_TRACKS, _BEHIND_TRACKS = 9, 15
"""From the cards to the first track, and from the last one to the cards that the arrows end at."""


Hop = tuple[Node, Node, int]
"""What leads from a node to one in the next row, by its line in the strand of its reader."""


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """What is drawn until now: its pictures, and the position there of each step that it has."""

    pictures: tuple[Layout, ...]
    positions: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _EarlierPlaces:
    """Where cards that stay in their rows are across, from the middle, and where each row began along."""

    across: Mapping[int, float]
    starts: Sequence[float]
    middle: int = 0

    @classmethod
    def of(cls, earlier: Earlier | None, rows: Sequence[Sequence[int]], scale: _Scale) -> _EarlierPlaces:
        """Those in the earlier picture of this scale that has the most steps in the same rows."""
        places = [cls({}, ())]
        for picture in earlier.pictures if earlier else ():
            look = (picture.direction, picture.kind, picture.cards[0].width)
            if earlier and look == (scale.direction, scale.kind, scale.width):
                places.append(cls._of_picture(picture, earlier.positions, rows))
        return max(places, key=lambda each: len(each.across))

    @classmethod
    def _of_picture(
        cls, picture: Layout, positions: Mapping[int, int], rows: Sequence[Sequence[int]]
    ) -> _EarlierPlaces:
        down = picture.direction == "down"
        spots = [(card.top, card.x) if down else (card.left, card.y) for card in picture.cards]
        starts = sorted({start for start, _ in spots})
        ends = [(card.left, card.right) if down else (card.top, card.bottom) for card in picture.cards]
        middle = int(min(start for start, _ in ends) + max(end for _, end in ends)) // 2
        across = {
            step: spots[positions[step]][1] - middle
            for row, start in zip(rows, starts, strict=False)
            for step in row
            if step in positions and spots[positions[step]][0] == start
        }
        return cls(across, starts, middle)

    def gap(self, row: int, depth: float) -> float:
        """The space there was behind a row, 0 where there was none."""
        return self.starts[row + 1] - self.starts[row] - depth if row + 1 < len(self.starts) else 0.0


def layouts(
    workflow: Workflow, *, direction: Direction = "down", kinds: tuple[CardKind, ...] = KINDS
) -> tuple[Layout, ...]:
    """The pictures of `workflow`, the best first, each for narrower windows than those before it.

    To be shown is the first one whose `least_width` there is, else the last one. What is too long to be
    read from left to right is drawn downwards in the end. Where it cannot be read in cards of one of
    `kinds`, there is a picture of flat ones.
    """
    return access_layouts(tuple(step.access for step in workflow.steps), direction, kinds)


def pane_layouts(
    workflow: Workflow, *, direction: Direction = "down", earlier: Earlier | None = None
) -> tuple[Layout, ...]:
    """The pictures of `workflow` for a pane whose width and height are given, the best first.

    To be shown is the first one whose `least_width` and `least_height` there are. None needs as much of both
    as one before it. What was drawn `earlier` stays where it was: a card moves where its row
    is another one or there is no room for it, rows where edges need the room between them.
    """
    return _pane_layouts(tuple(step.access for step in workflow.steps), direction, earlier)


@lru_cache(maxsize=64)
def _pane_layouts(
    access: tuple[tuple[int, ...], ...], direction: Direction, earlier: Earlier | None
) -> tuple[Layout, ...]:
    if len(access) > LARGE:
        return (_large_layout(access, earlier),)
    generations = generations_of(access)
    chosen: list[Layout] = []
    for scale in (*(_RIGHT if direction == "right" else ()), *_DOWN[:-1]):
        for widest in range(min(scale.widest_row, max(map(len, generations))), 0, -1):
            rows, roomy_scale = split_rows(generations, widest), _roomy(scale, widest)
            if len(rows) > roomy_scale.most_rows(width=_WIDEST_PANE, height=_HIGHEST_PANE):
                continue
            picture = _Picture(rows, access, roomy_scale, earlier, most_lines=_MOST_IN_PANE).layout()
            if not any(
                other.least_width <= picture.least_width and other.least_height <= picture.least_height
                for other in chosen
            ):
                chosen.append(picture)
    return tuple(chosen[-_MOST_PICTURES:]) or (_large_layout(access, earlier),)


@lru_cache(maxsize=64)
def access_layouts(
    access: tuple[tuple[int, ...], ...], direction: Direction, kinds: tuple[CardKind, ...]
) -> tuple[Layout, ...]:
    """The same of as many steps as there are access lists, without a workflow of them.

    Cached, because a page redraws four times a second while texts change and the shape does not."""
    if len(access) > LARGE:
        return (_large_layout(access, None),)
    generations = generations_of(access)
    chosen: list[Layout] = []
    least = _WIDEST
    for scale in (*(_RIGHT if direction == "right" else ()), *_DOWN):
        if scale.kind not in kinds:
            continue
        for widest in range(min(scale.widest_row, max(map(len, generations))), 0, -1):
            rows = split_rows(generations, widest)
            roomy_scale = _roomy(scale, widest)
            most = roomy_scale.most_rows(width=_WIDEST, height=roomy_scale.high)
            if least <= _NARROWEST or len(rows) > most:
                continue
            picture = _Picture(rows, access, roomy_scale).layout()
            if picture.least_width < least and picture.least_height <= roomy_scale.high:
                chosen.append(picture)
                least = picture.least_width
    if all(picture.direction == "right" for picture in chosen):
        # Such a picture has to be zoomed into to be read.
        rows = split_rows(generations, _DOWN[-1].widest_row)
        longest = _Picture(rows, access, _roomy(_DOWN[-1], max(map(len, rows)))).layout()
        if longest.least_width < least or not chosen:
            chosen.append(longest)
    return tuple(chosen)


@lru_cache(maxsize=16)
def _large_layout(access: tuple[tuple[int, ...], ...], earlier: Earlier | None) -> Layout:
    """The one picture of a plan that no window shows as a whole in letters to be read: downwards, about as
    broad as it is high, wide generations in blocks, a long chain in columns. Edges share few lines: from afar
    many are one grey surface.
    """
    generations, scale = generations_of(access), _DOWN[-1]
    if max(map(len, generations)) <= scale.widest_row:
        # Of few steps side by side, edges are to be straight.
        picture = _Picture(generations, access, scale, earlier, most_lines=_MOST_IN_LARGE)
        return _in_columns(picture.layout(), picture.starts)
    blocks = Blocks(generations, access, width=scale.width, height=scale.height)
    routes = MappingProxyType(blocks.routes())
    return _in_columns(replace(_cards_of(blocks), routes=routes), blocks.tops)


def outline(access: tuple[tuple[int, ...], ...]) -> Layout:
    """The cards of a large plan without its edges: as it is seen from afar."""
    scale = _DOWN[-1]
    blocks = Blocks(generations_of(access), access, width=scale.width, height=scale.height)
    return _in_columns(_cards_of(blocks), blocks.tops)


def _cards_of(blocks: Blocks) -> Layout:
    scale = _DOWN[-1]
    return Layout(
        direction=scale.direction,
        kind=scale.kind,
        cards=tuple(Card(x=x, y=y, width=scale.width, height=scale.height) for x, y in blocks.middles),
        routes=MappingProxyType({}),
        width=blocks.breadth,
        height=blocks.length,
        readable=scale.readable,
    )


def _in_columns(layout: Layout, starts: Sequence[float]) -> Layout:
    columns = Columns(starts, layout.routes.values(), layout.width)
    cards = tuple(
        replace(card, x=x, y=y) for card in layout.cards for x, y in [columns.place(card.x, card.y)]
    )
    routes = {edge: columns.route(points) for edge, points in layout.routes.items()}
    corners = [*chain.from_iterable(routes.values()), *((card.right, card.bottom) for card in cards)]
    width, height = (max(ends) for ends in zip(*corners, strict=True))
    return replace(layout, cards=cards, routes=MappingProxyType(routes), width=width, height=height)


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
    more = [_half_of_strand(node, strands, scale) for node in row]
    return [
        spaces[strands.is_lane(left) + strands.is_lane(right)] + more[at] + more[at + 1]
        for at, (left, right) in enumerate(pairwise(row))
    ]


def _half_of_strand(node: Node, strands: Strands, scale: _Scale) -> float:
    """From the middle of a strand to its outermost line; 0 for a card."""
    return (len(strands.lines[node[0]]) - 1) * scale.between_lanes / 2 if strands.is_lane(node) else 0


class _Picture:
    """Turns rows of steps into cards and routes: orders their strands, and gives each a place across."""

    def __init__(
        self,
        rows: Sequence[Sequence[int]],
        access: tuple[tuple[int, ...], ...],
        scale: _Scale,
        earlier: Earlier | None = None,
        *,
        most_lines: int = _MOST_LINES,
    ) -> None:
        self.strands = strands = ordered(Strands.of(rows, access, most_lines))
        self.before = _EarlierPlaces.of(earlier, rows, scale)
        separations = [_separations(row, strands, scale) for row in strands.rows]
        across = straightened(strands, separations=separations, before=self.before.across)
        self.scale, self.down = scale, scale.direction == "down"
        self.extent, self.depth = scale.width if self.down else scale.height, scale.depth
        # What is drawn already keeps its places, also where others come before them.
        first = -self.before.middle if self.before.across else self._ends(across)[0]
        self.across = {node: round(at - first) for node, at in across.items()}
        self.line_of = {
            (read, reader): at
            for reader, lines in strands.lines.items()
            for at, line in enumerate(lines)
            for read in line
        }
        self.sides = {reader: self._side(reader) for reader in strands.lines}
        self.ways = self._ways()
        self.starts, self.places = self._tracked()

    def layout(self) -> Layout:
        steps = range(len(self.strands.access))
        first, last = self._ends(self.across)
        breadth = last - first
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

    def _ends(self, across: Mapping[Node, float]) -> tuple[float, float]:
        """Where cards and lanes begin and end across."""
        halves = {
            node: _half_of_strand(node, self.strands, self.scale)
            if self.strands.is_lane(node)
            else self.extent / 2
            for node in across
        }
        return min(at - halves[node] for node, at in across.items()), max(
            at + halves[node] for node, at in across.items()
        )

    def _side(self, reader: int) -> int:
        """Whether what joins a strand later runs right (1) or left (-1) of what joined before."""
        row_of, reads = self.strands.row_of, chain.from_iterable(self.strands.lines[reader])
        aside = sum(self.across[read, row_of[read]] - self.across[reader, row_of[read] + 1] for read in reads)
        return 1 if aside >= 0 else -1

    def _place(self, node: Node, line: int) -> int:
        """Where a line of a strand is across."""
        beside = (line - (len(self.strands.lines[node[0]]) - 1) / 2) * self.scale.between_lanes
        return round(self.across[node] + self.sides[node[0]] * beside)

    def _hops(self, node: Node) -> Iterator[Hop]:
        """What leads on from a card or a strand."""
        for to in self.strands.below[node]:
            if not self.strands.is_lane(node):
                yield node, to, self.line_of.get((node[0], to[0]), 0)
                continue
            for line, reads in enumerate(self.strands.lines[to[0]]):
                if self.strands.row_of[reads[0]] < node[1]:
                    yield node, to, line

    def _ways(self) -> dict[Hop, tuple[int, int]]:
        """From where to where across each hop runs: ports of cards, lines of strands."""
        strands, across = self.strands, self.across
        starts: dict[Hop, int] = {}
        into: dict[Node, list[Hop]] = {node: [] for node in across}
        for node in strands.below:
            hops = list(self._hops(node))
            if strands.is_lane(node):
                starts |= {hop: self._place(node, hop[2]) for hop in hops}
            else:
                # A card is left at its middle, from which a port is looked for in turn.
                wished = {hop: self._target(hop) if strands.is_lane(hop[1]) else across[node] for hop in hops}
                hops.sort(key=lambda hop: (self._target(hop), hop[1]))
                starts |= zip(hops, self._ports(node, [wished[hop] for hop in hops], _OUT_GAP), strict=True)
            for hop in hops:
                into[hop[1]].append(hop)
        ends: dict[Hop, int] = {}
        for node, hops in into.items():
            if strands.is_lane(node):
                ends |= {hop: self._target(hop) for hop in hops}
            else:
                hops.sort(key=lambda hop: (starts[hop], hop[0]))
                ends |= zip(hops, self._ports(node, [starts[hop] for hop in hops], _IN_GAP), strict=True)
        return {hop: (start, ends[hop]) for hop, start in starts.items()}

    def _target(self, hop: Hop) -> int:
        """Where a hop leads across: to its line, or to the middle of its card."""
        return self._place(hop[1], hop[2]) if self.strands.is_lane(hop[1]) else self.across[hop[1]]

    def _ports(self, node: Node, wished: Sequence[int], gap: int) -> list[int]:
        """A place on a card for each edge, in order: where it would be straight, or near the middle, on the
        side that it comes from.
        """
        if not wished:
            return []
        room = self.extent / 2 - _PORT_INSET
        middle = self.across[node]
        apart = min(gap, 2 * room / max(1, len(wished) - 1))
        wishes = [
            ((float(at - middle), float(len(wished))),)
            if abs(at - middle) <= room
            else ((copysign(gap / 2, at - middle), 1.0),)
            for at in wished
        ]
        return [middle + round(at) for at in settled(wishes, [apart] * (len(wished) - 1), within=room)]

    def _tracked(self) -> tuple[list[float], dict[Hop, float]]:
        """Where each row begins along, and where along the edges run across."""
        starts, places = [0.0], dict[Hop, float]()
        for number, row in enumerate(self.strands.rows[:-1]):
            runs = {
                hop: Run(*self.ways[hop], hop[1:] if self.strands.is_lane(hop[1]) else hop)
                for node in row
                for hop in self._hops(node)
            }
            levels = tracks(runs)
            count = max(levels.values(), default=-1) + 1
            room = _BEFORE_TRACKS + _BEHIND_TRACKS
            gap: float = self.scale.gap
            wished, needed = (
                max(0, room + (count - 1) * each - gap) for each in (_TRACK_GAP, _LEAST_TRACK_GAP)
            )
            needed = min(_MOST_NEEDED, needed)
            gap += max(min(self.scale.more_gap, wished), needed)
            # Cards before more room between their edges.
            before = self.before.gap(number, self.depth)
            gap = max(before, self.scale.gap + needed) if before else gap
            apart = min(_TRACK_GAP, (gap - room) / max(1, count - 1))
            end = starts[-1] + self.depth
            first = (gap - room - (count - 1) * apart) / 2 + _BEFORE_TRACKS
            places |= {edge: end + first + level * apart for edge, level in levels.items()}
            starts.append(end + gap)
        return starts, places

    def _card(self, step: int) -> Card:
        row = self.strands.row_of[step]
        x, y = self._point(self.across[step, row], self.starts[row] + self.depth / 2)
        return Card(x=x, y=y, width=self.scale.width, height=self.scale.height)

    def _routes(self, reader: int) -> Iterator[tuple[tuple[int, int], tuple[Point, ...]]]:
        """The routes into `reader`."""
        for read in self.strands.access[reader]:
            yield (read, reader), self._route(read, reader)

    def _route(self, read: int, reader: int) -> tuple[Point, ...]:
        rows = range(self.strands.row_of[read], self.strands.row_of[reader])
        nodes = [(read, rows.start), *((reader, row + 1) for row in rows)]
        line = self.line_of.get((read, reader), 0)
        ways = [((node, to, line), *self.ways[node, to, line]) for node, to in pairwise(nodes)]
        points = [(ways[0][1], self.starts[rows.start] + self.depth)]
        for edge, start, end in ways:
            if start != end:
                points += [(start, self.places[edge]), (end, self.places[edge])]
        points.append((ways[-1][2], self.starts[rows.stop]))
        return tuple(self._point(*point) for point in points)

    def _point(self, across: float, along: float) -> Point:
        return (across, along) if self.down else (along, across)
