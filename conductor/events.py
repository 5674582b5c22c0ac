"""The record of a run (or of a planning attempt): a closed union of events in the past tense.

Everything that shows, keeps or judges a run folds these and nothing else. An event says what
happened, when (`at`, Unix seconds) and in which order (`seq`, from 0, without gaps in one stream).
Steps are 0-based. Knows values only: no engine, no store.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from conductor.messages import Request, Usage, Value
from conductor.output import Output, WorkerKind
from conductor.plan import PlanReport
from conductor.workflow import Workflow


class _Event(Value):
    run: str
    """Id of the run, or of the planning attempt, whose stream this belongs to."""
    seq: int
    at: float


class PlanningStarted(_Event):
    """A Conductor was asked for a workflow."""

    type: Literal["planning_started"] = "planning_started"
    query: str
    planner: str
    planner_kind: WorkerKind


class PlanningDelta(_Event):
    """The Conductor wrote some more."""

    type: Literal["planning_delta"] = "planning_delta"
    text: str


class WorkflowPlanned(_Event):
    """The completion holds a valid plan."""

    type: Literal["workflow_planned"] = "workflow_planned"
    report: PlanReport
    usage: Usage
    seconds: float


class PlanRejected(_Event):
    """The completion holds no valid plan; the report says why."""

    type: Literal["plan_rejected"] = "plan_rejected"
    report: PlanReport
    usage: Usage
    seconds: float


class PlanningFailed(_Event):
    """The Conductor gave no completion at all."""

    type: Literal["planning_failed"] = "planning_failed"
    message: str


class RunStarted(_Event):
    """A workflow began to run. `parent` is the run whose edited plan this is."""

    type: Literal["run_started"] = "run_started"
    query: str
    workflow: Workflow
    parent: str | None = None


class StepReused(_Event):
    """A step needed no call: its fingerprint already has an output."""

    type: Literal["step_reused"] = "step_reused"
    step: int
    output: Output
    request: Request


class StepStarted(_Event):
    """A step's request went to its worker."""

    type: Literal["step_started"] = "step_started"
    step: int
    worker: str
    worker_kind: WorkerKind
    fingerprint: str
    request: Request


class StepDelta(_Event):
    """A step's worker wrote some more."""

    type: Literal["step_delta"] = "step_delta"
    step: int
    text: str


class StepFinished(_Event):
    """A step's worker answered."""

    type: Literal["step_finished"] = "step_finished"
    step: int
    output: Output


class StepFailed(_Event):
    """A step's worker could not answer; what it had written is kept in its deltas."""

    type: Literal["step_failed"] = "step_failed"
    step: int
    message: str
    usage: Usage
    seconds: float


class StepBlocked(_Event):
    """A step never started, because steps it reads (`by`) failed or were blocked."""

    type: Literal["step_blocked"] = "step_blocked"
    step: int
    by: tuple[int, ...]


class StepCancelled(_Event):
    """A step was stopped while it ran; what it had written is kept in its deltas."""

    type: Literal["step_cancelled"] = "step_cancelled"
    step: int
    usage: Usage
    seconds: float


RunOutcome = Literal["finished", "failed", "cancelled", "interrupted"]


class RunFinished(_Event):
    """The run is over.

    `answer` is the response of step `answer_step`, None when no step has a response. `warning` says why
    the answer is not the final step's response. `interrupted` is written by whoever finds a run whose
    process died.
    """

    type: Literal["run_finished"] = "run_finished"
    outcome: RunOutcome
    answer: str | None
    answer_step: int | None
    warning: str | None = None


Event = Annotated[
    PlanningStarted
    | PlanningDelta
    | WorkflowPlanned
    | PlanRejected
    | PlanningFailed
    | RunStarted
    | StepReused
    | StepStarted
    | StepDelta
    | StepFinished
    | StepFailed
    | StepBlocked
    | StepCancelled
    | RunFinished,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Validates and serialises any event."""
