"""The chart of an evaluation: accuracy against what an answer takes, as a specification of Vega-Lite. Pure.

Knows what a figure has where; knows no page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conductor.evaluation.report.figure import (
    AXIS_TITLES,
    HEIGHT,
    LEVEL_TITLE,
    MARKS,
    ROUTER_PLACE,
    Axis,
    Figure,
    Point,
)

_FORMATS: Mapping[Axis, str] = {"tokens": "~s", "cost": "$~g", "calls": "~g"}

_AROUND = 124
"""Pixels of a chart's height that its title and its axis take: Streamlit fits all of it into the height."""


@dataclass(frozen=True, slots=True)
class Colours:
    """Of one theme."""

    accent: str
    text: str
    quiet: str
    grid: str


LIGHT = Colours(accent="#4f46e5", text="#1f2430", quiet="#6b7285", grid="#e3e6ef")
DARK = Colours(accent="#8b93ff", text="#e7e9f1", quiet="#9aa1b5", grid="#2c3242")


def accuracy_chart(figure: Figure, *, title: str, colours: Colours) -> Mapping[str, Any]:
    """Points with their 95% intervals, the Pareto front as a line, the perfect router as a level."""
    values = [_value(point) for point in figure.points]
    x, y = _encodings(figure, colours)
    return {
        "title": {
            "text": title,
            "subtitle": MARKS,
            "anchor": "start",
            "color": colours.text,
            "subtitleColor": colours.quiet,
            "fontSize": 16,
            "subtitleFontSize": 12,
            "offset": 14,
        },
        "height": HEIGHT + _AROUND,
        "width": "container",
        "data": {"values": values},
        "layer": [
            *([] if figure.router is None else _router_layers(figure, y, colours)),
            *_point_layers(x, y, colours, shown=list(figure.points[0].details)),
            *_leader_layers(figure.points, x, y, colours),
            *_label_layers(values, x, y, colours),
        ],
    }


def _value(point: Point) -> dict[str, str | float | bool | None]:
    """What is drawn of a planner, and what its point shows under these names."""
    return {
        "name": point.label,
        "kind": point.kind,
        "lead": point.lead,
        "front": point.front,
        "x": point.x,
        "accuracy": point.accuracy,
        "low": point.low,
        "high": point.high,
        **point.place._asdict(),
        **point.details,
    }


def _encodings(figure: Figure, colours: Colours) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    words = {"labelColor": colours.text, "titleColor": colours.text}
    x = {
        "field": "x",
        "type": "quantitative",
        "title": AXIS_TITLES[figure.axis],
        "scale": {"type": "log", "domain": figure.scales.x, "nice": False},
        "axis": {
            **words,
            "format": _FORMATS[figure.axis],
            "values": list(figure.scales.amounts),
            "grid": False,
            "domain": True,
            "domainColor": colours.quiet,
            "ticks": True,
            "tickColor": colours.quiet,
        },
    }
    y = {
        "field": "accuracy",
        "type": "quantitative",
        "title": LEVEL_TITLE,
        "scale": {"domain": figure.scales.y, "nice": False},
        "axis": {**words, "format": ".0%", "values": list(figure.scales.levels), "gridColor": colours.grid},
    }
    return x, y


def _router_layers(figure: Figure, y: Mapping[str, Any], colours: Colours) -> list[Mapping[str, Any]]:
    level = {"accuracy": figure.router, "name": figure.router_label}
    rule = {"type": "rule", "strokeDash": [5, 4], "color": colours.quiet, "strokeWidth": 1.5}
    text = {
        "type": "text",
        "align": "left",
        "dx": ROUTER_PLACE.dx,
        "dy": ROUTER_PLACE.dy,
        "color": colours.quiet,
        "fontSize": 12,
    }
    return [
        {"data": {"values": [level]}, "mark": rule, "encoding": {"y": y}},
        {
            "data": {"values": [level]},
            "mark": text,
            "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "name"}},
        },
    ]


def _point_layers(
    x: Mapping[str, Any], y: Mapping[str, Any], colours: Colours, *, shown: Sequence[str]
) -> list[Mapping[str, Any]]:
    line = {"type": "line", "interpolate": "step-after", "color": colours.accent, "strokeWidth": 1.5}
    colour = {"condition": {"test": "datum.lead", "value": colours.accent}, "value": colours.text}
    shapes = {"domain": ["planner", "worker", "baseline"], "range": ["circle", "triangle-up", "square"]}
    return [
        {
            "transform": [{"filter": "datum.front !== null"}],
            "mark": {**line, "opacity": 0.55},
            "encoding": {"x": x, "y": y, "order": {"field": "front"}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.3},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "color": colour,
                "size": {"condition": {"test": "datum.lead", "value": 170}, "value": 90},
                "shape": {"field": "kind", "type": "nominal", "scale": shapes, "legend": None},
                "tooltip": [{"field": name, "type": "nominal"} for name in shown],
            },
        },
    ]


def _leader_layers(
    points: Sequence[Point], x: Mapping[str, Any], y: Mapping[str, Any], colours: Colours
) -> list[Mapping[str, Any]]:
    """A line from each point to its label where that stands far from it."""
    return [
        {
            "data": {"values": [{"x": point.x, "accuracy": point.accuracy}]},
            "mark": {
                "type": "rule",
                "strokeWidth": 1,
                "opacity": 0.5,
                "color": colours.text,
                "x2Offset": 0.8 * point.place.dx,
                "y2Offset": point.place.dy,
            },
            "encoding": {"x": x, "y": y, "x2": {"field": "x"}, "y2": {"field": "accuracy"}},
        }
        for point in points
        if point.place.far
    ]


def _label_layers(
    values: Sequence[Mapping[str, Any]], x: Mapping[str, Any], y: Mapping[str, Any], colours: Colours
) -> list[Mapping[str, Any]]:
    """A layer for each label: where a text stands is a property of its mark, not of its data."""
    return [
        {
            "data": {"values": [value]},
            "mark": {
                "type": "text",
                **{name: value[name] for name in ("dx", "dy", "align")},
                "fontSize": 13 if value["lead"] else 12,
                "fontWeight": 600 if value["lead"] else 400,
                "color": colours.accent if value["lead"] else colours.text,
            },
            "encoding": {"x": x, "y": y, "text": {"field": "name"}},
        }
        for value in values
    ]
