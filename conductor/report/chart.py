"""A run by time as shapes of SVG: a lane a step, positions in percent of the run's length. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10

from conductor.runs.timeline import Row, Timeline

ROW_HEIGHT = 28

_TICKS = 5
"""About as many steps of the axis."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A step's lane: where its bar begins and how long it is, in percent; a bar without length is a mark.

    `start` is None where the step has no place in time. `critical`: the run was as long as it was because of
    this step, too.
    """

    step: int
    top: int
    start: float | None
    length: float
    critical: bool
    end: str
    retries: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """All lanes; `ticks` are places of the axis in percent and their words."""

    lanes: tuple[Lane, ...]
    ticks: tuple[tuple[float, str], ...]
    height: int


def chart_of(timeline: Timeline) -> Chart:
    """The lanes of a run's timeline."""
    whole = timeline.seconds or 1.0
    return Chart(
        lanes=tuple(_lane(row, timeline, whole) for row in timeline.rows),
        ticks=tuple((100 * at / whole, _mark(at, timeline.seconds)) for at in _places(timeline.seconds)),
        height=ROW_HEIGHT * len(timeline.rows),
    )


def _lane(row: Row, timeline: Timeline, whole: float) -> Lane:
    end = timeline.seconds if row.end is None else row.end
    length = 0.0 if row.start is None else max(0.0, end - row.start)
    return Lane(
        step=row.step,
        top=ROW_HEIGHT * row.step,
        start=None if row.start is None else min(100.0, 100 * row.start / whole),
        length=min(100.0, 100 * length / whole) if row.part == "called" else 0.0,
        critical=row.step in timeline.path,
        end=row.status,
        retries=tuple(100 * at / whole for at in row.retries),
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
