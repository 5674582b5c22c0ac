"""The pictures of a workflow that changes or is being written: what is drawn stays where it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from pyvis.network import Network

from conductor.drawing.layout import Direction, Earlier, Layout, pane_layouts
from conductor.drawing.network import CardContent, draw, title_of
from conductor.planner.parsing.partial_plan import PartialPlan
from conductor.workflow.matching import places_in
from conductor.workflow.model import Step, Workflow

_UNWRITTEN = "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a tab draws of a session just now; `plan` is what is being written of it, None for a whole one."""

    session: str
    workflow: Workflow
    direction: Direction
    pictures: tuple[Layout, ...]
    plan: PartialPlan | None = None


def drawing_of(
    workflow: Workflow | PartialPlan, *, session: str, direction: Direction, before: Drawing | None
) -> Drawing:
    """The drawing of a workflow, or of a plan with a step at least; `before` is what the tab drew last."""
    plan = workflow if isinstance(workflow, PartialPlan) else None
    workflow = _placed(workflow) if isinstance(workflow, PartialPlan) else workflow
    if before is None or (before.session, before.direction) != (session, direction):
        return Drawing(session, workflow, direction, pane_layouts(workflow, direction=direction), plan)
    if _shape(before.workflow) == _shape(workflow):
        return replace(before, workflow=workflow, plan=plan)
    steps = range(min(len(before.workflow), len(workflow)))
    # Of a text that goes on, each step is the one that it was.
    places = places_in(before.workflow, workflow) if before.plan is None else {at: at for at in steps}
    earlier = Earlier(before.pictures, {to: at for at, to in places.items()})
    pictures = pane_layouts(workflow, direction=direction, earlier=earlier)
    return Drawing(session, workflow, direction, pictures, plan)


def _shape(workflow: Workflow) -> tuple[tuple[int, ...], ...]:
    return tuple(step.access for step in workflow.steps)


def _placed(plan: PartialPlan) -> Workflow:
    """The steps so far, as they are placed: one without access, as yet, stands below the one before."""
    return Workflow.of(
        Step(
            instruction=step.instruction.strip() or _UNWRITTEN,
            worker=step.worker or _UNWRITTEN,
            access=((at - 1,) if at else ()) if step.access is None else step.access,
        )
        for at, step in enumerate(plan.steps)
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
