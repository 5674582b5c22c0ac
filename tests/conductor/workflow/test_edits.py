"""Edits give valid workflows, mean the steps that they name, and change nothing upstream of them."""

from __future__ import annotations

import pytest
from hypothesis import given

from conductor.errors import WorkflowError
from conductor.workflow.edits import (
    Edit,
    WithoutEdge,
    WithoutIdleSteps,
    WithoutStep,
    edit_words,
    edited,
    plan_edits,
    single_edits,
)
from conductor.workflow.model import Workflow
from tests.support.runs.workflow_cases import WORKERS, workflow_of, workflows


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


def test_edits_that_do_not_fit_are_refused() -> None:
    for wrong in (WithoutEdge(read=0, reader=5), WithoutEdge(read=1, reader=0), WithoutStep(step=2)):
        with pytest.raises(WorkflowError):
            edited(workflow_of([], [0]), [wrong])
    with pytest.raises(WorkflowError, match="The only step"):
        edited(workflow_of([]), [WithoutStep(step=0)])


def test_single_edits_are_each_edge_each_step_and_each_other_worker() -> None:
    workflow = workflow_of([], [0])
    edits = single_edits(workflow, ("alpha", "beta"), edges=True, steps=True, swaps=True)
    assert [edit_words([edit]) for edit in edits] == [
        "without 1 → 2", "without step 1", "without step 2", "step 1 by beta", "step 2 by beta",
    ]  # fmt: skip
    assert single_edits(workflow_of([]), ("alpha",), edges=True, steps=True, swaps=True) == ()
    assert edit_words(()) == "as it is"
