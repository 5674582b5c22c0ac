"""The record of a run (or of a planning attempt): a closed union of events in the past tense.

Everything that shows, keeps or judges a run folds these and nothing else. An event says what
happened, when (`at`, Unix seconds) and in which order (`seq`, from 0, without gaps in one stream).
Steps are 0-based. Knows values only: no engine, no store.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from conductor.budget import NO_BUDGET, Budget, Limit, Used
from conductor.conversation import NOTHING_SAID, Conversation
from conductor.messages import Request, SeenResponse, Usage, Value
from conductor.output import Output, WorkerKind
from conductor.plan import PlanReport
from conductor.workflow import Workflow


class _Event(Value):
    run: str
    """Id of the run, or of the planning attempt, whose stream this belongs to."""
    seq: int
    at: float


class PlanningStarted(_Event):
    """A Conductor was asked for a workflow, for the `attempt`-th time in that `round` (both from 1)."""

    type: Literal["planning_started"] = "planning_started"
    query: str
    planner: str
    planner_kind: WorkerKind
    round: int = 1
    attempt: int = 1


class PlanningDelta(_Event):
    """The Conductor wrote some more."""

    type: Literal["planning_delta"] = "planning_delta"
    text: str


class PlanningThought(_Event):
    """The Conductor thought some more, apart from what it wrote."""

    type: Literal["planning_thought"] = "planning_thought"
    text: str


class PlanningRetried(_Event):
    """The Conductor gave nothing at the `attempt`-th try of one call, and is asked again after `seconds`."""

    type: Literal["planning_retried"] = "planning_retried"
    attempt: int
    message: str
    seconds: float


class WorkflowPlanned(_Event):
    """The completion holds a valid plan."""

    type: Literal["workflow_planned"] = "workflow_planned"
    report: PlanReport
    usage: Usage
    seconds: float


class AnswerKept(_Event):
    """The Conductor looked at the previous round and returns its answer as it is; `reason` is its own."""

    type: Literal["answer_kept"] = "answer_kept"
    report: PlanReport
    reason: str
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
    """A workflow began to run. `parent` is the run whose edited plan, or whose next round, this is.

    `previous` is what the steps of the previous round answered, for steps that may see them. `used` is what
    planning and earlier rounds have taken of the `budget` that they share with this run. `covers` are the
    steps (0-based, ascending) that the run is to give an output, None for all of them. `conversation` is what
    was said before the query.
    """

    type: Literal["run_started"] = "run_started"
    query: str
    workflow: Workflow
    parent: str | None = None
    round: int = 1
    previous: tuple[SeenResponse, ...] = ()
    budget: Budget = NO_BUDGET
    used: Used = Used()
    covers: tuple[int, ...] | None = None
    conversation: Conversation = NOTHING_SAID


KeptBecause = Literal["pinned", "preloaded"]


class StepKept(_Event):
    """A step's output counts without a call, whatever its inputs are by now: it is pinned, or was there
    already and only what reads it is run.
    """

    type: Literal["step_kept"] = "step_kept"
    step: int
    output: Output
    because: KeptBecause


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
    """A step's worker wrote some more; the last of it may be told by the step's end alone."""

    type: Literal["step_delta"] = "step_delta"
    step: int
    text: str


class StepThought(_Event):
    """A step's worker thought some more, apart from its answer; the last of it as with `StepDelta`."""

    type: Literal["step_thought"] = "step_thought"
    step: int
    text: str


class StepRetried(_Event):
    """A step's worker gave nothing at its `attempt`-th try (from 1), and is asked again after `seconds`."""

    type: Literal["step_retried"] = "step_retried"
    step: int
    attempt: int
    message: str
    seconds: float


class StepFellBack(_Event):
    """A step's worker could not answer, and `worker` answers in its place."""

    type: Literal["step_fell_back"] = "step_fell_back"
    step: int
    worker: str
    worker_kind: WorkerKind
    message: str


class StepInner(_Event):
    """Something happened inside a step that a Conductor does by a workflow of its own."""

    type: Literal["step_inner"] = "step_inner"
    step: int
    event: Event


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


class BudgetExceeded(_Event):
    """The run crossed its budget: no new call is made and running ones are stopped.

    `used` and `allowed` are tokens, US dollars, seconds or calls, as `limit` says.
    """

    type: Literal["budget_exceeded"] = "budget_exceeded"
    limit: Limit
    used: float
    allowed: float

    @property
    def words(self) -> str:
        """What was used of what was allowed, for people."""
        if self.limit == "cost":
            return f"${self.used:.4f} of ${self.allowed:g}"
        if self.limit == "seconds":
            return f"{self.used:.1f} of {self.allowed:g} seconds"
        return f"{self.used:,.0f} of {self.allowed:,.0f} {self.limit}"


RunOutcome = Literal["finished", "failed", "cancelled", "interrupted", "over_budget"]


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
    | PlanningThought
    | PlanningRetried
    | WorkflowPlanned
    | AnswerKept
    | PlanRejected
    | PlanningFailed
    | RunStarted
    | StepKept
    | StepReused
    | StepStarted
    | StepDelta
    | StepThought
    | StepRetried
    | StepFellBack
    | StepInner
    | StepFinished
    | StepFailed
    | StepBlocked
    | StepCancelled
    | BudgetExceeded
    | RunFinished,
    Field(discriminator="type"),
]

StepInner.model_rebuild()

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Validates and serialises any event."""
