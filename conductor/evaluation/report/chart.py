"""The chart of accuracy against what an answer takes as SVG: no script, its colours by the page's styles.

Knows where things are drawn; the template engine escapes every name.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import pairwise
from pathlib import Path

from conductor.baselines.named import WORKER
from conductor.drawing.marks import Mark
from conductor.drawing.marks import marks as marks_of
from conductor.evaluation.report.figure import (
    AXIS_TITLES,
    HEIGHT,
    LEVEL_TITLE,
    MARKS,
    ROUTER_PLACE,
    WIDTH,
    Axis,
    Figure,
)
from conductor.evaluation.report.templates import TEMPLATES

STYLES = Path(__file__).with_name("chart.css")

_LIGHT = ("#1f2430", "#ffffff", "#e3e6ef", "#4f46e5")
_DARK = ("#e7e9f1", "#12141c", "#2c3242", "#8b93ff")
"""Text, background, lines and accent of a theme."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 12, 56
"""Pixels around the drawing that the axes take."""


def chart_svg(figure: Figure, marks: Mapping[str, Mark] | None = None) -> str:
    """The figure as an element `svg`, with its points in words for readers who do not see it.

    `marks` are those of the planners that are one worker alone, else as the workers' names give them.
    """
    at = figure.scales.at
    workers = sorted(point.row.planner for point in figure.points if point.kind == "worker")
    named = marks_of({planner.removeprefix(WORKER): None for planner in workers})
    least, lowest = figure.scales.x[0], figure.scales.y[0]
    return TEMPLATES.get_template("chart.svg").render(
        figure=figure,
        view=(-_LEFT, -_TOP, WIDTH + _LEFT + _RIGHT, HEIGHT + _TOP + _BOTTOM),
        width=WIDTH,
        height=HEIGHT,
        amounts=[(at(tick, lowest)[0], _WORDS[figure.axis](tick)) for tick in figure.scales.amounts],
        levels=[(at(least, tick)[1], f"{tick:.0%}") for tick in figure.scales.levels],
        points=[(point, *at(point.x, point.accuracy), at(point.x, point.low)[1], at(point.x, point.high)[1])
                for point in figure.points],
        front=" ".join(_steps(figure)),
        router=None if figure.router is None else at(least, figure.router)[1],
        router_place=ROUTER_PLACE,
        title=f"{LEVEL_TITLE} against {AXIS_TITLES[figure.axis].lower()}",
        amount_title=AXIS_TITLES[figure.axis],
        level_title=LEVEL_TITLE,
        marks=MARKS,
        worker_marks={each: named[each.removeprefix(WORKER)] for each in workers} | dict(marks or {}),
    )  # fmt: skip


def chart_image(figure: Figure, *, dark: bool, marks: Mapping[str, Mark] | None = None) -> str:
    """The figure as an element `img` with its own styles, in the colours of a theme; `marks` as above."""
    names = ("text-color", "background-color", "border-color", "primary-color")
    colours = "; ".join(
        f"--st-{name}: {colour}" for name, colour in zip(names, _DARK if dark else _LIGHT, strict=True)
    )
    own = f".chart {{ --st-font: system-ui, sans-serif; {colours} }}"
    styles = f"<style>{own}{STYLES.read_text(encoding='utf-8')}</style>"
    svg = chart_svg(figure, marks).replace("<title", f"{styles}<title", 1)
    content = b64encode(svg.encode()).decode()
    points = "; ".join(f"{point.label} {point.accuracy:.1%}" for point in figure.points)
    words = f"{LEVEL_TITLE} against {AXIS_TITLES[figure.axis].lower()}: {points}"
    return f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{content}" style="width: 100%">'


def _steps(figure: Figure) -> Iterator[str]:
    """The front as the commands of a path; nothing where it is one point."""
    places = [figure.scales.at(point.x, point.accuracy) for point in figure.front]
    for at, ((x, y), (right, high)) in enumerate(pairwise(places)):
        yield f"{'' if at else f'M{x:.1f} {y:.1f} '}H{right:.1f} V{high:.1f}"


def _short(amount: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size:
            return f"{amount / size:g}{letter}"
    return f"{amount:g}"


_WORDS: Mapping[Axis, Callable[[float], str]] = {
    "tokens": _short,
    "calls": _short,
    "cost": lambda amount: f"${amount:,.12f}".rstrip("0").rstrip("."),
}
