"""The pictures of a workflow that changes or is being written: what is drawn stays where it is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyvis.network import Network

from conductor.drawing.branches import Branches, branch_of
from conductor.drawing.layout import Direction, Earlier, Layout, pane_layouts
from conductor.drawing.network import CardContent, draw, title_of
from conductor.planner.parsing.partial_plan import PartialPlan
from conductor.workflow.matching import places_in
from conductor.workflow.model import Step, Workflow

_PANE = (690, 560)
"""Pixels that a picture has in a window of 1440 x 900."""

_UNWRITTEN = "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a tab draws of a session just now; `plan` is what is being written of it, None for a whole one.

    `pictures` are those of the whole workflow, `collapsed_pictures` those with the branches that end in the
    steps of `collapsed` as one card each.
    """

    session: str
    workflow: Workflow
    direction: Direction
    pictures: tuple[Layout, ...]
    plan: PartialPlan | None = None
    collapsed: frozenset[int] = frozenset()
    collapsed_pictures: tuple[Layout, ...] = ()

    @property
    def branches(self) -> Branches:
        return Branches(self.workflow, self.collapsed)

    def with_collapsed(self, steps: Iterable[int]) -> Drawing:
        """With those of the branches that end in `steps` collapsed which have more than that step."""
        ends = (step for step in steps if 0 <= step < len(self.workflow))
        collapsed = frozenset(step for step in ends if len(branch_of(self.workflow, step)) > 1)
        drawing = replace(self, collapsed=collapsed, collapsed_pictures=())
        if not collapsed:
            return drawing
        whole = {at: steps[-1] for at, steps in enumerate(drawing.branches.cards)}
        # Where cards that stay would make it smaller to look at, nothing was won by collapsing it.
        placements = (drawing.placed(Earlier(self.pictures, whole)), drawing.placed(None))
        return max(placements, key=lambda each: _zoom(each.collapsed_pictures))

    def placed(self, earlier: Earlier | None) -> Drawing:
        """With what is collapsed placed as it was earlier."""
        cards = self.branches.card_workflow
        return replace(
            self, collapsed_pictures=pane_layouts(cards, direction=self.direction, earlier=earlier)
        )


def drawing_of(
    workflow: Workflow | PartialPlan, *, session: str, direction: Direction, before: Drawing | None
) -> Drawing:
    """The drawing of a workflow, or of a plan with a step at least; `before` is what the tab drew last."""
    plan = workflow if isinstance(workflow, PartialPlan) else None
    workflow = _placed(workflow) if isinstance(workflow, PartialPlan) else workflow
    if before is None or before.session != session:
        return Drawing(session, workflow, direction, pane_layouts(workflow, direction=direction), plan)
    stays = before.direction == direction
    # A plan that is being written is another one: nothing of it is collapsed.
    if plan is not None:
        before = replace(before, collapsed=frozenset(), collapsed_pictures=())
    if stays and _shape(before.workflow) == _shape(workflow):
        return replace(before, workflow=workflow, plan=plan)
    if before.plan is None:
        places = places_in(before.workflow, workflow)
    else:
        # A text goes on: each step is the one that it was, and stays once its access is written to the end.
        end = len(workflow) if plan is None else max(_written(plan), default=0)
        places = {at: at for at in _written(before.plan) if at < end}
    earlier = Earlier(before.pictures, {to: at for at, to in places.items()}) if stays else None
    pictures = pane_layouts(workflow, direction=direction, earlier=earlier)
    drawing = Drawing(session, workflow, direction, pictures, plan)
    return _collapsed_as(before, drawing, places) if before.collapsed else drawing


def _collapsed_as(before: Drawing, drawing: Drawing, places: Mapping[int, int]) -> Drawing:
    """The drawing with the branches collapsed that are so in the one before, whose cards stay."""
    drawing = drawing.with_collapsed(places[step] for step in before.collapsed if step in places)
    if before.direction != drawing.direction or len(before.collapsed) != len(drawing.collapsed):
        return drawing
    old, new = ({steps[-1]: at for at, steps in enumerate(each.branches.cards)} for each in (before, drawing))
    cards = {new[to]: old[at] for at, to in places.items() if at in old and to in new}
    return drawing.placed(Earlier(before.collapsed_pictures, cards))


def _zoom(pictures: Sequence[Layout]) -> float:
    """How much larger than necessary the best of them is seen, in steps of a tenth."""
    width, height = _PANE
    return round(max(min(width / one.least_width, height / one.least_height) for one in pictures), 1)


def _shape(workflow: Workflow) -> tuple[tuple[int, ...], ...]:
    return tuple(step.access for step in workflow.steps)


def _written(plan: PartialPlan) -> list[int]:
    """The steps whose access is written, the last one maybe in part."""
    return [at for at, step in enumerate(plan.steps) if step.access is not None]


def _placed(plan: PartialPlan) -> Workflow:
    """The steps so far, as they are placed without access as yet: several side by side, as they are without
    edges; the last one alone below the one before.
    """
    written, last = _written(plan), len(plan.steps) - 1
    below = (last - 1,) if last and written == list(range(last)) else ()
    return Workflow.of(
        Step(
            instruction=step.instruction.strip() or _UNWRITTEN,
            worker=step.worker or _UNWRITTEN,
            access=below if step.access is None else step.access,
        )
        for step in plan.steps
    )


def partial_network(drawing: Drawing, plan: PartialPlan) -> Network:
    """The network of a plan that is being written: each card is marked so, edges are those that are there."""
    edges = {(read, at) for at, step in enumerate(plan.steps) for read in step.access or ()}
    pictures = [
        replace(
            picture,
            routes=MappingProxyType({edge: way for edge, way in picture.routes.items() if edge in edges}),
        )
        for picture in drawing.pictures
    ]
    cards = [(title_of(step.instruction), step.worker) for step in drawing.workflow.steps]
    contents = [
        CardContent(title=title, body=body, worker=worker, note="being written")
        for (title, _, body), worker in cards
    ]
    return draw(drawing.workflow, contents, pictures)
