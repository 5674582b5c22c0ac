"""A plan that is being written is drawn with the edges that are there, and its cards stay when more come."""

from __future__ import annotations

from conductor.planner.parsing.partial_plan import PartialPlan, PartialStep
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.workflow.drawing import drawing_of, partial_network

FIRST = PartialStep("alpha", "Find it", ())
BESIDE = PartialStep(None, "", None)
LAST = PartialStep("beta", "Compare both", (0, 1))


def test_cards_stay_where_they_are_from_the_first_step_to_the_workflow():
    workflow = Workflow.of(
        Step(instruction=text, worker="alpha", access=reads)
        for text, reads in (("Find it", ()), ("Look", ()), ("Compare both", (0, 1)))
    )
    plans = [PartialPlan("", steps) for steps in ((FIRST,), (FIRST, BESIDE), (FIRST, BESIDE, LAST))]
    drawing, places = None, set()
    for view in (*plans, workflow):
        drawing = drawing_of(view, session="s", direction="down", before=drawing)
        places.add((drawing.pictures[0].cards[0].x, drawing.pictures[0].cards[0].y))
    assert len(places) == 1
    assert drawing is not None
    assert drawing.plan is None


def test_a_step_without_access_as_yet_stands_below_the_one_before_and_has_no_edge():
    plan = PartialPlan("", (FIRST, BESIDE))
    drawing = drawing_of(plan, session="s", direction="down", before=None)
    first, second = drawing.pictures[0].cards
    assert (first.x, first.bottom < second.top) == (second.x, True)
    nodes, edges, *_ = partial_network(drawing, plan).get_network_data()
    assert edges == []
    assert [
        (node["content"]["title"], node["content"]["worker"], node["content"]["note"]) for node in nodes
    ] == [
        ("Find it", "alpha", "being written"),
        ("\N{HORIZONTAL ELLIPSIS}", "\N{HORIZONTAL ELLIPSIS}", "being written"),
    ]
