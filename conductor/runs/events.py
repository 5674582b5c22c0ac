"""The record of a run (or of a planning attempt): a closed union of events in the past tense.

Everything that shows, stores or judges a run folds these and nothing else. An event holds what
happened, when (`at`, Unix seconds) and in which order (`seq`, from 0, without gaps in one stream).
`type` is its name in JSON. Steps are 0-based. Knows values only: no engine, no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from conductor.runs.scope import EDITED, RunScope
from conductor.text.formatting import quantity
from conductor.values.budget import NO_BUDGET, Budget, Crossing, Used
from conductor.values.charge import Charge
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.message_parts.tool_use import ToolQuestion, ToolRequest, ToolUse
from conductor.values.messages import Message, Request, Sampling, SeenResponse, Usage, Value
from conductor.values.output import Output, WorkerKind
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport


class _Event(Value):
    run: str
    """Id of the run, or of the planning attempt, whose stream this belongs to."""
    seq: int
    """Its position in the stream, from 0, without gaps."""
    at: float
    """When it happened, in Unix seconds."""


OfRequest = Annotated[Charge | None, Field(exclude_if=lambda charge: charge is None)]
"""What the request took that has ended; None if none was sent, or the worker makes requests of its own."""

FormerUsage = Annotated[Usage | None, Field(exclude_if=lambda usage: usage is None)]
"""Only in an event of an earlier version, which has no charge: the tokens of all its requests."""

Outage = Annotated[str | None, Field(exclude_if=lambda outage: outage is None)]
"""See `conductor.errors.WorkerError`."""


class EventOfStep(_Event):
    """What happened to a step."""

    step: int
    """Its position in the workflow, from 0."""


class Retry(_Event):
    """A call that gave no answer at one try, and was made again."""

    attempt: int
    """The try that failed, from 1."""
    message: str
    """Why it gave none."""
    seconds: float
    """The pause before the next try."""
    withdrawn: int = 0
    """How many characters of the deltas and thoughts before no longer count: all of them, or 0."""
    charge: OfRequest = None
    """What the try took that failed."""

    @property
    def reason(self) -> str:
        """Why there was no answer, and how much was withdrawn."""
        if not self.withdrawn:
            return self.message
        return f"{self.message.rstrip('.')}; {quantity(self.withdrawn, 'character')} withdrawn."


class _Completed(_Event):
    """A Conductor's completion was read."""

    report: PlanReport
    """How its text was read: the plan, or why it is none."""
    charge: OfRequest = None
    """What the request took that gave the completion."""
    usage: Usage
    """The tokens of all requests for it."""
    seconds: float
    """The time of the call."""


class PlanningStarted(_Event):
    """A Conductor was called for a workflow."""

    type: Literal["planning_started"] = "planning_started"
    query: str
    """What the workflow is to answer."""
    planner: str
    """The name of the Conductor."""
    planner_kind: WorkerKind
    """Who writes the plan."""
    round: int = 1
    """From 1."""
    attempt: int = 1
    """How often it was called in that round, from 1."""


class PlanningDelta(_Event):
    """The Conductor wrote some more."""

    type: Literal["planning_delta"] = "planning_delta"
    text: str
    """The piece that was written."""


class PlanningThought(_Event):
    """The Conductor thought some more, apart from what it wrote."""

    type: Literal["planning_thought"] = "planning_thought"
    text: str
    """The piece that was thought."""
    recalls: int = 0
    """How many characters at the end of the deltas before it were thoughts, too."""


class PlanningRetried(Retry):
    """The Conductor gave no plan at one try of a call, and is called again."""

    type: Literal["planning_retried"] = "planning_retried"


class WorkflowPlanned(_Completed):
    """The completion holds a valid plan."""

    type: Literal["workflow_planned"] = "workflow_planned"


class AnswerKept(_Completed):
    """The Conductor looked at the previous round and returns its answer as it is."""

    type: Literal["answer_kept"] = "answer_kept"
    reason: str
    """In the words of the Conductor."""


class PlanRejected(_Completed):
    """The completion holds no valid plan."""

    type: Literal["plan_rejected"] = "plan_rejected"


class PlanningFailed(_Event):
    """The Conductor gave no completion at all."""

    type: Literal["planning_failed"] = "planning_failed"
    message: str
    """Why there is none."""
    outage: Outage = None
    """Which outage of its server is to blame; None if it is none."""
    stopped: bool = False
    """On request, so that nothing failed."""
    charge: OfRequest = None
    """What its request took."""


