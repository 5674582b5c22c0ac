"""One step of a run as the fold of its events: pure, the same live and in replay.

Knows the events of a step; how they are spread over a run's steps is `run_state`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never

from conductor.events import (
    KeptBecause,
    PlanningRetried,
    StepBlocked,
    StepCancelled,
    StepDelta,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepKept,
    StepRetried,
    StepReused,
    StepStarted,
    StepThought,
)
from conductor.messages import Request, Usage
from conductor.output import Output, WorkerKind
from conductor.successor import successor

if TYPE_CHECKING:
    from conductor.run_state import RunState

StepStatus = Literal[
    "waiting", "running", "finished", "empty", "failed", "blocked", "cancelled", "interrupted"
]


@dataclass(frozen=True, slots=True)
class Retry:
    """A call that gave nothing at its `attempt`-th try, and was made again after `seconds`.

    `at` is when it had failed, in Unix seconds.
    """

    attempt: int
    message: str
    seconds: float
    at: float


@dataclass(frozen=True)
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

    def answered_by(self, worker: str) -> str:
        """The worker that answers this step, which was given to `worker`."""
        if self.output is not None and self.output.instead_of is not None:
            return self.output.worker
        return self.stand_in or worker


StepEvent = (
    StepReused
    | StepKept
    | StepStarted
    | StepDelta
    | StepThought
    | StepRetried
    | StepFellBack
    | StepFinished
    | StepFailed
    | StepBlocked
    | StepCancelled
)


def advance_step(step: StepState, event: StepEvent) -> StepState:
    """The step after one more event of its own."""
    match event:
        case StepDelta():
            return successor(step, text=step.text + event.text)
        case StepThought():
            return successor(step, reasoning=step.reasoning + event.text)
        case StepRetried():
            return successor(step, retries=(*step.retries, retry(event)))
        case StepFellBack():
            return successor(
                step,
                worker_kind=event.worker_kind,
                stand_in=event.worker,
                stand_in_reason=event.message,
            )
        case StepReused():
            return successor(
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
            return successor(
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
            return successor(
                step,
                status="running",
                worker_kind=event.worker_kind,
                request=event.request,
                started_at=event.at,
            )
        case StepFinished():
            return successor(
                step,
                status="empty" if event.output.empty else "finished",
                text=event.output.text,
                reasoning=event.output.reasoning,
                output=event.output,
                finished_at=event.at,
                usage=event.output.usage,
            )
        case StepFailed():
            return successor(
                step, status="failed", message=event.message, finished_at=event.at, usage=event.usage
            )
        case StepBlocked():
            return successor(step, status="blocked", blocked_by=event.by)
        case StepCancelled():
            return successor(step, status="cancelled", finished_at=event.at, usage=event.usage)
        case _:
            assert_never(event)


def retry(event: StepRetried | PlanningRetried) -> Retry:
    """What an event tells of a call that was made again."""
    return Retry(attempt=event.attempt, message=event.message, seconds=event.seconds, at=event.at)
