"""One step of a run as the fold of its events: pure, the same live and in replay.

Knows the events of a step; how they are spread over a run's steps is `run_state`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, assert_never

from conductor.runs import events
from conductor.runs.timed_call import TimedCalls, all_ended, with_request, with_results, with_tools
from conductor.values.charge import Charge, total_of
from conductor.values.message_parts.tool_use import ToolQuestion, ToolTurn, ToolUse
from conductor.values.messages import Request, Usage
from conductor.values.output import Output, WorkerKind
from conductor.values.total import UNDER_WAY, Total

if TYPE_CHECKING:
    from conductor.runs.state import RunState

T = TypeVar("T")

StepStatus = Literal[
    "waiting", "running", "finished", "refused", "empty", "failed", "blocked", "cancelled", "interrupted",
    "paused",
]  # fmt: skip
"""Where a step is. `finished`, `refused` and `empty` steps have an output: an answer, a text in which the
worker declines to answer, or nothing. `paused`: the run waits at its gate, or with `questions`."""


@dataclass(frozen=True)
class StepState:
    """One step of a run so far. Times are Unix seconds."""

    status: StepStatus = "waiting"
    """Where it is."""
    text: str = ""
    """What its worker wrote; it grows while it streams."""
    reasoning: str = ""
    """What a model thought before its answer."""
    calls: int = 0
    """How many requests its workers got in this run: each try, and each worker in the place of another."""
    own_calls: int = 0
    """How many of `calls` its own worker got, and none in its place."""
    retries: tuple[events.Retry, ...] = ()
    """Its calls that gave no answer and were made again."""
    stand_in: str | None = None
    """The worker that answers in the place of the step's own."""
    stand_in_reason: str | None = None
    """Why the step's own does not."""
    tool_uses: tuple[ToolUse, ...] = ()
    """Those that have ended in this run or one that it continues, or gave the output that it has without a
    call.
    """
    questions: tuple[ToolQuestion, ...] = ()
    """What a person is to decide of the calls of `turn`; none of these was made."""
    turn: ToolTurn | None = None
    """Where its answer stands if it called tools, so that a later run goes on from there."""
    timed_calls: TimedCalls = ()
    """Its requests and the calls of its worker's own tools in this run, in the order in which they began."""
    inner: tuple[RunState, ...] = ()
    """The rounds of the workflow inside a step that a Conductor does."""
    output: Output | None = None
    """Set when it is done."""
    reused: bool = False
    """No call was made because the output was already known."""
    of_equal_step: bool = False
    """The output that is reused was another step's, whose request was the same."""
    kept_because: events.KeptBecause | None = None
    """Why an output counts that may not fit its inputs."""
    worker_kind: WorkerKind | None = None
    """Who answers, once it is known."""
    request: Request | None = None
    """What its worker was sent, None before."""
    message: str | None = None
    """Why it has no answer."""
    outage: str | None = None
    """Which outage of its worker's server is to blame, None if it is none."""
    blocked_by: tuple[int, ...] = ()
    """The steps that it reads and that have no output."""
    started_at: float | None = None
    """None for a step without a call."""
    finished_at: float | None = None
    """None while it waits or runs."""
    charges: tuple[Charge, ...] = ()
    """What the requests to its workers took in this run that have ended."""

    @property
    def seconds(self) -> float | None:
        """How long the step took in this run; None while it waits or runs, and for a reused one."""
        if self.started_at is None or self.finished_at is None:
            return None
        return self.finished_at - self.started_at

    @property
    def all_charges(self) -> tuple[Charge, ...]:
        """What its requests took in this run that have ended, with those inside."""
        return (*self.charges, *(own for inner in self.inner for own in inner.charges))

    @property
    def used(self) -> Total:
        """What its requests took in this run so far, with those inside; nothing of a reused output, whose
        `usage` is what it took then.
        """
        used = sum((inner.used for inner in self.inner), total_of(self.charges))
        calls = self.status == "running" and self.worker_kind != "offline" and not self.inner
        return used + UNDER_WAY if calls else used

    @property
    def usage(self) -> Usage:
        """What `used` is exactly; None for what is not known so."""
        return self.used.usage

    @property
    def reported_prompt(self) -> int | None:
        """The tokens of `request` as its worker's endpoint reports them; None if it reports none."""
        if self.inner:
            return None
        if self.charges:
            return self.charges[-1].usage.prompt_tokens
        return None if self.output is None else self.output.usage.prompt_tokens

    @property
    def cut_off(self) -> bool:
        """Whether its output ends where the worker had no tokens left."""
        return self.output is not None and self.output.cut_off

    @property
    def withdrawn(self) -> int:
        """How many characters its worker had given that count no more."""
        return sum(retry.withdrawn for retry in self.retries)

    @property
    def done(self) -> bool:
        """Whether nothing more will happen to this step in this run."""
        return self.status not in ("waiting", "running", "paused")

    @property
    def unanswered(self) -> TimedCalls:
        """The calls of its worker's own tools without a result: under way, or lost once the step is done."""
        return tuple(call for call in self.timed_calls if call.tool is not None and not call.has_result)

    @property
    def reuse(self) -> str | None:
        """That no call was made because an output was known, and whose that is if not the step's own."""
        if not self.reused:
            return None
        return "reused from an equal step" if self.of_equal_step else "reused"

    @property
    def reuse_origin(self) -> str | None:
        """The same with the step and the run that gave the output."""
        if not self.of_equal_step or self.output is None:
            return self.reuse
        run = f" of run {self.output.run[:8]}" if self.output.run else ""
        return f"{self.reuse}, step {self.output.step + 1}{run}"

    @property
    def failure(self) -> str | None:
        """Why its own worker gave no answer, also where the step's rule for failures gave the output."""
        if self.status == "failed":
            return self.message
        stand_in = None if self.output is None else self.output.stand_in
        return None if stand_in is None else stand_in.reason

    def answered_by(self, worker: str) -> str:
        """The worker that answers this step, which was given to `worker`."""
        if self.output is not None and self.output.instead_of is not None:
            return self.output.worker
        return self.stand_in or worker


