"""Places the labels of points so that they cover as little as possible. Pure.

Knows boxes in pixels from the upper left corner; knows no planner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

_LETTER, _LINE = 6.7, 15
"""About the width of a letter of a label, and its height, in pixels."""


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


class Place(NamedTuple):
    """Pixels from a label's point, and on which side of these it is."""

    dx: int = 11
    dy: int = -11
    align: Literal["left", "right"] = "left"

    @property
    def far(self) -> bool:
        """Whether another point's label may stand between."""
        return abs(self.dy) > 20


PLACES: Sequence[Place] = tuple(
    place
    for dy in (-11, 13, -27, 29, -43, 45, -59, 61, -75, 77)
    for place in (Place(11, dy, "left"), Place(-11, dy, "right"))
)
"""Where a label may stand; the best first."""


def placed(
    labels: Sequence[str],
    points: Sequence[tuple[float, float]],
    lines: Iterable[Box],
    *,
    within: tuple[float, float],
) -> tuple[Place, ...]:
    """A place for each label, in which it covers as little as may be of points, lines and earlier labels."""
    marks = [Box(x - 8, y - 8, x + 8, y + 8) for x, y in points]
    # Who cannot see a point misses more than who sees a line end under a word.
    occupants = [*marks, *marks, *lines]
    places = []
    for label, point in zip(labels, points, strict=True):
        boxes = {place: label_box(label, point, place) for place in PLACES}
        costs = [_covered(box, occupants, within) + 4 * at for at, box in enumerate(boxes.values())]
        best = PLACES[costs.index(min(costs))]
        occupants.append(boxes[best])
        places.append(best)
    return tuple(places)


def label_box(text: str, point: tuple[float, float], place: Place) -> Box:
    """About what a label covers."""
    (x, y), width = point, _LETTER * len(text)
    left = x + place.dx - (width if place.align == "right" else 0)
    return Box(left, y + place.dy - _LINE / 2, left + width, y + place.dy + _LINE / 2)


def shared_area(one: Box, other: Box) -> float:
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    return width * height if width > 0 and height > 0 else 0.0


def _covered(box: Box, occupants: Iterable[Box], within: tuple[float, float]) -> float:
    """The area that a label shares with others, and much more for what of it is outside."""
    width, height = within
    outside = max(0, -box.left) + max(0, box.right - width) + max(0, -box.top) + max(0, box.bottom - height)
    return sum(shared_area(box, other) for other in occupants) + 30 * outside
