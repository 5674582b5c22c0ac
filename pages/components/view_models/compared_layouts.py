"""Pictures of two workflows that stand side by side: at any width both show as much on their cards.

Pure geometry; knows layouts, draws nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from conductor.drawing.layout import KINDS, CardKind, Layout, layouts
from conductor.workflow.model import Workflow


class Pictures(NamedTuple):
    """Layouts, the best first, and the pixels of width from which on each of them is shown."""

    layouts: tuple[Layout, ...]
    least_widths: tuple[int, ...]


def pictures_alike(left: Workflow, right: Workflow) -> tuple[Pictures, Pictures]:
    """The pictures of both, drawn downwards, with the poorer kind of cards wherever theirs would differ."""
    sides = (left, right)
    of_kind = {kind: [_of_kind(side, kind) for side in sides] for kind in KINDS}
    both = [kind for kind in KINDS if all(of_kind[kind])]
    poorest = max(KINDS.index(layouts(side)[-1].kind) for side in sides)
    shown: list[list[tuple[Layout, int]]] = [[], []]
    for kind in both:
        last = KINDS.index(kind) >= poorest
        widths = [_least_width(side, kind) for side in sides]
        known = [width for width in widths if width is not None]
        if len(known) < len(widths) and not last:
            continue
        least = 0 if last else max(known)
        for at, pictures in enumerate(of_kind[kind]):
            shown[at] += [(picture, max(least, picture.least_width)) for picture in pictures[:-1]]
            # The narrowest, too, where it has a little less room than it would like: the other side has it.
            shown[at].append((pictures[-1], least))
        if last:
            break
    first, second = (Pictures(*zip(*side, strict=True)) for side in shown)
    return first, second


def _of_kind(workflow: Workflow, kind: CardKind) -> list[Layout]:
    return [picture for picture in layouts(workflow, kinds=(kind,)) if picture.kind == kind]


def _least_width(workflow: Workflow, kind: CardKind) -> int | None:
    """The least width at which a workflow alone shows as much as cards of this kind; None if at none."""
    rich = KINDS[: KINDS.index(kind) + 1]
    return min((picture.least_width for picture in layouts(workflow) if picture.kind in rich), default=None)
