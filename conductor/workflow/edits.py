"""Edits of a workflow as values, so that one can be stored, named and made again on another workflow. Pure.

Positions count from 0 in the workflow before any edit, whichever edits are made together. Knows no pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from conductor.errors import WorkflowError
from conductor.values.messages import Value
from conductor.workflow.model import Workflow

AccessKind = Literal["all", "final", "repeated"]
"""Edges: all of them; those into the final step; those that only repeat a longer way (1 to 3 beside 1 to 2 to
3).
"""


class WithoutEdge(Value):
    """The step `reader` reads the step `read` no longer."""

    kind: Literal["edge"] = "edge"
    read: int
    reader: int

    @property
    def words(self) -> str:
        return f"without {self.read + 1} → {self.reader + 1}"

    def of(self, workflow: Workflow) -> Workflow:
        access = workflow.steps[self.reader].access if self.reader < len(workflow) else ()
        if self.read not in access:
            raise WorkflowError(f"Step {self.reader + 1} does not read step {self.read + 1}.")
        return workflow.with_access(self.reader, set(access) - {self.read})


class OtherWorker(Value):
    """The step is done by `worker`."""

    kind: Literal["worker"] = "worker"
    step: int
    worker: str

    @property
    def words(self) -> str:
        return f"step {self.step + 1} by {self.worker}"

    def of(self, workflow: Workflow) -> Workflow:
        return workflow.with_worker(self.step, self.worker)


class WithoutStep(Value):
    """The step is left out; those that read it read one step less."""

    kind: Literal["step"] = "step"
    step: int

    @property
    def words(self) -> str:
        return f"without step {self.step + 1}"

    def of(self, workflow: Workflow) -> Workflow:
        return workflow.remove_step(self.step)


class WorkerReplaced(Value):
    """Every step of `worker` is done by `by`, which is also the fallback in its place; no change where it
    has none.
    """

    kind: Literal["replaced"] = "replaced"
    worker: str
    by: str

    @property
    def words(self) -> str:
        return f"{self.by} for {self.worker}"

    def of(self, workflow: Workflow) -> Workflow:
        return workflow.with_workers({self.worker: self.by})


class WithoutAccess(Value):
    """The edges of that kind are left out."""

    kind: Literal["access"] = "access"
    which: AccessKind = "all"

    @property
    def words(self) -> str:
        return {
            "all": "without any access",
            "final": "without the final step's access",
            "repeated": "without edges that repeat a longer way",
        }[self.which]

    def of(self, workflow: Workflow) -> Workflow:
        return Workflow.of(
            step.model_copy(update={"access": tuple(self._left(workflow, at))})
            for at, step in enumerate(workflow.steps)
        )

    def _left(self, workflow: Workflow, reader: int) -> Iterable[int]:
        access = workflow.steps[reader].access
        if self.which == "all" or (self.which == "final" and reader == workflow.final):
            return ()
        if self.which == "final":
            return access
        return workflow.waits[reader]


class WithoutIdleSteps(Value):
    """Steps whose work does not reach the final one are left out; the answer is the same."""

    kind: Literal["idle"] = "idle"

    @property
    def words(self) -> str:
        return "without idle steps"

    def of(self, workflow: Workflow) -> Workflow:
        needed = workflow.ancestors(workflow.final) | {workflow.final}
        for step in reversed(range(len(workflow))):
            if step not in needed:
                workflow = workflow.remove_step(step)
        return workflow


Edit = Annotated[
    WithoutEdge | OtherWorker | WithoutStep | WorkerReplaced | WithoutAccess | WithoutIdleSteps,
    Field(discriminator="kind"),
]


def edited(workflow: Workflow, edits: Sequence[Edit]) -> Workflow:
    """The workflow with all these edits. Raises `WorkflowError` where one does not fit it.

    Steps are left out last, from the end on, so that each position means the step that it meant.
    """
    removed = sorted({edit.step for edit in edits if isinstance(edit, WithoutStep)}, reverse=True)
    for edit in edits:
        if not isinstance(edit, WithoutStep | WithoutIdleSteps):
            workflow = edit.of(workflow)
    for step in removed:
        workflow = workflow.remove_step(step)
    idle = [edit for edit in edits if isinstance(edit, WithoutIdleSteps)]
    return idle[0].of(workflow) if idle else workflow


def edit_words(edits: Iterable[Edit]) -> str:
    """The edits for people, "as it is" for none."""
    return ", ".join(edit.words for edit in edits) or "as it is"


def single_edits(
    workflow: Workflow, workers: Sequence[str], *, edges: bool, steps: bool, swaps: bool
) -> tuple[Edit, ...]:
    """Every edge left out, every step left out, every step by each other of `workers`, as chosen.

    A workflow of one step has neither an edge nor a step to leave out.
    """
    edits: list[Edit] = []
    if edges:
        edits += [
            WithoutEdge(read=read, reader=reader)
            for reader, step in enumerate(workflow.steps)
            for read in step.access
        ]
    if steps and len(workflow) > 1:
        edits += [WithoutStep(step=step) for step in range(len(workflow))]
    if swaps:
        edits += [
            OtherWorker(step=at, worker=worker)
            for at, step in enumerate(workflow.steps)
            for worker in workers
            if worker != step.worker
        ]
    return tuple(edits)


def plan_edits(workers: Sequence[str], *, access: bool, swaps: bool) -> tuple[Edit, ...]:
    """Edits that fit any plan: each kind of access left out, each of `workers` replaced by each other one."""
    edits: list[Edit] = []
    if access:
        edits += [WithoutAccess(which="all"), WithoutAccess(which="final"), WithoutAccess(which="repeated")]
    if swaps:
        edits += [
            WorkerReplaced(worker=worker, by=by) for worker in workers for by in workers if by != worker
        ]
    return tuple(edits)
