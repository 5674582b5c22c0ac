"""A workflow as a small picture: a box for each step in its worker's colour, a line for each edge; of many
steps the silhouette. Pure.

Knows layouts and marks; no text is in it, so it is an ornament beside a name.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from math import ceil

from conductor.drawing.layout import KINDS, Layout, access_layouts, outline
from conductor.drawing.marks import marks
from conductor.workflow.model import Workflow

_LINE = "#8b92a5"
"""Has a contrast of at least 3 with the grounds of both themes."""

_LEAST = (620, 320)
"""The least width and height of what is shown, in units of a layout."""

_MANY, _CELLS, _FILLED = 30, 8, 0.8
"""More steps than this are too small to be seen: a box stands for those that lie in its cell. There are
so many cells side by side at most, and a box fills this share of one.
"""


def thumbnail(workflow: Workflow) -> str:
    """The picture as a URL of SVG."""
    return _thumbnail(tuple((step.worker, step.access) for step in workflow.steps))


@lru_cache(maxsize=256)
def _thumbnail(shape: tuple[tuple[str, tuple[int, ...]], ...]) -> str:
    hues = marks(dict.fromkeys(worker for worker, _ in shape))
    access = tuple(access for _, access in shape)
    if len(shape) > _MANY:
        return _silhouette(outline(access), [hues[worker].hue for worker, _ in shape])
    layout = access_layouts(access, "right", KINDS)[0]
    line = max(layout.width, layout.height * 2) / 55
    edges = [
        f'<polyline points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in route)}"/>'
        for route in layout.routes.values()
    ]
    boxes = [
        f'<rect x="{card.left:.0f}" y="{card.top:.0f}" width="{card.width:.0f}" height="{card.height:.0f}" '
        f'rx="14" fill="{hues[worker].hue}"/>'
        for card, (worker, _) in zip(layout.cards, shape, strict=True)
    ]
    # Boxes of few steps are no larger than those of others.
    width, height = max(layout.width, _LEAST[0]), max(layout.height, _LEAST[1])
    left, top = (layout.width - width) / 2, (layout.height - height) / 2
    box = f"{left - line:.0f} {top - line:.0f} {width + 2 * line:.0f} {height + 2 * line:.0f}"
    image = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}"><g fill="none" stroke="{_LINE}" '
        f'stroke-width="{line:.1f}" stroke-linejoin="round">{"".join(edges)}</g>{"".join(boxes)}</svg>'
    )
    return _url(image)


def _silhouette(layout: Layout, hues: Sequence[str]) -> str:
    """A box wherever there are cards, in the colour of the first of them."""
    side = max(layout.width, layout.height) / _CELLS
    cells: dict[tuple[int, int], str] = {}
    for card, hue in zip(layout.cards, hues, strict=True):
        for x in range(int(card.left / side), ceil(card.right / side)):
            cells.setdefault((x, int(card.y / side)), hue)
    boxes = (
        f'<rect x="{x}" y="{y}" width="{_FILLED}" height="{_FILLED}" rx=".15" fill="{hue}"/>'
        for (x, y), hue in cells.items()
    )
    width, height = (max(ends) + _FILLED for ends in zip(*cells, strict=True))
    return _url(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{"".join(boxes)}</svg>'
    )


def _url(image: str) -> str:
    return f"data:image/svg+xml;base64,{b64encode(image.encode()).decode()}"
