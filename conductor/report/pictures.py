"""A run as shapes of SVG: the graph in the app's layouts, and the steps by time. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import floor, log10

from conductor.drawing.columns import Point
from conductor.drawing.layout import MARGIN, Card, Layout
from conductor.runs.timed_call import TimedCall
from conductor.runs.timeline import Timeline, TimelineRow

_ARROW = 8.0
"""Length of an arrow's head."""

_CORNER = 9.0
"""The most of a corner of an edge that is round."""

_LETTER, _READABLE = 13.0, 9.8
"""Sizes of letters in pixels: of a title at zoom 1, and the least on the screen."""

_LARGEST = 1.1
"""The zoom at which a small graph is shown at most."""

ROW_HEIGHT, _NESTED_HEIGHT = 28, 9

_LEAST = 0.4
"""Percent of a chart that a nested bar takes at least, to be seen."""

_TICKS = 5
"""About as many steps of the axis."""


# -- the graph -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Picture:
    """One drawing of the graph, to be shown where there are `least_width` pixels; a narrower one follows.

    `cards` lie at their upper left corners; `edges` have the reading step (from 0) and two paths of SVG each,
    a line and the head of its arrow.
    `letter` is the size of a title's letters: where the picture is as small as it may be, they can be read.
    """

    kind: str
    width: float
    height: float
    shown_width: int
    least_width: int
    letter: float
    cards: tuple[Card, ...]
    edges: tuple[tuple[int, str, str], ...]


def picture(layout: Layout) -> Picture:
    width = layout.width + 2 * MARGIN
    return Picture(
        kind=layout.kind,
        width=width,
        height=layout.height + 2 * MARGIN,
        shown_width=round(width * _LARGEST),
        least_width=layout.least_width,
        letter=max(_LETTER, _READABLE / layout.readable),
        cards=layout.cards,
        edges=tuple((reader, *_edge(route)) for (_, reader), route in layout.routes.items()),
    )


def _edge(route: tuple[Point, ...]) -> tuple[str, str]:
    """The line of a route that runs downwards, with round corners, and the head of its arrow."""
    *corners, (x, y) = route
    points = [*corners, (x, y - _ARROW * 0.8)]
    line = [f"M{_xy(points[0])}"]
    for i, (before, at, after) in enumerate(zip(points, points[1:], points[2:], strict=False)):
        room = min(
            _apart(before, at) / (2 if i else 1), _apart(at, after) / (2 if i + 3 < len(points) else 1)
        )
        radius = min(_CORNER, room)
        line.append(f"L{_xy(_towards(at, before, radius))}Q{_xy(at)} {_xy(_towards(at, after, radius))}")
    line.append(f"L{_xy(points[-1])}")
    half = _ARROW * 0.48
    head = f"M{_xy((x, y))}L{_xy((x - half, y - _ARROW))}L{_xy((x + half, y - _ARROW))}Z"
    return "".join(line), head


def _apart(one: Point, other: Point) -> float:
    """The length of a stretch that runs along or across."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(start: Point, end: Point, distance: float) -> Point:
    share = distance / (_apart(start, end) or 1.0)
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _xy(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


# -- the steps by time -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NestedBar:
    """A request or a call of a tool below the bar of its step; its place and length are in percent."""

    kind: str
    top: int
    start: float
    length: float
    words: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A step's lane: where its bar begins and how long it is, in percent; a bar without length is a mark.

    `start` is None if the step has no place in time. `critical`: the run was as long as it was because of
    this step, too.
    """

    top: int
    height: int
    start: float | None
    length: float
    critical: bool
    end: str
    retries: tuple[float, ...]
    calls: tuple[NestedBar, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """All lanes; `ticks` are places of the axis in percent and their words."""

    lanes: tuple[Lane, ...]
    ticks: tuple[tuple[float, str], ...]
    height: int

    @property
    def nested(self) -> bool:
        """Whether a step called tools."""
        return any(lane.calls for lane in self.lanes)

    @property
    def failed(self) -> bool:
        """Whether a request or a call of a tool gave an error."""
        return any(call.kind == "failed" for lane in self.lanes for call in lane.calls)


def chart_of(timeline: Timeline) -> Chart:
    whole = timeline.seconds or 1.0
    heights = [ROW_HEIGHT + _NESTED_HEIGHT * row.lanes for row in timeline.rows]
    tops = accumulate(heights, initial=0)
    return Chart(
        lanes=tuple(
            _lane(row, timeline, whole, *box) for row, *box in zip(timeline.rows, tops, heights, strict=False)
        ),
        ticks=tuple((100 * at / whole, _mark(at, timeline.seconds)) for at in _places(timeline.seconds)),
        height=sum(heights),
    )


def _lane(row: TimelineRow, timeline: Timeline, whole: float, top: int, height: int) -> Lane:
    end = timeline.seconds if row.end is None else row.end
    length = 0.0 if row.start is None else max(0.0, end - row.start)
    return Lane(
        top=top,
        height=height,
        start=None if row.start is None else min(100.0, 100 * row.start / whole),
        length=min(100.0, 100 * length / whole) if row.part == "called" else 0.0,
        critical=row.step in timeline.path,
        end=row.status,
        retries=tuple(100 * at / whole for at in row.retries),
        # Calls that took almost no time are drawn over the requests beside them.
        calls=tuple(
            _nested(call, row, end, whole, top)
            for call in sorted(row.calls, key=lambda call: call.tool is not None)
        ),
    )


def _nested(call: TimedCall, row: TimelineRow, end: float, whole: float, top: int) -> NestedBar:
    start = max(0.0, call.started_at)
    ended = end if call.ended_at is None else call.ended_at
    return NestedBar(
        kind="failed" if call.failed else "request" if call.tool is None else "tool",
        top=top + ROW_HEIGHT - 2 + _NESTED_HEIGHT * min(call.lane, row.lanes - 1),
        start=min(100.0, 100 * start / whole),
        length=min(100.0, max(_LEAST, 100 * (ended - start) / whole)),
        words=call.line(end),
    )


def _mark(at: float, whole: float) -> str:
    """A place of the axis in a unit that suits the whole."""
    if not at:
        return "0"
    if whole < 1:
        return f"{at * 1000:.6g} ms"
    return f"{at:.6g} s" if whole < 300 else f"{at / 60:.4g} min"


def _places(seconds: float) -> Iterator[float]:
    """Round numbers of seconds from 0 to before the end."""
    yield 0.0
    if seconds <= 0:
        return
    rough = seconds / _TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    at = step
    while at < seconds * 0.94:
        yield at
        at += step
