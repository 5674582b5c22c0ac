"""The part of a workflow that a run covers: what an edit touched, all of it, or the part around a step. Pure.

Knows workflows; the engine's `schedule` decides which outputs are reused.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from conductor.errors import WorkflowError
from conductor.values.message_parts.tool_use import ToolDecision, ToolTurn
from conductor.values.messages import Value
from conductor.workflow.model import Workflow

RunScopeKind = Literal["edited", "force", "from", "to", "only"]

_ABOUT_A_STEP: tuple[RunScopeKind, ...] = ("from", "to", "only")


class RunScope(Value):
    """What a run does.

    `edited`: every step that has no output under its fingerprint. `force`: every step. `from`: as `edited`,
    and `step` (0-based) with all that its output reaches. `to`: as `edited`, and nothing that `step` does
    not need. `only`: `step` alone, whether or not it has an output, on outputs that are there already.

    `passes` are the steps (0-based) whose gate does not stop it, `done` those that are not called again
    although they would be: a run that waited at a gate has called them. `resumes` are those of the
    steps to call whose answer goes on where it stood in the run before.

    `decisions` are those of the calls of tools that a run waited with. Tools that `allows` names, by patterns
    as a worker's, may act in this run without a question; those of `grants` got a yes in a run before.
    `recorded`: a call of a tool whose result a run before has gets that one; `only`: no other is made.

    `resumption`: 0 where a person or a client began the run. Else it goes on by itself with a run whose
    process ended, and this is how many runs of the session ended so in a row.
    """

    kind: RunScopeKind = "edited"
    step: int | None = None
    passes: tuple[int, ...] = ()
    done: tuple[int, ...] = ()
    resumes: tuple[int, ...] = Field(default=(), exclude_if=lambda resumes: not resumes)
    decisions: tuple[ToolDecision, ...] = Field(default=(), exclude_if=lambda decisions: not decisions)
    allows: tuple[str, ...] = Field(default=(), exclude_if=lambda allows: not allows)
    grants: tuple[str, ...] = Field(default=(), exclude_if=lambda grants: not grants)
    recorded: Literal["first", "only"] | None = Field(default=None, exclude_if=lambda recorded: not recorded)
    resumption: int = Field(default=0, exclude_if=lambda resumption: not resumption)

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
        """Whether `check` raises nothing."""
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

    def forced(self, workflow: Workflow) -> frozenset[int]:
        """Steps that are called although their output may be known; pinned ones are never called."""
        spared = workflow.pins.keys() | set(self.done)
        if self.kind == "force":
            return frozenset(range(len(workflow))) - spared
        if self.step is None or self.kind == "to":
            return frozenset()
        reached = workflow.descendants(self.step) if self.kind == "from" else frozenset()
        return (reached | {self.step}) - spared

    def holds(self, workflow: Workflow) -> frozenset[int]:
        """Steps at whose gate the run waits, where they would be called."""
        return workflow.gates - set(self.passes)

    def with_grants(self, grants: tuple[str, ...]) -> RunScope:
        """The same in which these tools may act, too."""
        return self.model_copy(update={"grants": grants}) if grants else self

    def decisions_of(self, step: int, turn: ToolTurn) -> dict[int, ToolDecision]:
        """What was decided of the step's calls, by their positions, where these are the calls."""
        own = (each for each in self.decisions if each.step == step and each.turn in ("", turn.mark))
        return {each.at: each for each in own}

    def goal(self, workflow: Workflow) -> int:
        """The step whose output the run is for."""
        return self.step if self.step is not None and self.kind in ("to", "only") else workflow.final


EDITED = RunScope()
"""The scope of a rerun where no other is requested."""

FORCE = RunScope(kind="force")
