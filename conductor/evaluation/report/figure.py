"""Accuracy against what an answer takes, as it is drawn: points, scales, the Pareto front, and labels. Pure.

Knows the table's rows and where each is drawn; knows neither how (the app draws with Vega-Lite, an exported
page as SVG) nor in which colours. Labels stand beside their points, moved apart where they would meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from conductor.baselines.named import WORKER
from conductor.evaluation.evaluation_table import EvaluationTable, PlannerRow
from conductor.evaluation.mean import mean_words
from conductor.evaluation.report.labels import Box, Place, label_box, placed
from conductor.evaluation.report.names import planner_name
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec
from conductor.evaluation.statistics import pareto_front
from conductor.text.formatting import dollars, named

Axis = Literal["tokens", "cost", "calls"]
Kind = Literal["planner", "worker", "baseline"]

AXES: Mapping[Axis, str] = {"tokens": "Tokens", "cost": "Dollars", "calls": "Calls"}

AXIS_TITLES: Mapping[Axis, str] = {
    "tokens": "Tokens of planner and workers per question (log scale)",
    "cost": "US dollars per question (log scale)",
    "calls": "Model calls per question (log scale)",
}
LEVEL_TITLE = "Right answers"
MARKS = (
    "Vertical lines: 95% intervals. Stepped line: Pareto front. Coloured marks: single workers; "
    "hollow squares: baselines."
)

_AMOUNTS: Mapping[Axis, Callable[[PlannerRow], float | None]] = {
    "tokens": lambda row: None if row.tokens is None else row.tokens.value,
    "cost": lambda row: None if row.cost is None else row.cost.value,
    "calls": lambda row: None if row.calls is None else row.calls.value,
}

WIDTH, HEIGHT = 860, 380
"""Pixels between the axes for which labels are placed; where there is more room they stand further apart."""

ROUTER_PLACE = Place(4, 10)
"""Of the label of the perfect router, from the left end of its level."""

_LONGEST = 40
"""Characters of a label; what a point shows has the whole name."""


@dataclass(frozen=True, slots=True)
class Point:
    """A planner: its amount `x`, its accuracy as a share, and where its label stands. `front` is its position
    on the Pareto front, cheapest first; None beside it. A `lead` is the first planner or the Conductor.
    """

    row: PlannerRow
    name: str
    kind: Kind
    lead: bool
    front: int | None
    x: float
    accuracy: float
    low: float
    high: float
    place: Place

    @property
    def label(self) -> str:
        return self.name if len(self.name) <= _LONGEST else f"{self.name[: _LONGEST - 1].rstrip()}…"

    @property
    def details(self) -> Mapping[str, str]:
        """What is shown of it, by what that is called."""
        return {
            "Planner": self.name,
            "Right": f"{self.row.right} of {self.row.answers}, {self.accuracy:.1%}",
            "95% interval": f"{self.low:.1%} to {self.high:.1%}",
            "Tokens per question": mean_words(self.row.tokens, "{:,.0f}".format),
            "Cost per question": mean_words(self.row.cost, dollars),
            "Calls per question": mean_words(self.row.calls, "{:.1f}".format),
        }


@dataclass(frozen=True, slots=True)
class Scales:
    """The least and the greatest amount (a log scale), and the lowest and the highest level (shares)."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, amount: float, level: float) -> tuple[float, float]:
        """Where these are drawn, in pixels from the upper left corner."""
        (least, most), (low, high) = self.x, self.y
        across = WIDTH * math.log(amount / least) / math.log(most / least)
        return across, HEIGHT * (high - level) / (high - low)

    @property
    def amounts(self) -> tuple[float, ...]:
        """1, 2 and 5 of each power of ten within; of a wide scale the powers alone."""
        low, high = self.x
        steps = (1, 2, 5) if high / low < 2000 else (1,)
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = (step * 10.0**power for power in powers for step in steps)
        return tuple(tick for tick in ticks if low <= tick <= high)

    @property
    def levels(self) -> tuple[float, ...]:
        """Round levels within, six at the most."""
        low, high = (round(100 * level) for level in self.y)
        step = next(step for step in (2, 5, 10, 20) if (high - low) / step <= 5)
        return tuple(level / 100 for level in range(-(-low // step) * step, high + 1, step))


@dataclass(frozen=True, slots=True)
class Figure:
    """What is drawn against an axis; `router` is the accuracy of the perfect router, None without it."""

    axis: Axis
    points: tuple[Point, ...]
    router: float | None
    scales: Scales

    @property
    def front(self) -> tuple[Point, ...]:
        """The points that no other beats, cheapest first."""
        on = ((point.front, point) for point in self.points)
        return tuple(point for _, point in sorted((at, point) for at, point in on if at is not None))

    @property
    def router_label(self) -> str:
        return f"Perfect router, computed: {self.router:.1%}"


def axes(table: EvaluationTable) -> tuple[Axis, ...]:
    """What accuracy can be drawn against: what is known of two planners at least."""
    return tuple(axis for axis in AXES if len(_rows(table, axis)) > 1)


def figure_of(table: EvaluationTable, axis: Axis, spec: EvaluationSpec) -> Figure:
    """What is drawn of the planners whose amount is known and more than 0; there has to be one."""
    rows = _rows(table, axis)
    router = next((row.accuracy for row in table.rows if row.computed), None)
    xs = [_AMOUNTS[axis](row) or 0.0 for row in rows]
    scales = Scales(x=(min(xs) / 1.5, max(xs) * 1.7), y=_levels(rows, router))
    front = pareto_front({row.planner: (x, row.accuracy or 0.0) for row, x in zip(rows, xs, strict=True)})
    leads = (table.rows[0].planner, CONDUCTOR)
    points = [
        _point(row, x, front, planner_name(row.planner, spec), lead=row.planner in leads)
        for row, x in zip(rows, xs, strict=True)
    ]
    return _labelled(Figure(axis, tuple(points), router, scales))


def left_out(table: EvaluationTable, axis: Axis, spec: EvaluationSpec) -> str:
    """Which planners are not drawn, and why: what is unknown is not 0; "" where all are drawn."""
    what = "cost is" if axis == "cost" else f"{axis} are"
    reasons: dict[str, list[str]] = {}
    for row in table.rows:
        amount = _AMOUNTS[axis](row)
        if row.computed or (amount and row.answers):
            continue
        state = "unknown" if amount is None else "0, which a log scale does not have"
        reason = f"whose {what} {state}" if row.answers else "without an answer that was scored"
        reasons.setdefault(reason, []).append(planner_name(row.planner, spec))
    parts = [f"{named(names)}, {reason}" for reason, names in reasons.items()]
    return f"Not drawn: {'; '.join(parts)}." if parts else ""


def _rows(table: EvaluationTable, axis: Axis) -> Sequence[PlannerRow]:
    rows = [row for row in table.rows if not row.computed and row.accuracy is not None]
    return [row for row in rows if _AMOUNTS[axis](row)]


def _point(row: PlannerRow, x: float, front: Sequence[str], name: str, *, lead: bool) -> Point:
    rate = row.rate
    assert rate is not None, "a planner with answers has a rate"
    return Point(
        row=row,
        name=name,
        kind=_kind(row.planner),
        lead=lead,
        front=front.index(row.planner) if row.planner in front else None,
        x=x,
        accuracy=rate.mean,
        low=rate.interval.low,
        high=rate.interval.high,
        place=Place(),
    )


def _kind(planner: str) -> Kind:
    return "planner" if planner == CONDUCTOR else "worker" if planner.startswith(WORKER) else "baseline"


def _levels(rows: Sequence[PlannerRow], router: float | None) -> tuple[float, float]:
    """The lowest and the highest level to draw: whole tenths around all intervals."""
    intervals = [row.interval for row in rows if row.interval is not None]
    highest = max([each.high for each in intervals] + ([] if router is None else [router]))
    lowest = min(each.low for each in intervals)
    return max(0.0, math.floor(lowest * 10) / 10), min(1.0, math.ceil(highest * 10) / 10)


def _labelled(figure: Figure) -> Figure:
    """The same with a place for each label."""
    at = [figure.scales.at(point.x, point.accuracy) for point in figure.points]
    places = placed([point.label for point in figure.points], at, _lines(figure), within=(WIDTH, HEIGHT))
    points = tuple(replace(point, place=place) for point, place in zip(figure.points, places, strict=True))
    return replace(figure, points=points)


def _lines(figure: Figure) -> Iterator[Box]:
    """What is drawn as lines: the intervals, the steps of the front, and the level of the perfect router."""
    at = figure.scales.at
    for point in figure.points:
        x, top = at(point.x, point.high)
        yield Box(x - 1, top, x + 1, at(point.x, point.low)[1])
    for cheaper, better in pairwise(figure.front):
        (left, low), (right, high) = at(cheaper.x, cheaper.accuracy), at(better.x, better.accuracy)
        yield Box(left, low - 1, right, low + 1)
        yield Box(right - 1, high, right + 1, low)
    if figure.router is not None:
        level = at(figure.scales.x[0], figure.router)[1]
        yield Box(0, level - 1, WIDTH, level + 1)
        yield label_box(figure.router_label, (0, level), ROUTER_PLACE)
