"""The state of a run as the fold of its events: pure, the same live and in replay.

Knows events only. An event for a step that the run does not have is a fault of whoever wrote the
stream and raises `ValueError`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, TypedDict, assert_never

from conductor.budget import Budget, Used
from conductor.events import (
    AnswerKept,
    BudgetExceeded,
    Event,
    KeptBecause,
    PlanningDelta,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanningThought,
    PlanRejected,
    RunFinished,
    RunOutcome,
    RunStarted,
    StepBlocked,
    StepCancelled,
    StepDelta,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepInner,
    StepKept,
    StepRetried,
    StepReused,
    StepStarted,
    StepThought,
    WorkflowPlanned,
)
from conductor.messages import NOTHING_USED, Request, SeenResponse, Usage
from conductor.output import Output, WorkerKind
from conductor.plan import PlanReport
from conductor.workflow import Workflow

StepStatus = Literal[
    "waiting", "running", "finished", "empty", "failed", "blocked", "cancelled", "interrupted"
]
RunStatus = Literal["running"] | RunOutcome


@dataclass(frozen=True, slots=True)
class Retry:
    """A call that gave nothing at its `attempt`-th try, and was made again after `seconds`.

    `at` is when it had failed, in Unix seconds.
    """

    attempt: int
    message: str
    seconds: float
    at: float


@dataclass(frozen=True, slots=True)
class StepState:
    """One step of a run. `text` grows while it streams; `output` is set when it is done.

    `reused` is True when no call was made because the output was already known; `kept` says why one counts
    that may not fit its inputs. `reasoning` is what a model
    thought apart from its answer. `stand_in` is the worker that answers in the place of the step's own, for
    the reason in `stand_in_reason`. `inner` are the rounds of a step that a Conductor does by a workflow of
    its own. Times are Unix seconds.
    """

    status: StepStatus = "waiting"
    text: str = ""
    reasoning: str = ""
    retries: tuple[Retry, ...] = ()
    stand_in: str | None = None
    stand_in_reason: str | None = None
    inner: tuple[RunState, ...] = ()
    output: Output | None = None
    reused: bool = False
    kept: KeptBecause | None = None
    worker_kind: WorkerKind | None = None
    request: Request | None = None
    message: str | None = None
    blocked_by: tuple[int, ...] = ()
    started_at: float | None = None
    finished_at: float | None = None
    usage: Usage = Usage()

    @property
    def seconds(self) -> float | None:
        """How long the step took in this run; None while it waits or runs, and for a reused one."""
        if self.started_at is None or self.finished_at is None:
            return None
        return self.finished_at - self.started_at

    @property
    def done(self) -> bool:
        """Whether nothing more will happen to this step in this run."""
        return self.status not in ("waiting", "running")


@dataclass(frozen=True, slots=True)
class RunState:
    """A run so far. `workflow` is None until the run itself started; `report` until a plan was read.

    `round` counts from 1; `previous` is what the steps of the round before answered. `kept_reason` is why the
    Conductor returned the previous answer as it is. `crossing` says which limit of the `budget` was crossed,
    `used_before` what of it was taken before the run. `covers` are the steps that the run is to give an
    output, None for all; the others stay waiting to the end.
    """

    run: str = ""
    query: str = ""
    parent: str | None = None
    round: int = 1
    attempt: int = 1
    previous: tuple[SeenResponse, ...] = ()
    budget: Budget = Budget()
    used_before: Used = Used()
    crossing: BudgetExceeded | None = None
    status: RunStatus = "running"
    planning_text: str = ""
    planning_thought: str = ""
    planning_retries: tuple[Retry, ...] = ()
    planning_usage: Usage = NOTHING_USED
    kept_reason: str | None = None
    report: PlanReport | None = None
    planning_failure: str | None = None
    workflow: Workflow | None = None
    steps: tuple[StepState, ...] = ()
    covers: tuple[int, ...] | None = None
    answer: str | None = None
    answer_step: int | None = None
    warning: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    seq: int = -1

    @property
    def live(self) -> bool:
        """Whether more events are expected."""
        return self.status == "running"

    @property
    def whole(self) -> bool:
        """Whether the run covers every step of its workflow."""
        return self.covers is None

    @property
    def outputs(self) -> dict[int, Output]:
        """The outputs of the steps that have one."""
        return {at: step.output for at, step in enumerate(self.steps) if step.output is not None}

    @property
    def cutoffs(self) -> dict[int, tuple[int, ...]]:
        """For each reused step that reads steps called in this run, those: they answered as before."""
        called = {at for at, step in enumerate(self.steps) if step.started_at is not None}
        workflow = self.workflow.steps if self.workflow is not None else ()
        reading = {
            at: tuple(read for read in step.access if read in called) for at, step in enumerate(workflow)
        }
        return {at: reads for at, reads in reading.items() if reads and self.steps[at].reused}

    def covered(self, step: int) -> bool:
        """Whether the run is to give `step` an output, or has kept one for it."""
        return self.covers is None or step in self.covers or self.steps[step].kept is not None

    def tells_of(self, workflow: Workflow) -> bool:
        """Whether this is a run of `workflow`, be it that it was pinned meanwhile at just what it gave."""
        if self.workflow is None:
            return False
        if self.workflow == workflow:
            return True
        outputs = self.outputs
        return self.workflow.unpinned == workflow.unpinned and all(
            at in outputs and outputs[at].text == pin.text and outputs[at].hand == pin.hand
            for at, pin in (*workflow.pins.items(), *self.workflow.pins.items())
        )

    @property
    def usage(self) -> Usage:
        """Tokens of the calls that ended; reused steps cost nothing; unknown makes the sum unknown."""
        called = [step.usage for step in self.steps if step.started_at is not None and step.done]
        return sum(called, NOTHING_USED)

    @property
    def known_usage(self) -> Usage:
        """What is known to be used, also inside of steps that still run: a lower bound of `usage`."""
        return sum((_known(step) for step in self.steps), _counted(self.planning_usage))

    @property
    def calls(self) -> int:
        """Requests made to workers and, inside of steps, to Conductors; retries of one request count once."""
        planned = 1 if self.report is not None or self.planning_failure else 0
        return planned + sum(
            sum(inner.calls for inner in step.inner) if step.inner else 1
            for step in self.steps
            if step.started_at is not None
        )

    @property
    def seconds(self) -> float | None:
        """Wall time of the run, None while it runs."""
        if self.started_at is None or self.finished_at is None:
            return None
        return self.finished_at - self.started_at


def _counted(usage: Usage) -> Usage:
    return Usage(
        prompt_tokens=usage.prompt_tokens or 0,
        completion_tokens=usage.completion_tokens or 0,
        cost=usage.cost or 0.0,
    )


def _known(step: StepState) -> Usage:
    if step.reused or step.kept:
        return NOTHING_USED
    if step.inner:
        return sum((inner.known_usage for inner in step.inner), NOTHING_USED)
    return _counted(step.usage)


class _Place(TypedDict):
    run: str
    seq: int


def fold(events: Iterable[Event], state: RunState | None = None) -> RunState:
    """The state after these events, starting from `state` (a fresh one when None)."""
    return reduce(advance, events, state or RunState())


def advance(state: RunState, event: Event) -> RunState:
    """The state after one more event."""
    place: _Place = {"run": event.run, "seq": event.seq}
    match event:
        # Cases are tried in order; most events are a step's, and most of those are deltas.
        case (
            StepDelta()
            | StepStarted()
            | StepFinished()
            | StepReused()
            | StepKept()
            | StepFailed()
            | StepBlocked()
            | StepCancelled()
            | StepThought()
            | StepRetried()
            | StepFellBack()
            | StepInner()
        ):
            if not 0 <= event.step < len(state.steps):
                raise ValueError(
                    f"event {event.seq} speaks of step {event.step}, which the run does not have"
                )
            step = _advance_step(state.steps[event.step], event)
            steps = (*state.steps[: event.step], step, *state.steps[event.step + 1 :])
            return replace(state, **place, steps=steps)
        case PlanningStarted():
            return replace(
                state,
                **place,
                query=event.query,
                round=event.round,
                attempt=event.attempt,
                started_at=event.at,
            )
        case PlanningDelta():
            return replace(state, **place, planning_text=state.planning_text + event.text)
        case PlanningThought():
            return replace(state, **place, planning_thought=state.planning_thought + event.text)
        case PlanningRetried():
            return replace(state, **place, planning_retries=(*state.planning_retries, _retry(event)))
        case WorkflowPlanned() | PlanRejected():
            return replace(state, **place, report=event.report, planning_usage=event.usage)
        case AnswerKept():
            return replace(
                state,
                **place,
                report=event.report,
                planning_usage=event.usage,
                kept_reason=event.reason,
            )
        case PlanningFailed():
            return replace(state, **place, planning_failure=event.message)
        case RunStarted():
            return replace(
                state,
                **place,
                query=event.query,
                parent=event.parent,
                workflow=event.workflow,
                round=event.round,
                previous=event.previous,
                budget=event.budget,
                used_before=event.used,
                steps=tuple(StepState() for _ in event.workflow.steps),
                covers=event.covers,
                started_at=event.at if state.started_at is None else state.started_at,
            )
        case BudgetExceeded():
            return replace(state, **place, crossing=event)
        case RunFinished():
            return _finished(state, event)
        case _:
            assert_never(event)


StepEvent = (
    StepReused
    | StepKept
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
)


def _advance_step(step: StepState, event: StepEvent) -> StepState:
    match event:
        case StepDelta():
            return replace(step, text=step.text + event.text)
        case StepThought():
            return replace(step, reasoning=step.reasoning + event.text)
        case StepRetried():
            return replace(step, retries=(*step.retries, _retry(event)))
        case StepFellBack():
            return replace(
                step,
                worker_kind=event.worker_kind,
                stand_in=event.worker,
                stand_in_reason=event.message,
            )
        case StepInner():
            return replace(step, inner=_advance_inner(step.inner, event.event))
        case StepReused():
            return replace(
                step,
                status="empty" if event.output.empty else "finished",
                text=event.output.text,
                reasoning=event.output.reasoning,
                stand_in=event.output.worker if event.output.instead_of else None,
                output=event.output,
                reused=True,
                worker_kind=event.output.worker_kind,
                request=event.request,
                usage=event.output.usage,
            )
        case StepKept():
            return replace(
                step,
                status="empty" if event.output.empty else "finished",
                text=event.output.text,
                reasoning=event.output.reasoning,
                stand_in=event.output.worker if event.output.instead_of else None,
                output=event.output,
                kept=event.because,
                worker_kind=event.output.worker_kind,
                usage=event.output.usage,
            )
        case StepStarted():
            return replace(
                step,
                status="running",
                worker_kind=event.worker_kind,
                request=event.request,
                started_at=event.at,
            )
        case StepFinished():
            return replace(
                step,
                status="empty" if event.output.empty else "finished",
                text=event.output.text,
                reasoning=event.output.reasoning,
                output=event.output,
                finished_at=event.at,
                usage=event.output.usage,
            )
        case StepFailed():
            return replace(
                step, status="failed", message=event.message, finished_at=event.at, usage=event.usage
            )
        case StepBlocked():
            return replace(step, status="blocked", blocked_by=event.by)
        case StepCancelled():
            return replace(step, status="cancelled", finished_at=event.at, usage=event.usage)
        case _:
            assert_never(event)


def _retry(event: StepRetried | PlanningRetried) -> Retry:
    return Retry(attempt=event.attempt, message=event.message, seconds=event.seconds, at=event.at)


def _advance_inner(rounds: tuple[RunState, ...], event: Event) -> tuple[RunState, ...]:
    """A nested workflow's rounds; each begins with planning, also where that is asked for again."""
    if isinstance(event, PlanningStarted) or not rounds:
        return (*rounds, advance(RunState(), event))
    return (*rounds[:-1], advance(rounds[-1], event))


def _finished(state: RunState, event: RunFinished) -> RunState:
    """The end; a step that was running when its process died reads interrupted, never running."""
    steps = tuple(
        replace(step, status="interrupted") if step.status == "running" else step for step in state.steps
    )
    return replace(
        state,
        run=event.run,
        seq=event.seq,
        status=event.outcome,
        steps=steps,
        answer=event.answer,
        answer_step=event.answer_step,
        warning=event.warning,
        finished_at=event.at,
    )
