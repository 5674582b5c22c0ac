"""The record of a run (or of a planning attempt): a closed union of events in the past tense.

Everything that shows, stores or judges a run folds these and nothing else. An event holds what
happened, when (`at`, Unix seconds) and in which order (`seq`, from 0, without gaps in one stream).
Steps are 0-based. Knows values only: no engine, no store.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from conductor.runs.scope import EDITED, RunScope
from conductor.values.budget import NO_BUDGET, Budget, Crossing, Used
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.messages import Request, SeenResponse, Usage, Value
from conductor.values.output import Output, WorkerKind
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport


class _Event(Value):
    run: str
    """Id of the run, or of the planning attempt, whose stream this belongs to."""
    seq: int
    at: float


class PlanningStarted(_Event):
    """A Conductor was called for a workflow, for the `attempt`-th time in that `round` (both from 1)."""

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
    """The Conductor gave no plan at the `attempt`-th try of one call, and is called again after `seconds`.

    `withdrawn` is how many characters of the deltas and thoughts before no longer count: all of them, or 0.
    """

    type: Literal["planning_retried"] = "planning_retried"
    attempt: int
    message: str
    seconds: float
    withdrawn: int = 0


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
    """The completion holds no valid plan; the report gives the reasons."""

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

    `previous` holds the responses of the previous round's steps, for steps that may see them. `used` is what
    planning and earlier rounds have taken of the `budget` that they share with this run. `covers` are the
    steps (0-based, ascending) that the run is to give an output, None for all of them. `conversation` holds
    the messages before the query. `scope` is what the run was to do.
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
    conversation: Conversation = NO_CONVERSATION
    scope: RunScope = EDITED


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
    """A step's worker wrote some more; only the step's end may have the last of it.

    `logprobs` are those of the tokens that came with it, where they were asked for.
    """

    type: Literal["step_delta"] = "step_delta"
    step: int
    text: str
    logprobs: tuple[TokenLogprob, ...] = Field(default=(), exclude_if=lambda logprobs: not logprobs)


class StepThought(_Event):
    """A step's worker thought some more, apart from its answer; the last of it as with `StepDelta`."""

    type: Literal["step_thought"] = "step_thought"
    step: int
    text: str


class StepCallDelta(_Event):
    """A step's worker wrote more of a call of a tool: `text` belongs to the arguments of the call at `index`.

    The first piece of a call has its id and its name, which the others lack; the last of it as with
    `StepDelta`.
    """

    type: Literal["step_call_delta"] = "step_call_delta"
    step: int
    index: int
    text: str
    id: str | None = None
    name: str | None = None


class StepRetried(_Event):
    """A step's worker gave no answer at its `attempt`-th try (from 1), and is called again after `seconds`.

    `withdrawn` is how many characters of the deltas and thoughts before no longer count: all of them, or 0.
    """

    type: Literal["step_retried"] = "step_retried"
    step: int
    attempt: int
    message: str
    seconds: float
    withdrawn: int = 0


class StepFellBack(_Event):
    """A step's worker could not answer, and `worker` answers in its place."""

    type: Literal["step_fell_back"] = "step_fell_back"
    step: int
    worker: str
    worker_kind: WorkerKind
    message: str


class StepInner(_Event):
    """An event of the workflow inside a step that a Conductor does."""

    type: Literal["step_inner"] = "step_inner"
    step: int
    event: Event


class StepFinished(_Event):
    """A step's worker answered."""

    type: Literal["step_finished"] = "step_finished"
    step: int
    output: Output


class StepFailed(_Event):
    """A step's worker could not answer; its deltas hold what it had written."""

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


class StepPaused(_Event):
    """A step's gate was reached: its worker would be sent the request now, and is not called in this run."""

    type: Literal["step_paused"] = "step_paused"
    step: int
    worker: str
    worker_kind: WorkerKind
    fingerprint: str
    request: Request


class StepCancelled(_Event):
    """A step was stopped while it ran; its deltas hold what it had written."""

    type: Literal["step_cancelled"] = "step_cancelled"
    step: int
    usage: Usage
    seconds: float


class BudgetExceeded(Crossing, _Event):
    """A limit of the budget was reached: no new call is made.

    `used`, `allowed` and `needed` are in the unit of `limit`: tokens, US dollars, seconds or calls.
    `refused`: a call had no room, and those under way continue; `needed` is what it takes at least, None for
    calls. Otherwise more was used than allowed, and calls under way are stopped. `estimated`: a part of
    `used` is not an endpoint's own count. `stopped` is False where the run had nothing left to do.
    """

    type: Literal["budget_exceeded"] = "budget_exceeded"
    stopped: bool = True


RunOutcome = Literal["finished", "failed", "cancelled", "interrupted", "over_budget", "paused"]


class RunFinished(_Event):
    """The run is over.

    `answer` is the response of step `answer_step` as people read it, None when no step has a response.
    `warning` is the reason why the answer is not the final step's response. The outcome `interrupted` is
    written by the process that finds a run whose own process died. `answered` is False where the step that
    the run was for declined to answer, or gave nothing. `paused`: nothing is left to do but what a gate holds
    back; where a person stops such a run, a second end follows, which is `cancelled`.
    """

    type: Literal["run_finished"] = "run_finished"
    outcome: RunOutcome
    answer: str | None
    answer_step: int | None
    warning: str | None = None
    answered: bool = True


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
    | StepCallDelta
    | StepRetried
    | StepFellBack
    | StepInner
    | StepFinished
    | StepFailed
    | StepBlocked
    | StepPaused
    | StepCancelled
    | BudgetExceeded
    | RunFinished,
    Field(discriminator="type"),
]

TextPiece = PlanningDelta | PlanningThought | StepDelta | StepThought | StepCallDelta
"""Events that carry a piece of a text; the end of its call carries the whole text."""

StepInner.model_rebuild()

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Validates and serialises any event."""
