"""A colour and a shape for each worker, the same wherever its name stands.

Knows names and colours only. Colour is never the only carrier: each has a shape of its own. One set serves
both themes: each has a contrast of at least 3 with the grounds and cards of either (WCAG 2.2, 1.4.11).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Literal, get_args
from zlib import crc32

Colour = Literal["blue", "orange", "green", "pink", "teal", "red", "violet", "olive"]

COLOURS: tuple[Colour, ...] = get_args(Colour)

_HUES = ("#5a8bea", "#b0600f", "#16a070", "#e05aa9", "#2c7a80", "#c03a3a", "#8f42da", "#93941a")


def _polygon(corners: int, *, turned: float = 0.0, inner: float = 1.0) -> str:
    """Corners on a circle in a box of 24 x 24, from the top, every second one nearer to the middle."""
    return " ".join(
        f"{12 + radius * sin(angle):.1f},{12 - radius * cos(angle):.1f}"
        for at in range(corners)
        for angle in [(at / corners + turned) * 2 * pi]
        for radius in [10.5 * (inner if at % 2 else 1)]
    )


_SHAPES = (
    _polygon(20),
    _polygon(4, turned=1 / 8),
    _polygon(3),
    _polygon(4),
    "9,2 15,2 15,9 22,9 22,15 15,15 15,22 9,22 9,15 2,15 2,9 9,9",
    _polygon(10, inner=0.45),
    _polygon(3, turned=1 / 2),
    "2,12 2,3 22,3 22,12 12,21",
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A worker's mark: `hue` as #rrggbb, `points` the corners of an SVG polygon in 24 x 24."""

    colour: Colour
    hue: str
    points: str

    @property
    def html(self) -> str:
        """The shape as an element of HTML that is not read aloud, without SVG, which sanitizers remove."""
        corners = (corner.split(",") for corner in self.points.split())
        path = ", ".join(f"{float(x) / 0.24:.0f}% {float(y) / 0.24:.0f}%" for x, y in corners)
        shape = f"width: 12px; height: 12px; background: {self.hue}; clip-path: polygon({path})"
        return f'<div aria-hidden="true" style="{shape}"></div>'


MARKS: Mapping[Colour, Mark] = {
    colour: Mark(colour, hue, points) for colour, hue, points in zip(COLOURS, _HUES, _SHAPES, strict=True)
}


def marks(workers: Mapping[str, Colour | None]) -> dict[str, Mark]:
    """The mark of each worker, for its colour where one was chosen, else for its name.

    A colour that is in use already gives way to the next free one, in the order of `workers`; where more
    workers than colours are, as few as may be share one.
    """
    colours = {name: colour for name, colour in workers.items() if colour is not None}
    for name in workers:
        if name not in colours:
            first = crc32(name.encode()) % len(COLOURS)
            turn = (*COLOURS[first:], *COLOURS[:first])
            colours[name] = min(turn, key=[*colours.values()].count)
    return {name: MARKS[colours[name]] for name in workers}
