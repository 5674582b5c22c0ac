"""How much of a workflow a run does: what an edit touched, all of it, or the part around one step. Pure.

Knows workflows; what is reused of the part that is done is the schedule's matter.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from conductor.errors import WorkflowError
from conductor.messages import Value
from conductor.workflow import Workflow

ExtentKind = Literal["edited", "anew", "from", "to", "only"]

_ABOUT_A_STEP: tuple[ExtentKind, ...] = ("from", "to", "only")


class Extent(Value):
    """What a run does.

    `edited`: every step that has no output under its fingerprint. `anew`: every step. `from`: as `edited`,
    and `step` (0-based) with all that its work reaches anew. `to`: as `edited`, and nothing that `step` does
    not need. `only`: `step` alone, anew, on outputs that are there already.
    """

    kind: ExtentKind = "edited"
    step: int | None = None

    @model_validator(mode="after")
    def _name_a_step(self) -> Self:
        if (self.step is not None) != (self.kind in _ABOUT_A_STEP):
            raise ValueError(
                f"a run {self.kind!r} {'names' if self.step is None else 'does not name'} a step"
            )
        return self

    def check(self, workflow: Workflow) -> None:
        """Raise `WorkflowError` where `workflow` has no such step, or it cannot be run alone."""
        if self.step is None:
            return
        if not 0 <= self.step < len(workflow):
            raise WorkflowError(f"There is no step {self.step + 1}; this workflow has {len(workflow)}.")
        if self.kind == "only" and self.step in workflow.pins:
            raise WorkflowError(
                f"Step {self.step + 1} is pinned and so is never called; unpin it first.", step=self.step
            )

    def possible(self, workflow: Workflow) -> bool:
        """Whether `check` has nothing to say."""
        try:
            self.check(workflow)
        except WorkflowError:
            return False
        return True

    def covers(self, workflow: Workflow) -> frozenset[int]:
        """Steps that shall have an output in the end; the others are left as they are."""
        if self.kind == "to" and self.step is not None:
            return workflow.ancestors(self.step) | {self.step}
        if self.kind == "only" and self.step is not None:
            return frozenset({self.step})
        return frozenset(range(len(workflow)))

    def anew(self, workflow: Workflow) -> frozenset[int]:
        """Steps that are called although their output may be known; pinned ones are never called."""
        if self.kind == "anew":
            return frozenset(range(len(workflow))) - workflow.pins.keys()
        if self.step is None or self.kind == "to":
            return frozenset()
        reached = workflow.descendants(self.step) if self.kind == "from" else frozenset()
        return (reached | {self.step}) - workflow.pins.keys()

    def goal(self, workflow: Workflow) -> int:
        """The step whose output the run is for."""
        return self.step if self.step is not None and self.kind in ("to", "only") else workflow.final


EDITED = Extent()
"""What a rerun does where nothing else is asked for."""

ANEW = Extent(kind="anew")
