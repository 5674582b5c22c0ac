"""The chart of usage by day, as bars in the colours of the workers: a specification of Vega-Lite. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from conductor.drawing.marks import Mark
from conductor.text.formatting import quantity
from conductor.values.total import NOTHING, Total
from pages.components.view_models.training_curves import Chart, Colours
from storage import Use

Amount = Literal["tokens", "dollars"]

_HEIGHT = 260
_MOST_SERIES = 8
"""As many as there are colours; what is used least is drawn together."""

_SMALL_DOLLARS = 0.2
"""Below, the axis has more than cents."""


@dataclass(frozen=True, slots=True)
class Series:
    """A worker's bars by day as 2026-11-01, or those of several workers; `mark` is the HTML of its shape."""

    name: str
    hue: str
    mark: str
    days: Mapping[str, Total]


def series_of(used: Sequence[Use], marks: Mapping[str, Mark], *, rest: str) -> tuple[Series, ...]:
    """A series a worker, first the one that used most tokens; `used` is by day and worker, `rest` the hue of
    those that are drawn together.
    """
    by_worker: dict[str, dict[str, Total]] = {}
    for use in used:
        day, worker = use.names
        if use.reality in {"real", "embedded"} and day is not None and worker is not None:
            of_worker = by_worker.setdefault(worker, {})
            of_worker[day] = of_worker.get(day, NOTHING) + use.total
    order = sorted(by_worker, key=lambda worker: (-_tokens(by_worker[worker]), worker))
    own = order if len(order) <= _MOST_SERIES else order[: _MOST_SERIES - 1]
    series = [Series(name, marks[name].hue, marks[name].html, by_worker[name]) for name in own]
    if others := order[len(own) :]:
        days: dict[str, Total] = {}
        for name in others:
            for day, total in by_worker[name].items():
                days[day] = days.get(day, NOTHING) + total
        square = f'<div aria-hidden="true" style="width: 12px; height: 12px; background: {rest}"></div>'
        series.append(Series(f"{quantity(len(others), 'other worker')}", rest, square, days))
    return tuple(series)


def _tokens(days: Mapping[str, Total]) -> int:
    return sum(total.lower.total or 0 for total in days.values())


def usage_chart(
    series: Sequence[Series], colours: Colours, *, amount: Amount, first: date, last: date
) -> Chart:
    """Stacked bars from the day `first` to `last`. A bar is as high as what its row of the table shows: the
    exact number, or the bound of it; what is unknown has no height.
    """
    days = [f"{first + timedelta(days=at):%Y-%m-%d}" for at in range((last - first).days + 1)]
    values = [
        _value(each.name, at, day, total, amount)
        for at, each in enumerate(series)
        for day, total in each.days.items()
    ]
    words, form = {"labelColor": colours.text}, _form(series, amount)
    encoding = {
        "x": {
            "field": "day",
            "type": "ordinal",
            "title": None,
            "scale": {"domain": days, "paddingInner": 0.25, "paddingOuter": 0.1},
            "axis": {
                **words, "labelExpr": "utcFormat(toDate(datum.value), '%b %-d')", "labelAngle": 0,
                "labelOverlap": "greedy", "labelSeparation": 12, "labelPadding": 6, "ticks": False,
                "domainColor": colours.quiet,
            },
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": None,
            "axis": {
                **words, "labelExpr": f"format(datum.value, '{form}')", "tickCount": 4, "ticks": False,
                "domain": False, "gridColor": colours.grid,
            },
        },
        "color": {
            "field": "worker",
            "type": "nominal",
            "scale": {"domain": [each.name for each in series], "range": [each.hue for each in series]},
            "legend": None,
        },
        "order": {"field": "at", "type": "quantitative"},
        "tooltip": [
            {"field": field, "type": "nominal", "title": title}
            for field, title in (
                ("worker", " "), ("day", "Day"), ("requests", "Requests"), ("tokens", "Tokens"),
                ("dollars", "US dollars"),
            )
        ],
    }  # fmt: skip
    # Neighbours differ by a line between them, not by colour alone.
    mark = {"type": "bar", "stroke": colours.ground, "strokeWidth": 0.75}
    return {
        "description": f"{amount.capitalize()} by day and worker; the table below has the numbers.",
        "height": _HEIGHT,
        "width": "container",
        "layer": [{"data": {"values": values}, "mark": mark, "encoding": encoding}],
    }


def _value(name: str, at: int, day: str, total: Total, amount: Amount) -> Mapping[str, Any]:
    height = total.tokens if amount == "tokens" else total.cost
    return {
        "worker": name,
        "at": at,
        "day": day,
        "value": height or 0,
        "requests": f"{total.calls:,}",
        "tokens": total.token_words.rpartition(" ")[0],
        "dollars": total.cost_words,
    }


def _form(series: Sequence[Series], amount: Amount) -> str:
    """How numbers of the axis are written, as d3 names it."""
    if amount == "tokens":
        return "~s"
    sums: dict[str, float] = {}
    for each in series:
        for day, total in each.days.items():
            sums[day] = sums.get(day, 0.0) + (total.cost or 0.0)
    return "$,.2f" if max(sums.values(), default=0.0) >= _SMALL_DOLLARS else "$,.4~f"
