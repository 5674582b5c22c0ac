"""The graph of a run as shapes of SVG: the app's layouts, edges as paths, a face a card. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from conductor.drawing.layout import MARGIN, Card, Layout, Point, layouts
from conductor.drawing.network import title_of
from conductor.report.words import mark
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState, StepStatus
from conductor.workflow.model import Step

_ARROW = 8.0
"""Length of an arrow's head."""

_LETTER, _READABLE = 13.0, 9.8
"""Sizes of letters in pixels: of a title at zoom 1, and the least on the screen."""

_LARGEST = 1.1
"""The zoom at which a small graph is shown at most."""


@dataclass(frozen=True, slots=True)
class Face:
    """The texts of a step's card; `number` counts from 1."""

    number: int
    title: str
    body: str
    worker: str
    status: StepStatus
    mark: str
    badges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """One drawing of the graph, to be shown where there are `least_width` pixels; a narrower one follows.

    `cards` lie at their upper left corners; `edges` are paths of SVG, a line and the head of its arrow each.
    `letter` is the size of a title's letters: where the picture is as small as it may be, they can be read.
    """

    kind: str
    width: float
    height: float
    shown_width: int
    least_width: int
    letter: float
    cards: tuple[Card, ...]
    edges: tuple[tuple[str, str], ...]


def pictures(state: RunState) -> tuple[Picture, ...]:
    """The drawings of the run's workflow, the widest first."""
    if state.workflow is None:
        return ()
    return tuple(_picture(layout) for layout in layouts(state.workflow))


def faces(state: RunState) -> tuple[Face, ...]:
    """A face a step."""
    steps = state.workflow.steps if state.workflow is not None else ()
    return tuple(_face(at, step, own) for at, (step, own) in enumerate(zip(steps, state.steps, strict=True)))


def _face(at: int, step: Step, own: StepState) -> Face:
    title, _, body = title_of(step.instruction)
    hand = own.output is not None and own.output.hand is not None
    kind = own.worker_kind
    return Face(
        number=at + 1,
        title=title,
        body=body,
        worker=own.answered_by(step.worker),
        status=own.status,
        mark=mark(own),
        badges=(
            *(["by hand"] if hand else []),
            *([] if hand or kind in (None, "model") else [str(kind)]),
        ),
    )


def _picture(layout: Layout) -> Picture:
    width = layout.width + 2 * MARGIN
    return Picture(
        kind=layout.kind,
        width=width,
        height=layout.height + 2 * MARGIN,
        shown_width=round(width * _LARGEST),
        least_width=layout.least_width,
        letter=max(_LETTER, _READABLE / layout.readable),
        cards=layout.cards,
        edges=tuple(_edge(route) for route in layout.routes.values()),
    )


def _edge(route: tuple[Point, ...]) -> tuple[str, str]:
    """The line of a route that runs downwards, and its arrow: curves from even points, straight from odd."""
    *points, (x, y) = route
    points.append((x, y - _ARROW * 0.8))
    line = [f"M{_at(points[0])}"]
    for start in range(0, len(points) - 1, 2):
        (x0, y0), (x1, y1) = points[start], points[start + 1]
        middle = (y0 + y1) / 2
        line.append(f"C{_at((x0, middle))} {_at((x1, middle))} {_at((x1, y1))}")
        if start + 2 < len(points):
            line.append(f"L{_at(points[start + 2])}")
    half = _ARROW * 0.48
    head = f"M{_at((x, y))}L{_at((x - half, y - _ARROW))}L{_at((x + half, y - _ARROW))}Z"
    return "".join(line), head


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