class RunStarted(_Event):
    """A workflow began to run."""

    type: Literal["run_started"] = "run_started"
    query: str
    """What it answers."""
    workflow: Workflow
    """With its pins, gates and rules."""
    parent: str | None = None
    """The run whose edited plan, or whose next round, this is."""
    round: int = 1
    """From 1."""
    previous: tuple[SeenResponse, ...] = ()
    """The responses of the previous round's steps, for steps that may see them."""
    budget: Budget = NO_BUDGET
    """What the run may take."""
    used: Used = Used()
    """What planning and earlier rounds have taken of the budget that they share with this run."""
    covers: tuple[int, ...] | None = None
    """The steps (from 0, ascending) that the run is to give an output, None for all of them."""
    conversation: Conversation = NO_CONVERSATION
    """The messages before the query."""
    scope: RunScope = EDITED
    """What the run was to do."""


KeptBecause = Literal["pinned", "preloaded"]


class StepKept(EventOfStep):
    """A step's output counts without a call, whatever its inputs are by now: it is pinned, or was there
    already and only what reads it is run.
    """

    type: Literal["step_kept"] = "step_kept"
    output: Output
    """What counts."""
    because: KeptBecause
    """Why it counts whatever its inputs are."""


class StepReused(EventOfStep):
    """A step needed no call: an output for just its request was known."""

    type: Literal["step_reused"] = "step_reused"
    output: Output
    """What is reused, from the run that it names."""
    request: Request
    """What the worker would have been sent."""
    of_equal_step: bool = Field(default=False, exclude_if=lambda equal: not equal)
    """The output was another step's, whose request was the same."""


class StepStarted(EventOfStep):
    """A step's request went to its worker."""

    type: Literal["step_started"] = "step_started"
    worker: str
    """Its name in the pool."""
    worker_kind: WorkerKind
    """Who answers."""
    fingerprint: str
    """The key under which the output is stored."""
    request: Request
    """What the worker is sent, whole."""


class StepDelta(EventOfStep):
    """A step's worker wrote some more; only the step's end may have the last of it."""

    type: Literal["step_delta"] = "step_delta"
    text: str
    """The piece that was written."""
    logprobs: tuple[TokenLogprob, ...] = Field(default=(), exclude_if=lambda logprobs: not logprobs)
    """Those of the tokens that came with it, if they were requested."""


class StepThought(EventOfStep):
    """A step's worker thought some more, apart from its answer; the last of it as with `StepDelta`."""

    type: Literal["step_thought"] = "step_thought"
    text: str
    """The piece that was thought."""
    recalls: int = 0
    """How many characters at the end of the deltas before it were thoughts, too."""
    members: tuple[str, ...] = Field(default=(), exclude_if=lambda members: not members)
    """Those of the worker's message that are this text, by name."""


class StepCallDelta(EventOfStep):
    """A step's worker wrote more of a call of a tool; the last of it as with `StepDelta`."""

    type: Literal["step_call_delta"] = "step_call_delta"
    index: int
    """Which call of the step, from 0."""
    text: str
    """A piece of the arguments, which are JSON."""
    id: str | None = None
    """Of the call; only its first piece has it."""
    name: str | None = None
    """Of the tool; only the first piece of a call has it."""
    extra: str | None = Field(default=None, exclude_if=lambda extra: extra is None)
    """Other members of the call, such as signatures, as JSON text; only the first piece may have them."""


class StepRetried(Retry, EventOfStep):
    """A step's worker gave no answer at one try: it is called again, or something else takes its place."""

    type: Literal["step_retried"] = "step_retried"
    again: bool = Field(default=True, exclude_if=lambda again: again)
    """Whether a further call of that worker follows, and not another worker or a text in its place."""


class StepFellBack(EventOfStep):
    """A step's worker could not answer, and another answers in its place."""

    type: Literal["step_fell_back"] = "step_fell_back"
    worker: str
    """The one that answers."""
    worker_kind: WorkerKind
    """Who answers."""
    message: str
    """Why the step's own worker could not."""
    request: Request | None = Field(default=None, exclude_if=lambda request: request is None)
    """What it is sent, whole; None in an event of an earlier version."""
    sampling: Sampling | None = Field(default=None, exclude_if=lambda sampling: sampling is None)
    """Only in an event of an earlier version: the parameters that it was sent, if they are others than the
    step's own worker was sent.
    """
    charge: OfRequest = None
    """What the request to the step's own worker took."""


class StepToolsOffered(EventOfStep):
    """A step's worker may call tools of its own, which its server has just described."""

    type: Literal["step_tools_offered"] = "step_tools_offered"
    request: Request
    """What the worker is sent, with the tools."""


class StepToolsCalled(EventOfStep):
    """A step's worker calls tools of its own, and waits for their results."""

    type: Literal["step_tools_called"] = "step_tools_called"
    calls: tuple[ToolRequest, ...]
    """In the worker's order; they run at once."""
    answer: Message | None = Field(default=None, exclude_if=lambda answer: answer is None)
    """The message with the calls; None in an event of an earlier version, as are the next two."""
    worker: str = Field(default="", exclude_if=lambda worker: not worker)
    """Who calls: the step's worker, or one in its place."""
    fingerprint: str = Field(default="", exclude_if=lambda fingerprint: not fingerprint)
    """Of the step's request, by which a later run finds where this one stood."""
    charge: OfRequest = None
    """What the request took that gave the calls."""


