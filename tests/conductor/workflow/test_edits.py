"""Edits give valid workflows, mean the steps that they name, and change nothing upstream of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from workflow_cases import WORKERS, workflow_of, workflows

from conductor.errors import WorkflowError
from conductor.workflow.edits import (
    Edit,
    OtherWorker,
    WithoutAccess,
    WithoutEdge,
    WithoutIdleSteps,
    WithoutStep,
    WorkerReplaced,
    edited,
    plan_edits,
    single_edits,
    words,
)
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure


def _all(workflow: Workflow) -> tuple[Edit, ...]:
    singles = single_edits(workflow, WORKERS, edges=True, steps=True, swaps=True)
    return (*singles, *plan_edits(WORKERS, access=True, swaps=True), WithoutIdleSteps())


@pytest.mark.slow
@given(workflows())
def test_every_edit_of_any_workflow_is_a_valid_workflow(workflow: Workflow) -> None:
    for edit in _all(workflow):
        # `Workflow` refuses what is not valid.
        variant = edited(workflow, [edit])
        assert set(variant.workers()) <= set(WORKERS)
        assert len(variant) <= len(workflow)


@given(workflows())
def test_removing_an_edge_changes_no_other_step_and_none_upstream(workflow: Workflow) -> None:
    for edit in single_edits(workflow, (), edges=True, steps=False, swaps=False):
        assert isinstance(edit, WithoutEdge)
        variant = edited(workflow, [edit])
        changed = [at for at in range(len(workflow)) if variant.steps[at] != workflow.steps[at]]
        assert changed == [edit.reader]
        assert edit.read not in variant.steps[edit.reader].access
        assert variant.ancestors(edit.read) == workflow.ancestors(edit.read)


@given(workflows())
def test_leaving_idle_steps_out_keeps_exactly_what_reaches_the_answer(workflow: Workflow) -> None:
    variant = edited(workflow, [WithoutIdleSteps()])
    places = sorted(workflow.ancestors(workflow.final) | {workflow.final})
    assert [step.instruction for step in variant.steps] == [workflow.steps[at].instruction for at in places]
    assert edited(variant, [WithoutIdleSteps()]) == variant


@given(workflows())
def test_edges_that_repeat_a_longer_way_are_no_wait(workflow: Workflow) -> None:
    variant = edited(workflow, [WithoutAccess(which="repeated")])
    for step in range(len(workflow)):
        assert variant.ancestors(step) == workflow.ancestors(step)


def test_edits_together_mean_the_steps_before_any_of_them() -> None:
    workflow = workflow_of([], [0], [0, 1], [1, 2])
    together = edited(
        workflow, [WithoutStep(step=0), WithoutEdge(read=1, reader=2), OtherWorker(step=3, worker="beta")]
    )
    assert [(step.instruction, step.access, step.worker) for step in together.steps] == [
        ("task 2", (), "alpha"), ("task 3", (), "alpha"), ("task 4", (0, 1), "beta"),
    ]  # fmt: skip


def test_edits_that_do_not_fit_are_refused() -> None:
    for wrong in (WithoutEdge(read=0, reader=5), WithoutEdge(read=1, reader=0), WithoutStep(step=2)):
        with pytest.raises(WorkflowError):
            edited(workflow_of([], [0]), [wrong])
    with pytest.raises(WorkflowError, match="The only step"):
        edited(workflow_of([]), [WithoutStep(step=0)])


def test_single_edits_are_each_edge_each_step_and_each_other_worker() -> None:
    workflow = workflow_of([], [0])
    edits = single_edits(workflow, ("alpha", "beta"), edges=True, steps=True, swaps=True)
    assert [words([edit]) for edit in edits] == [
        "without 1 → 2", "without step 1", "without step 2", "step 1 by beta", "step 2 by beta",
    ]  # fmt: skip
    assert single_edits(workflow_of([]), ("alpha",), edges=True, steps=True, swaps=True) == ()
    assert words(()) == "as it is"


def test_a_worker_is_replaced_in_every_step_and_no_other_is() -> None:
    workflow = Workflow.of(
        step.model_copy(update={"worker": worker})
        for step, worker in zip(workflow_of([], [], [0, 1]).steps, ("alpha", "beta", "alpha"), strict=True)
    )
    replaced = edited(workflow, [WorkerReplaced(worker="alpha", by="gamma")])
    assert [step.worker for step in replaced.steps] == ["gamma", "beta", "gamma"]
    assert edited(workflow, [WorkerReplaced(worker="delta", by="gamma")]) == workflow


def test_a_replaced_worker_is_replaced_as_a_fallback_too_and_never_its_own() -> None:
    fallbacks = (("alpha", "gone"), ("gone", "beta"), ("alpha", "beta"))
    workflow = Workflow.of(
        Step(
            instruction="Look.",
            worker=worker,
            on_failure=None if fallback is None else OnFailure(fallback=fallback),
        )
        for worker, fallback in fallbacks
    )
    replaced = edited(workflow, [WorkerReplaced(worker="gone", by="beta")])
    rules = [(step.worker, step.on_failure and step.on_failure.fallback) for step in replaced.steps]
    assert rules == [("alpha", "beta"), ("beta", None), ("alpha", "beta")]
