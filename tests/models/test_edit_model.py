"""Edits make of a workflow what they make of a list of marked steps, and their inverses restore it."""

from __future__ import annotations

from hypothesis import given

from conductor.workflow.model import Step, Workflow
from tests.models import marked_steps as model
from tests.models.marked_steps import SETTERS, Change, Marked, Plan
from tests.support.cases.property_cases import cases


def test_the_model_has_every_field_of_a_step() -> None:
    assert {*Step.model_fields} - {"access", "lineage"} == {*Marked.__dataclass_fields__} - {"reads", "mark"}


@model.short_and_long(300, 6000)
def test_edits_make_of_a_workflow_what_they_make_of_marked_steps(number: int) -> None:
    @cases(number)
    @given(plan=model.plans(), edits=model.ANY)
    def check(plan: Plan, edits: list[Change]) -> None:
        before = model.workflow_of(plan)
        owners = dict(enumerate(model.marks(plan)))
        for _, workflow, now in model.steps_of_edits(before, edits):
            assert Workflow.model_validate_json(workflow.model_dump_json()) == workflow
            assert len({*workflow.lineage}) == len(now)
            for step, its_number in zip(now, workflow.lineage, strict=True):
                assert owners.setdefault(its_number, step.mark) == step.mark, "a step counts as another one"
        assert model.plan_of(before) == plan, "an edit changed the workflow that it was made of"

    check()


@model.short_and_long(200, 4000)
def test_the_inverse_of_an_edit_restores_the_workflow(number: int) -> None:
    @cases(number)
    @given(plan=model.plans(), edits=model.changes(100, range(8), (*SETTERS, *model.MOVES)))
    def check(plan: Plan, edits: list[Change]) -> None:
        before = model.workflow_of(plan)
        for edit, workflow, _ in model.steps_of_edits(before, edits):
            assert _inverted(edit, before, workflow) == before
            before = workflow

    check()


def _inverted(edit: Change, before: Workflow, after: Workflow) -> Workflow:
    """The workflow after the edit and its inverse."""
    at, to = edit.places(len(before))
    match edit.kind:
        case "add" | "duplicate":
            return after.remove_step(at + (edit.kind == "duplicate"))
        case "move":
            return after.move_step(to, at)
        case "remove" | "instead":
            after = after.remove_step(at) if edit.kind == "instead" and len(after) > 1 else after
            after = after.add_step(before.steps[at].model_copy(update={"access": ()}), at=at)
            for place in (at, *before.readers[at]):
                after = after.with_access(place, before.steps[place].access)
            return after
        case field:
            after = SETTERS[field](after, at, getattr(before.steps[at], field))
            return after.with_on_failure(at, before.steps[at].on_failure)
