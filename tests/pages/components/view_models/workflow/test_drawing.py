"""A plan that is being written is drawn with the edges that are there, and its cards stay when more come."""

from __future__ import annotations

import pytest

from conductor.drawing.layout import Direction
from conductor.planner.parsing.partial_plan import PartialPlan, PartialStep
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.workflow.drawing import Drawing, drawing_of, partial_network
from tests.support.runs.workflow_cases import workflow_of

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


def test_steps_whose_access_is_to_come_stand_side_by_side_until_an_edge_moves_one():
    before, after = (
        drawing_of(PartialPlan("", steps), session="s", direction="down", before=None).pictures[0].cards
        for steps in ((FIRST, BESIDE, BESIDE), (FIRST, PartialStep("alpha", "Look", ()), LAST))
    )
    assert len({card.y for card in before}) == 1
    assert (after[:2], after[2].top > after[0].bottom) == (before[:2], True)


def test_a_step_is_put_where_its_edges_want_it_until_the_next_ones_are_written():
    readers = tuple(PartialStep("alpha", f"Read {at}", ()) for at in range(3))
    drawing = None
    for access in (None, (0,), (0, 1), (0, 1, 2)):
        plan = PartialPlan("", (*readers, PartialStep("beta", "Merge", access)))
        drawing = drawing_of(plan, session="s", direction="down", before=drawing)
    assert drawing is not None
    middle, merge = (drawing.pictures[0].cards[at].x for at in (1, 3))
    assert merge == middle


CHAINS = workflow_of((), (0,), (1,), (), (3,), (4,), (2, 5))
"""Two chains of three steps and what joins them."""


def places(drawing: Drawing) -> list[tuple[float, float]]:
    picture = (drawing.collapsed_pictures or drawing.pictures)[0]
    return [(card.x, card.y) for card in picture.cards]


def redraw(workflow: Workflow, before: Drawing | None = None, direction: Direction = "down") -> Drawing:
    return drawing_of(workflow, session="s", direction=direction, before=before)


def test_what_is_collapsed_and_expanded_again_is_where_it_was():
    whole = redraw(CHAINS)
    collapsed = whole.with_collapsed([2])
    assert collapsed.branches.cards == ((0, 1, 2), (3,), (4,), (5,), (6,))
    assert places(collapsed.with_collapsed([])) == places(whole)
    assert places(redraw(CHAINS, collapsed)) == places(collapsed), "the page is drawn once more"


def test_only_a_branch_of_the_workflow_can_be_collapsed():
    assert redraw(CHAINS).with_collapsed([0, 3, 7, -1, 99]) == redraw(CHAINS)


@pytest.mark.parametrize(
    ("edit", "cards"),
    [
        (lambda w: w.with_worker(1, "beta"), ((0, 1, 2), (3,), (4,), (5,), (6,))),
        (lambda w: w.remove_step(4), ((0, 1, 2), (3,), (4,), (5,))),
        (
            lambda w: w.add_step(Step(instruction="New", worker="alpha"), 0),
            ((0,), (1, 2, 3), (4,), (5,), (6,), (7,)),
        ),
        (lambda w: w.with_access(2, ()), ((0,), (1,), (2,), (3,), (4,), (5,), (6,))),
    ],
    ids=["a worker", "a step less", "a step before it", "the branch has gone"],
)
def test_a_collapsed_branch_stays_collapsed_when_the_workflow_is_edited(edit, cards):
    assert redraw(edit(CHAINS), redraw(CHAINS).with_collapsed([2])).branches.cards == cards


def test_cards_beside_a_collapsed_branch_stay_when_an_edge_comes():
    before = redraw(CHAINS).with_collapsed([2])
    assert places(redraw(CHAINS.with_access(6, (2, 4, 5)), before)) == places(before)


def test_a_collapsed_branch_is_one_card_in_the_other_direction_too():
    turned = redraw(CHAINS, redraw(CHAINS).with_collapsed([2]), direction="right")
    assert turned.branches.cards[0] == (0, 1, 2)
    assert turned.collapsed_pictures[0].direction == "right"


def test_a_plan_that_is_written_again_begins_with_all_of_its_steps():
    plan = PartialPlan(
        "", tuple(PartialStep("alpha", f"task {at}", ((at - 1,) if at else ())) for at in range(3))
    )
    before = redraw(workflow_of((), (0,), (1,))).with_collapsed([1])
    assert drawing_of(plan, session="s", direction="down", before=before).collapsed == frozenset()
