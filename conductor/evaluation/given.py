"""Planners of an evaluation that write nothing: one workflow for every question, or another planner's plans.

Stored with the evaluation, so that its table can be repeated when the session or the file is gone. Knows
workflows and their edits; knows no store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from conductor.values.messages import Value
from conductor.workflow.edits import Edit, edited, words
from conductor.workflow.model import Workflow

PLAN = "plan:"
"""How the name of a fixed workflow begins: `plan:SESSION@REVISION`, or `plan:FILE.json` in a terminal."""

PLANS_OF = "plans:"
"""How the name begins of the plans that a planner wrote in an earlier evaluation."""


class FixedPlan(Value):
    """`workflow` with its `edits` for the `questions` at these positions, None: for every one. `source` is
    how people know the workflow: the title of its session, or a file's name.

    Outputs that were pinned for one question are not those of another: it has none.
    """

    kind: Literal["fixed"] = "fixed"
    name: str
    source: str
    workflow: Workflow
    edits: tuple[Edit, ...] = ()
    questions: frozenset[int] | None = Field(default=None, exclude_if=lambda questions: questions is None)

    @classmethod
    def of(
        cls, name: str, source: str, workflow: Workflow, questions: Iterable[int] | None = None
    ) -> FixedPlan:
        positions = None if questions is None else frozenset(questions)
        return cls(name=name, source=source, workflow=workflow.unpinned.ungated, questions=positions)

    @property
    def title(self) -> str:
        return words(self.edits) if self.edits else self.source

    @property
    def edited(self) -> Workflow:
        """Raises `WorkflowError` where an edit does not fit."""
        return edited(self.workflow, self.edits)

    def with_edits(self, *edits: Edit) -> FixedPlan:
        """The same workflow with these edits, under a name that has them."""
        return self.model_copy(update={"name": f"{self.name} {words(edits)}", "edits": edits})


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
        return words(self.edits) if self.edits else f"The plans of {self.planner}"

    def with_edits(self, *edits: Edit) -> WrittenPlans:
        """The same plans with these edits, under a name that has them."""
        return self.model_copy(update={"name": f"{self.name} {words(edits)}", "edits": edits})


GivenPlans = Annotated[FixedPlan | WrittenPlans, Field(discriminator="kind")]