StepEvent = (
    events.StepReused
    | events.StepKept
    | events.StepStarted
    | events.StepDelta
    | events.StepThought
    | events.StepCallDelta
    | events.StepRetried
    | events.StepFellBack
    | events.StepToolsOffered
    | events.StepToolsCalled
    | events.StepToolsReturned
    | events.StepToolsHeld
    | events.StepToolsContinued
    | events.StepFinished
    | events.StepFailed
    | events.StepBlocked
    | events.StepPaused
    | events.StepCancelled
)


def status_of(output: Output) -> StepStatus:
    """The status of a step that has this output."""
    if output.empty:
        return "empty"
    return "refused" if output.refused else "finished"


def advance_step(step: StepState, event: StepEvent) -> StepState:
    """The step after one more of its events."""
    match event:
        case events.StepDelta():
            return fast_replace(step, text=step.text + event.text)
        case events.StepThought():
            text, recalled = parted(step.text, event.recalls)
            return fast_replace(step, text=text, reasoning=step.reasoning + recalled + event.text)
        case events.StepCallDelta():
            # Half a call can neither be made nor read: the output shows the whole one.
            return step
        case events.StepRetried():
            before = fast_replace(step, text="", reasoning="") if event.withdrawn else step
            return fast_replace(
                before,
                calls=step.calls + event.again,
                own_calls=step.own_calls + (event.again and step.stand_in is None),
                retries=(*step.retries, event),
                charges=_with_charge(step, event.charge),
                timed_calls=_after_retry(step, event),
            )
        case events.StepFellBack():
            request = event.request or step.request
            if request is not None and event.sampling is not None:
                request = replace(request, sampling=event.sampling)
            return fast_replace(
                step,
                calls=step.calls + 1,
                charges=_with_charge(step, event.charge),
                timed_calls=with_request(
                    all_ended(step.timed_calls, event.at, failed=True), event.worker, event.at
                ),
                request=request,
                worker_kind=event.worker_kind,
                stand_in=event.worker,
                stand_in_reason=event.message,
            )
        case events.StepToolsOffered():
            return fast_replace(step, request=event.request)
        case events.StepToolsCalled():
            return fast_replace(
                step,
                charges=_with_charge(step, event.charge),
                timed_calls=with_tools(step.timed_calls, event.calls, event.at),
                turn=_called(step, event),
            )
        case events.StepToolsReturned():
            uses, turn = (*step.tool_uses, *event.uses), step.turn
            return fast_replace(
                step,
                calls=step.calls + 1,
                own_calls=step.own_calls + (step.stand_in is None),
                tool_uses=uses,
                timed_calls=with_results(step.timed_calls, event.uses, event.at),
                request=event.request,
                turn=turn and replace(turn, request=event.request, calls=(), uses=uses, waits=False),
            )
        case events.StepToolsHeld():
            return fast_replace(
                step,
                status="paused",
                questions=event.questions,
                finished_at=event.at,
                timed_calls=tuple(call for call in step.timed_calls if call not in step.unanswered),
                turn=step.turn and replace(step.turn, waits=True),
            )
        case events.StepToolsContinued():
            # Where calls wait, their results come before the next request.
            calls = 0 if event.calls else step.calls
            return fast_replace(
                step,
                calls=calls,
                own_calls=0 if event.stands_in else calls,
                stand_in=event.worker if event.stands_in else None,
                worker_kind=event.worker_kind,
                request=event.request,
                timed_calls=with_tools(step.timed_calls, event.calls, event.at)[bool(event.calls) :],
                tool_uses=event.uses,
                turn=ToolTurn(event.fingerprint, event.worker, event.request, event.calls, event.uses),
            )
        case events.StepReused():
            return _with_output(
                step,
                event.output,
                reused=True,
                of_equal_step=event.of_equal_step,
                request=event.request,
                **_worker_of(event.output),
            )
        case events.StepKept():
            return _with_output(step, event.output, kept_because=event.because, **_worker_of(event.output))
        case events.StepStarted():
            return fast_replace(
                step,
                status="running",
                calls=1,
                own_calls=1,
                worker_kind=event.worker_kind,
                request=event.request,
                started_at=event.at,
                timed_calls=with_request((), event.worker, event.at),
            )
        case events.StepFinished():
            charge = event.charge or _former_charge(step, event.output)
            charges = _with_charge(step, charge)
            return _with_output(
                step,
                event.output,
                charges=charges,
                finished_at=event.at,
                timed_calls=all_ended(step.timed_calls, event.at),
            )
        case events.StepFailed():
            return fast_replace(
                step,
                status="failed",
                message=event.message,
                outage=event.outage,
                finished_at=event.at,
                charges=_with_charge(step, _of_event(step, event)),
                timed_calls=all_ended(step.timed_calls, event.at, failed=True),
            )
        case events.StepBlocked():
            return fast_replace(step, status="blocked", blocked_by=event.by)
        case events.StepPaused():
            return fast_replace(step, status="paused", worker_kind=event.worker_kind, request=event.request)
        case events.StepCancelled():
            charges = _with_charge(step, _of_event(step, event))
            return fast_replace(
                step,
                status="cancelled",
                finished_at=event.at,
                charges=charges,
                timed_calls=all_ended(step.timed_calls, event.at),
            )
        case _:
            assert_never(event)