class StepToolsReturned(EventOfStep):
    """The tools answered, and the worker goes on with their results."""

    type: Literal["step_tools_returned"] = "step_tools_returned"
    uses: tuple[ToolUse, ...]
    """The calls with their results, in the order of the calls."""
    request: Request
    """What the worker is sent now, whole."""


class StepToolsHeld(EventOfStep):
    """Some of the calls need a person's yes: none of them is made in this run, and the run waits."""

    type: Literal["step_tools_held"] = "step_tools_held"
    questions: tuple[ToolQuestion, ...]
    """What is to be decided, in the order of the calls."""


class StepToolsContinued(EventOfStep):
    """A step goes on where its answer stood in a run before this one."""

    type: Literal["step_tools_continued"] = "step_tools_continued"
    worker: str
    """Who answers."""
    worker_kind: WorkerKind
    """Who answers."""
    stands_in: bool = Field(default=False, exclude_if=lambda stands_in: not stands_in)
    """It answers in the place of the step's own worker."""
    fingerprint: str
    """Of the step's request."""
    request: Request
    """What the worker was sent last, with its answer behind it where that calls tools."""
    calls: tuple[ToolRequest, ...] = ()
    """The calls without a result, which are made or decided now."""
    uses: tuple[ToolUse, ...] = ()
    """The calls before, with their results."""


class StepInner(EventOfStep):
    """An event of the workflow inside a step that a Conductor does."""

    type: Literal["step_inner"] = "step_inner"
    event: Event
    """Of the stream of the workflow inside."""


class StepFinished(EventOfStep):
    """A step's worker answered."""

    type: Literal["step_finished"] = "step_finished"
    output: Output
    """What it answered."""
    charge: OfRequest = None
    """What the request took that gave the output."""


class StepFailed(EventOfStep):
    """A step's worker could not answer; its deltas hold what it had written."""

    type: Literal["step_failed"] = "step_failed"
    message: str
    """Why it could not."""
    outage: Outage = None
    """Which outage of its server is to blame; None if it is none."""
    charge: OfRequest = None
    """What the last request took."""
    usage: FormerUsage = None
    """See `FormerUsage`."""
    seconds: float
    """From its start to its end."""


class StepBlocked(EventOfStep):
    """A step never started, because steps that it reads failed or were blocked."""

    type: Literal["step_blocked"] = "step_blocked"
    by: tuple[int, ...]
    """Those steps."""


class StepPaused(EventOfStep):
    """A step's gate was reached: its worker would be sent the request now, and is not called in this run."""

    type: Literal["step_paused"] = "step_paused"
    worker: str
    """The one that would be called."""
    worker_kind: WorkerKind
    """Who would answer."""
    fingerprint: str
    """The key under which the output would be stored."""
    request: Request
    """What the worker would be sent."""


class StepCancelled(EventOfStep):
    """A step was stopped while it ran; its deltas hold what it had written."""

    type: Literal["step_cancelled"] = "step_cancelled"
    charge: OfRequest = None
    """What the request took that was under way."""
    usage: FormerUsage = None
    """See `FormerUsage`."""
    seconds: float
    """From its start to its end."""


class BudgetExceeded(Crossing, _Event):
    """A limit of the budget was reached: no new call is made."""

    type: Literal["budget_exceeded"] = "budget_exceeded"
    stopped: bool = True
    """False where the run had nothing left to do."""


RunOutcome = Literal["finished", "failed", "cancelled", "interrupted", "over_budget", "paused"]


class RunFinished(_Event):
    """The run is over.

    `interrupted` is written by the process that finds a run whose own process died. `paused`: nothing is left
    to do but what a gate holds back; where a person stops such a run, a second end follows: `cancelled`.
    """

    type: Literal["run_finished"] = "run_finished"
    outcome: RunOutcome
    """How it ended."""
    answer: str | None
    """The response of `answer_step` as people read it, None when no step has a response."""
    answer_step: int | None
    """The step that answers, from 0."""
    warning: str | None = None
    """Why the answer is not the final step's response."""
    answered: bool = True
    """False where the step that the run was for declined to answer, or gave nothing."""
    charges: Mapping[int, Charge] = Field(default={}, exclude_if=lambda charges: not charges)
    """By step, what the requests took that were under way when the process of an interrupted run died."""


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
    | StepToolsOffered
    | StepToolsCalled
    | StepToolsReturned
    | StepToolsHeld
    | StepToolsContinued
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

PlanningEvent = PlanningRetried | WorkflowPlanned | AnswerKept | PlanRejected | PlanningFailed
"""Events that end a request to a Conductor."""

TextPiece = PlanningDelta | PlanningThought | StepDelta | StepThought | StepCallDelta
"""Events that carry a piece of a text; the end of its call carries the whole text."""

EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
"""Validates and serialises any event."""
