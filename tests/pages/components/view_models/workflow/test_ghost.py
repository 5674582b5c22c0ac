"""A proposed change as one drawing: each step of both workflows once, what comes and goes is marked."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.drawing.network import CardContent
from conductor.errors import WorkflowError
from conductor.planner.parsing.partial_plan import PartialPlan, PartialStep
from conductor.workflow.diff import plan_diff
from conductor.workflow.model import Step, Workflow
from pages.components.view_models.workflow.ghost import Ghost, growing_ghost
from tests.support.runs.workflow_cases import edits, workflow_of, workflows

READ = Step(instruction="Read the report and note every figure.", worker="alpha")
SECOND = Step(instruction="Look up the census of both towns.", worker="gamma")
CHECK = Step(instruction="Verify the arithmetic once more.", worker="beta")
WRITE = Step(instruction="Write one closing sentence.", worker="alpha")


def plan_of(*steps: tuple[Step, tuple[int, ...]]) -> Workflow:
    return Workflow.of(step.model_copy(update={"access": access}) for step, access in steps)


def cards(workflow: Workflow) -> list[CardContent]:
    return [
        CardContent(title=step.instruction, body="", worker=step.worker, inside="a")
        for step in workflow.steps
    ]


TWO_READERS = Ghost(
    plan_diff(
        plan_of((READ, ()), (CHECK, (0,)), (WRITE, (0, 1))),
        plan_of((SECOND, ()), (READ, ()), (WRITE.model_copy(update={"worker": "beta"}), (0, 1))),
    )
)


def test_the_cards_are_the_steps_that_people_know_and_marked_with_what_changes():
    contents = TWO_READERS.contents(cards(TWO_READERS.diff.old), cards(TWO_READERS.diff.new))
    assert [(card.steps, card.change, card.badges) for card in contents] == [
        ((), "added", ()),
        ((0,), "", ()),
        ((1,), "removed", ()),
        ((2,), "edited", ("worker", "access")),
    ]
    assert not any(card.inside for card in contents), "what is inside a step cannot be opened in a ghost"


def test_the_edges_that_come_and_go_are_marked_and_those_that_stay_are_not():
    assert TWO_READERS.edge_changes == {(0, 3): "added", (1, 2): "removed", (2, 3): "removed"}
    assert [step.access for step in TWO_READERS.workflow.steps] == [(), (), (1,), (0, 1, 2)]


def test_the_parts_name_what_differs_and_what_they_need():
    assert [(part.row, part.change, part.name, part.label, part.needs) for part in TWO_READERS.parts] == [
        (0, "added", "Look up the census of both", "added", ()),
        (2, "removed", "2. Verify the arithmetic once", "removed", (0, 3)),
        (3, "edited", "3. Write one closing sentence", "worker, access", (0,)),
    ]
    assert TWO_READERS.parts[2].lines[0] == "Worker: alpha → beta."


def test_a_changed_step_behind_one_to_come_has_the_number_that_people_know_and_its_own_title():
    diff = plan_diff(plan_of((READ, ()), (WRITE, (0,))), plan_of((READ, ()), (SECOND, ()), (WRITE, (0, 1))))
    assert [part.name for part in Ghost(diff).parts] == [
        "Look up the census of both",
        "2. Write one closing sentence",
    ]


def test_the_words_of_an_instruction_show_what_goes_and_comes():
    diff = plan_diff(
        plan_of((WRITE, ())),
        plan_of((WRITE.model_copy(update={"instruction": "Write two closing sentences."}), ())),
    )
    (part,) = Ghost(diff).parts
    assert ("removed", "one ") in part.words
    assert ("added", "two ") in part.words


@given(old=workflows(), changes=edits(max_size=5), other=workflows())
def test_every_step_and_access_of_both_sides_is_drawn_once(old, changes, other):
    new = old
    for edit in changes:
        with suppress(WorkflowError):  # an edit that another one has made impossible
            new = edit.applied(new)
    for diff in (plan_diff(old, new), plan_diff(old, other)):
        ghost = Ghost(diff)
        assert len(ghost.workflow) == len(diff.rows)
        row_of = {after: row for row, (_, after) in enumerate(diff.rows)}
        edges = {(read, row) for row, step in enumerate(ghost.workflow.steps) for read in step.access}
        staying = {edge for edge in edges if ghost.edge_changes.get(edge) != "removed"}
        to_be = {(row_of[read], row_of[at]) for at, step in enumerate(diff.new.steps) for read in step.access}
        assert staying == to_be


def written(workflow: Workflow, *, access: bool = True) -> PartialPlan:
    """A plan with the steps of a workflow, their access lists not yet there where they come last."""
    steps = (PartialStep(s.worker, s.instruction, s.access if access else None) for s in workflow.steps)
    return PartialPlan("", tuple(steps))


def test_a_change_that_is_being_written_grows_step_by_step_and_removes_nothing_as_yet():
    old = plan_of((READ, ()), (CHECK, (0,)), (WRITE, (0, 1)))
    new = plan_of((READ, ()), (SECOND, ()), (WRITE.model_copy(update={"worker": "beta"}), (0, 1)))
    grown = []
    for count in (1, 2, 3):
        ghost = growing_ghost(old, PartialPlan("", written(new).steps[:count]))
        assert ghost is not None
        cards_of = ghost.contents(cards(ghost.diff.old), cards(ghost.diff.new))
        grown.append([(card.steps, card.change) for card in cards_of])
    assert grown == [
        [((0,), ""), ((1,), ""), ((2,), "")],
        [((0,), ""), ((1,), ""), ((2,), ""), ((), "added")],
        [((0,), ""), ((1,), ""), ((), "added"), ((2,), "edited")],
    ]


@pytest.mark.parametrize(
    "steps",
    [(), (PartialStep(None, "Read the report", None),), (PartialStep("alpha", "Read the rep", None),)],
    ids=["nothing", "no worker as yet", "an instruction that goes on"],
)
def test_before_its_first_step_is_whole_a_change_is_not_drawn(steps):
    assert growing_ghost(plan_of((READ, ())), PartialPlan("", steps)) is None


def test_edges_are_as_they_were_until_access_lists_are_written():
    old = plan_of((READ, ()), (CHECK, (0,)), (WRITE, (1,)))
    ghost = growing_ghost(old, written(plan_of((READ, ()), (CHECK, ()), (WRITE, ())), access=False))
    assert ghost is not None
    assert ghost.edge_changes == {}
    assert not any(card.change for card in ghost.contents(cards(old), cards(ghost.diff.new)))


@given(old=workflows(), changes=edits(max_size=5), count=st.integers(1, 12))
def test_what_is_written_of_a_change_is_drawn_with_its_accesses_beside_all_that_there_is(old, changes, count):
    new = old
    for edit in changes:
        with suppress(WorkflowError):  # an edit that another one has made impossible
            new = edit.applied(new)
    plan = PartialPlan("", written(new).steps[:count])
    ghost = growing_ghost(old, plan)
    assert ghost is not None
    drawn_cards = ghost.contents(cards(old), cards(ghost.diff.new))
    assert {card.steps[0] for card in drawn_cards if card.steps} == set(range(len(old)))
    assert not any(card.change == "removed" for card in drawn_cards)
    row_of = {after: row for row, (_, after) in enumerate(ghost.diff.rows)}
    edges = {(read, row) for row, step in enumerate(ghost.workflow.steps) for read in step.access}
    staying = {edge for edge in edges if ghost.edge_changes.get(edge) != "removed"}
    for at, step in enumerate(plan.steps):
        assert {read for read, row in staying if row == row_of[at]} == {
            row_of[read] for read in step.access or ()
        }


def test_the_same_workflow_has_no_part():
    workflow = workflow_of((), (0,))
    assert Ghost(plan_diff(workflow, workflow)).parts == ()