def _called(step: StepState, event: events.StepToolsCalled) -> ToolTurn | None:
    """Where an answer stands that calls tools; None if an earlier version wrote the event."""
    if event.answer is None or step.request is None:
        return None
    request = replace(step.request, messages=(*step.request.messages, event.answer))
    return ToolTurn(event.fingerprint, event.worker, request, event.calls, step.tool_uses)


def _with_output(step: StepState, output: Output, **changes: Any) -> StepState:
    """The step with the output that it has from now on."""
    return fast_replace(
        step,
        status=status_of(output),
        text=output.display_text,
        reasoning=output.reasoning,
        output=output,
        tool_uses=output.tool_uses,
        **changes,
    )


def _after_retry(step: StepState, event: events.StepRetried) -> TimedCalls:
    calls = all_ended(step.timed_calls, event.at, failed=True)
    return with_request(calls, calls[-1].worker, event.at + event.seconds) if calls and event.again else calls


def _with_charge(step: StepState, charge: Charge | None) -> tuple[Charge, ...]:
    return step.charges if charge is None else (*step.charges, charge)


def _of_event(step: StepState, event: events.StepFailed | events.StepCancelled) -> Charge | None:
    """The charge of the end of a step; of an event of an earlier version that of all its requests."""
    if event.usage is None or step.inner or step.worker_kind == "offline":
        return event.charge
    worker = step.stand_in or ""
    return Charge(worker=worker, kind=step.worker_kind or "model", purpose="earlier", usage=event.usage)


def _former_charge(step: StepState, output: Output) -> Charge | None:
    """The charge of all requests for an output, if an earlier version wrote its event."""
    kind = step.worker_kind or output.worker_kind
    if step.charges or step.inner or kind == "offline" or output.hand is not None:
        return None
    return Charge(worker=output.worker, kind=kind, purpose="earlier", usage=output.usage)


def _worker_of(output: Output) -> dict[str, Any]:
    """Who gave an output that a step has without a call."""
    return {
        "stand_in": output.worker if output.instead_of else None,
        "worker_kind": output.worker_kind,
    }


def parted(text: str, last: int) -> tuple[str, str]:
    """A text without its last characters, and those."""
    return text[: len(text) - last], text[len(text) - last :]


def fast_replace(value: T, **changes: Any) -> T:
    """As `dataclasses.replace`, for a dataclass without slots and without checks.

    `replace` looks at every field, which is most of the cost of folding an event into a run.
    """
    fresh: T = object.__new__(type(value))
    fresh.__dict__.update(value.__dict__)
    fresh.__dict__.update(changes)
    return fresh
