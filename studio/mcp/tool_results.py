"""The results of the tools: workflows, runs, steps and sessions as values with a JSON Schema.

Steps count from 0, times are Unix seconds, and what is unknown is null. Texts of models are data: they stand
in fields of their own and nowhere else. Knows the fold of a run; knows no store and no protocol.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from conductor.runs.request import RequestState
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.messages import Request
from conductor.workflow.model import Workflow


class Result(BaseModel):
    """A value that a tool returns."""

    model_config = ConfigDict(frozen=True)


class Used(Result):
    """Tokens and US dollars; null where not known exactly. The others are lower bounds."""

    tokens: int | None
    cost: float | None
    known_tokens: int
    known_cost: float

    @classmethod
    def of(cls, state: RequestState | RunState | StepState) -> Used:
        exact, least = state.usage, state.used.lower
        return cls(
            tokens=exact.total, cost=exact.cost, known_tokens=least.total or 0, known_cost=least.cost or 0.0
        )


class PlannedStep(Result):
    """A step of a workflow. `access` are the earlier steps whose outputs it sees."""

    step: Annotated[int, Field(description="from 0")]
    worker: str
    instruction: str
    access: tuple[int, ...]


def planned_steps(workflow: Workflow) -> tuple[PlannedStep, ...]:
    return tuple(
        PlannedStep(step=at, worker=step.worker, instruction=step.instruction, access=step.access)
        for at, step in enumerate(workflow.steps)
    )


class RunStep(PlannedStep):
    """A step of a run; show_step returns its output and what it was sent."""

    status: str
    answered_by: str
    error: str | None
    seconds: float | None
    waits_with: Annotated[
        tuple[dict[str, Any], ...], Field(description="calls of tools that need a yes of the user")
    ] = ()


def run_steps(state: RunState) -> tuple[RunStep, ...]:
    if state.workflow is None:
        return ()
    return tuple(
        RunStep(
            **dict(planned),
            status="reused" if done.reused else done.kept_because or done.status,
            answered_by=done.answered_by(planned.worker),
            error=done.message,
            seconds=done.seconds,
            waits_with=tuple(each.shape for each in state.waiting_calls if each.step == planned.step),
        )
        for planned, done in zip(planned_steps(state.workflow), state.steps, strict=True)
    )


class Answered(Result):
    """A run that ended with an answer. `answered` is false where the worker declined to give one."""

    session: str
    run: str
    answer: str
    answered: bool
    warning: str | None
    label: Annotated[str | None, Field(description="set where no model answers")]
    round: int
    steps: tuple[RunStep, ...]
    used: Annotated[Used, Field(description="by all calls of this request, planning included")]
    seconds: float | None


class Amounts(Result):
    """What a run will probably take; null where that is unknown. `at_least`: the calls may be more."""

    calls: int
    at_least: bool
    tokens: int | None
    cost: float | None
    seconds: float | None


class Remark(Result):
    """What the check of a workflow found; `step` is null where it concerns all of it."""

    severity: str
    step: int | None
    sentence: str


class Planned(Result):
    """A workflow that was written and not run; run_workflow runs it by its session."""

    session: str
    label: Annotated[str | None, Field(description="set where no model answers")]
    steps: tuple[PlannedStep, ...]
    workflow: Annotated[dict[str, Any], Field(description="as a file of the format conductor-workflow")]
    reasoning: str
    estimate: Amounts
    remarks: tuple[Remark, ...]
    used: Annotated[Used, Field(description="by planning")]


class WorkerEntry(Result):
    """A worker that steps may be given to. `unusable` is why it cannot be used now, null where it can."""

    name: str
    kind: str
    strengths: str
    context: int | None
    unusable: str | None


class Workers(Result):
    """The workers of the pool that this caller may use."""

    label: Annotated[str | None, Field(description="set where no model answers")]
    workers: tuple[WorkerEntry, ...]


class SessionEntry(Result):
    """A session in a list. `tokens` is a lower bound where `tokens_at_least` is true."""

    id: str
    title: str
    state: str
    updated_at: float
    steps: int | None
    workers: tuple[str, ...]
    runs: int
    tokens: int | None
    tokens_at_least: bool


class Sessions(Result):
    """A page of sessions, last updated first; `further` is where the list goes on, null at its end."""

    sessions: tuple[SessionEntry, ...]
    further: str | None


class RevisionEntry(Result):
    """A version of a session's workflow."""

    id: str
    number: int
    origin: str
    note: str
    created_at: float
    current: bool


class RunEntry(Result):
    """A run of a session."""

    id: str
    revision: str
    status: str
    round: int
    started_at: float
    finished_at: float | None
    answer: str | None
    label: Annotated[str | None, Field(description="set where no model answers")]


class SessionDetails(Result):
    """A session with its workflow, its revisions and its runs, newest run first."""

    id: str
    title: str
    query: str
    created_at: float
    updated_at: float
    workflow: Annotated[
        dict[str, Any] | None, Field(description="as a file of the format conductor-workflow")
    ]
    revisions: tuple[RevisionEntry, ...]
    runs: tuple[RunEntry, ...]


class SentMessage(Result):
    """A message as a worker was sent it."""

    role: str
    content: str


class Seen(Result):
    """An output of another step that a step was shown; `round` is set for one of an earlier round."""

    step: int
    round: int | None
    worker: str
    response: str


class StepDetails(RunStep):
    """A step of a run: what its worker was sent, what of the other steps it saw, and what it answered.

    Of a reused output `messages` are those of the run that it was made in.
    """

    session: str
    run: str
    messages: Annotated[
        tuple[SentMessage, ...] | None, Field(description="null where the worker was sent nothing")
    ]
    seen: tuple[Seen, ...]
    output: str | None
    reasoning: str | None
    label: Annotated[str | None, Field(description="set where no model answers")]
    used: Used


def sent_messages(request: Request) -> tuple[SentMessage, ...]:
    return tuple(SentMessage.model_validate(each, from_attributes=True) for each in request.messages)


def seen_in(request: Request) -> tuple[Seen, ...]:
    return tuple(Seen.model_validate(each, from_attributes=True) for each in request.seen)
