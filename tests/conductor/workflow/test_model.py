"""A workflow obeys its rules, knows its shape, and every edit gives a new one that means the same."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from conductor.errors import WorkflowError
from conductor.workflow.model import MAX_INSTRUCTION, MAX_STEPS, MAX_WRITTEN_STEPS, Step, Topology, Workflow
from tests.support.cases.property_cases import cases
from tests.support.runs.workflow_cases import workflow_of

DIAMOND = workflow_of((), (0,), (0,), (1, 2))


@pytest.mark.parametrize(
    ("access", "topology"),
    [
        ([()], "single"),
        ([(), (0,)], "chain"),
        ([(), (0,), (1,)], "chain"),
        ([(), (0,), (0, 1), (0, 1, 2)], "chain"),
        ([(), (0,), (1,), (0, 2)], "chain"),
        ([(), (), (0, 1)], "fan-out"),
        ([(), (), (), (), (0, 1, 2, 3)], "fan-out"),
        ([(), (0,), (0, 1)], "planner-executor-verifier"),
        ([(), (0,), (0,)], "tree"),
        ([(), (), (0,), (1,), (2, 3)], "tree"),
        ([(), (0,), (0,), (1, 2)], "general"),
        ([(), ()], "general"),
        ([(), (0,), ()], "general"),
    ],
)
def test_a_shape_has_its_name(access: list[tuple[int, ...]], topology: Topology) -> None:
    assert workflow_of(*access).topology == topology


@cases(60)
@given(
    access=st.lists(st.integers(0, 2**6 - 1), min_size=2, max_size=7).map(
        lambda bits: [tuple(read for read in range(at) if bits[at] >> read & 1) for at in range(len(bits))]
    )
)
def test_a_tree_is_one_once_edges_that_repeat_a_longer_way_are_left_out(
    access: list[tuple[int, ...]],
) -> None:
    workflow = workflow_of(*access)
    waits = nx.transitive_reduction(workflow.graph)
    is_tree = nx.is_arborescence(waits) or nx.is_arborescence(waits.reverse())
    assert (workflow.topology in {"tree", "chain", "fan-out", "planner-executor-verifier"}) == is_tree


def test_ancestors_and_descendants_reach_through_other_steps() -> None:
    workflow = workflow_of((), (0,), (), (1, 2), (3,))
    assert workflow.ancestors(3) == {0, 1, 2}
    assert workflow.descendants(0) == {1, 3, 4}
    assert workflow.ancestors(2) == frozenset()
    assert workflow.descendants(4) == frozenset()
    assert workflow.readers == ((1,), (3,), (3,), (4,), ())


def test_workers_are_named_once_in_order_of_first_use() -> None:
    steps = [Step(instruction="do", worker=worker) for worker in ("beta", "alpha", "beta")]
    assert Workflow.of(steps).workers() == ("beta", "alpha")


def test_a_worker_that_the_pool_lacks_is_named_with_the_choices() -> None:
    with pytest.raises(WorkflowError, match=r"Step 1 .*'alpha'.*choose one of: beta, gamma\.") as caught:
        DIAMOND.check_workers(("beta", "gamma"))
    assert caught.value.step == 0


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([], "at least one step"),
        ([Step(instruction=" \n", worker="w")], "Step 1 has an empty instruction"),
        ([Step(instruction="do", worker="")], "Step 1 names no worker"),
        ([Step(instruction="do", worker="w", access=(0,))], "Step 1 reads itself"),
        ([Step(instruction="do", worker="w", access=(4,))], "Step 1 reads step 5, which is not before it"),
        ([Step(instruction="do", worker="w", access=(-1,))], "positions start at 0"),
        ([Step(instruction="x" * (MAX_INSTRUCTION + 1), worker="w")], "100,001 characters"),
        ([Step(instruction="do", worker="w")] * (MAX_STEPS + 1), "at most 1,000 steps; this one has 1,001"),
    ],
)
def test_a_broken_rule_is_stated_in_words(steps: list[Step], reason: str) -> None:
    with pytest.raises(WorkflowError, match=reason):
        Workflow.of(steps)


def test_a_hundred_steps_that_read_everything_are_a_workflow() -> None:
    workflow = workflow_of(*(range(i) for i in range(MAX_WRITTEN_STEPS)))
    assert workflow.topology == "chain"


def test_access_is_put_in_order_without_repeats() -> None:
    assert workflow_of((), (), (1, 0, 1)).steps[2].access == (0, 1)


def test_workflows_cannot_be_changed_in_place() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        DIAMOND.steps[0].instruction = "other"
    with pytest.raises(ValidationError, match="frozen"):
        DIAMOND.steps = ()


# -- edits -------------------------------------------------------------------------------------------


def test_a_new_step_without_a_place_comes_last() -> None:
    assert DIAMOND.add_step(Step(instruction="new", worker="alpha", access=(3,))).steps[4].access == (3,)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda w: w.move_step(3, 0), "Step 4 cannot move to place 1: step 4 reads step 2"),
        (lambda w: w.move_step(0, 3), "Step 1 cannot move to place 4: step 2 reads step 1"),
        (lambda w: w.move_step(0, 4), "There is no step 5"),
        (lambda w: w.remove_step(-1), "There is no step 0"),
        (lambda w: w.with_worker(9, "beta"), "There is no step 10; this workflow has 4"),
        (lambda w: w.with_access(1, [1]), "Step 2 reads itself"),
        (lambda w: w.with_access(1, [2]), "Step 2 reads step 3, which is not before it"),
        (lambda w: w.with_instruction(1, ""), "Step 2 has an empty instruction"),
        (lambda w: w.add_step(Step(instruction="do", worker="w"), at=5), "place 6 of a workflow with 4"),
        (lambda w: w.add_step(Step(instruction="do", worker="w", access=(7,))), "Access to step 8"),
        (lambda w: w.add_step(Step(instruction="do", worker="w", access=(2,)), at=1), "not before it"),
        (
            lambda w: w.remove_step(3).remove_step(2).remove_step(1).remove_step(0),
            "only step cannot be removed",
        ),
    ],
)
def test_an_edit_that_breaks_a_rule_is_refused_with_the_reason(
    edit: Callable[[Workflow], Workflow], reason: str
) -> None:
    with pytest.raises(WorkflowError, match=reason):
        edit(DIAMOND)


def test_workflows_that_were_asked_for_what_they_are_without_pins_can_still_be_compared() -> None:
    one, other = workflow_of((), (0,)), workflow_of((), (0,))
    assert one.unpinned == other.unpinned
    assert one == other
