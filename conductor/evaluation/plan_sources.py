"""Planners of an evaluation that write nothing: one workflow for every question or for each category, or
another planner's plans.

Stored with the evaluation, so that its table can be repeated when the session or the file is gone. Knows
workflows and their edits; knows no store.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from conductor.values.messages import Value
from conductor.workflow.edits import Edit, edit_words, edited
from conductor.workflow.model import Workflow

PLAN = "plan:"
"""How the name of a fixed workflow begins: `plan:SESSION@REVISION`, or `plan:FILE.json` in a terminal."""

PLANS_OF = "plans:"
"""How the name begins of the plans that a planner wrote in an earlier evaluation."""


class FixedPlan(Value):
    """`workflow` with its `edits` for every question. `source` is how people know the workflow: the title of
    its session, or a file's name.

    Outputs that were pinned for one question are not those of another: it has none.
    """

    kind: Literal["fixed"] = "fixed"
    name: str
    source: str
    workflow: Workflow
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, name: str, source: str, workflow: Workflow) -> FixedPlan:
        return cls(name=name, source=source, workflow=workflow.unpinned.ungated)

    @property
    def title(self) -> str:
        return edit_words(self.edits) if self.edits else self.source

    @property
    def edited(self) -> Workflow:
        """Raises `WorkflowError` where an edit does not fit."""
        return edited(self.workflow, self.edits)

    def with_edits(self, *edits: Edit) -> FixedPlan:
        """The same workflow with these edits, under a name that has them."""
        return self.model_copy(update={"name": f"{self.name} {edit_words(edits)}", "edits": edits})


class WrittenPlans(Value):
    """For each question the plan that `planner` wrote for it in an earlier `evaluation`, with `edits`."""

    kind: Literal["written"] = "written"
    name: str
    evaluation: str
    planner: str
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, evaluation: str, planner: str) -> WrittenPlans:
        return cls(name=f"{PLANS_OF}{planner}", evaluation=evaluation, planner=planner)

    @property
    def title(self) -> str:
        return edit_words(self.edits) if self.edits else f"The plans of {self.planner}"

    def with_edits(self, *edits: Edit) -> WrittenPlans:
        """The same plans with these edits, under a name that has them."""
        return self.model_copy(update={"name": f"{self.name} {edit_words(edits)}", "edits": edits})


class CategoryPlans(Value):
    """For each question the workflow of its category, and `otherwise` for a category without one."""

    edits: ClassVar[tuple[Edit, ...]] = ()

    kind: Literal["category"] = "category"
    name: str
    workflows: tuple[tuple[str, Workflow], ...]
    otherwise: Workflow

    @property
    def title(self) -> str:
        return self.name

    def workflow(self, category: str | None) -> Workflow:
        return next((workflow for name, workflow in self.workflows if name == category), self.otherwise)


GivenPlans = Annotated[FixedPlan | WrittenPlans | CategoryPlans, Field(discriminator="kind")]
