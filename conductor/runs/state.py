"""The state of a run as the fold of its events: pure, the same live and in replay.

Knows events only. An event for a step that the run does not have is a fault of the stream's writer and
raises `ValueError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Literal, TypedDict, TypeVar, assert_never

from pydantic import TypeAdapter, ValidationError

from conductor.errors import FormatError
from conductor.runs.events import (
    AnswerKept,
    BudgetExceeded,
    Event,
    EventOfStep,
    PlanningDelta,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanningThought,
    PlanRejected,
    Retry,
    RunFinished,
    RunOutcome,
    RunStarted,
    StepInner,
    TextPiece,
    WorkflowPlanned,
)
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.step_state import (
    StepEvent,
    StepState,
    StepStatus,
    advance_step,
    fast_replace,
    parted,
)
from conductor.values.budget import NO_BUDGET, Budget, Used
from conductor.values.charge import Charge, total_of
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.message_parts.tool_use import ToolQuestion, ToolTurn, WaitingCall
from conductor.values.messages import SeenResponse, Usage
from conductor.values.output import Output, WorkerKind
from conductor.values.total import NOTHING, UNDER_WAY, Total
from conductor.workflow.drawable import Drawable
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport

RunStatus = Literal["running"] | RunOutcome


@dataclass(frozen=True)
class RunState(Drawable):
    run: str = ""
    """Its id."""
    query: str = ""
    """What it answers."""
    conversation: Conversation = NO_CONVERSATION
    """The messages before the query."""
    parent: str | None = None
    """The run whose edited plan, or whose next round, this is."""
    round: int = 1
    """From 1."""
    attempt: int = 1
    """How often the Conductor was called in this round, from 1."""
    previous: tuple[SeenResponse, ...] = ()
    """The responses of the previous round's steps."""
    budget: Budget = NO_BUDGET
    """What it may take."""
    used_before: Used = Used()
    """What of the budget was taken before the run."""
    crossing: BudgetExceeded | None = None
    """The limit that was crossed, or None."""
    status: RunStatus = "running"
    """A `paused` run is over, and waits for a person: at the gates of its `held` steps, or with calls of
    tools in them.
    """
    planning_text: str = ""
    """What the Conductor wrote."""
    planning_thought: str = ""
    """What the Conductor thought."""
    planning_calls: int = 0
    """How many requests the Conductor got."""
    planning_retries: tuple[Retry, ...] = ()
    """Its calls that gave no plan and were made again."""
    planning_charges: tuple[Charge, ...] = ()
    """What the requests to the Conductor took that have ended."""
    planner_kind: WorkerKind | None = None
    """None if no Conductor was called."""
    kept_reason: str | None = None
    """Why the Conductor returned the previous answer as it is."""
    report: PlanReport | None = None
    """None until a plan was read."""
    planning_failure: str | None = None
    """Why there is no completion of the Conductor."""
    planning_outage: str | None = None
    """Which outage of its server is to blame, None if it is none."""
    workflow: Workflow | None = None
    """None until the run itself started."""
    steps: tuple[StepState, ...] = ()
    """One for each step of the workflow."""
    covers: tuple[int, ...] | None = None
    """The steps that are to have an output, None for all; the others stay waiting to the end."""
    scope: RunScope = EDITED
    """What the run was to do."""
    answer: str | None = None
    """The response of `answer_step` as people read it."""
    answer_step: int | None = None
    """The step that answers, from 0."""
    answered: bool = False
    """False where the worker declined to answer or wrote nothing, and before the end."""
    warning: str | None = None
    """Why the answer is not the final step's response."""
    started_at: float | None = None
    """In Unix seconds."""
    finished_at: float | None = None
    """In Unix seconds."""
    seq: int = -1
    """Of the newest event, -1 before the first."""

    def __repr__(self) -> str:
        done = f"{sum(step.status == 'finished' for step in self.steps)} of {len(self.steps)} steps"
        answer = self.answer if self.answer is None or len(self.answer) <= 60 else f"{self.answer[:60]}…"
        reused = sum(step.reused for step in self.steps)
        done += f" finished, {reused} reused" if reused else " finished"
        return f"<RunState {self.run[:8]}: {self.status}, {done}, answer={answer!r}>"

    def model_dump_json(self) -> str:
        """All of it as JSON text, which `model_validate_json` reads."""
        return _json().dump_json(self).decode()

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> RunState:
        """The state that `model_dump_json` wrote. Raises `FormatError` for another text."""
        try:
            return _json().validate_json(text)
        except ValidationError as error:
            raise FormatError(f"The text is not a run: {error.errors()[0]['msg']}.") from error

    @property
    def live(self) -> bool:
        return self.status == "running"

    @property
    def no_plan(self) -> str | None:
        """Why planning gave no plan; None if it gave one, or is under way."""
        if self.planning_failure is not None or self.report is None or self.report.ok:
            return self.planning_failure
        return " ".join(problem.message for problem in self.report.problems)

    @property
    def outage(self) -> str | None:
        """Which outage left it without a plan, or its final step without an answer; None if none did, or if a
        step before it failed by a fault of its own as well.
        """
        if self.workflow is None or self.status == "finished":
            return self.planning_outage
        workflow, final = self.workflow, self.workflow.final
        lost = [
            step.outage
            for at, step in enumerate(self.steps)
            if step.status == "failed" and (at == final or final in workflow.descendants(at))
        ]
        return lost[0] if lost and None not in lost else None

    @property
    def held(self) -> tuple[int, ...]:
        """The steps in which the run waits, or will: their gate was reached, or a call needs a yes."""
        return tuple(at for at, step in enumerate(self.steps) if step.status == "paused")

    @property
    def waiting_calls(self) -> tuple[WaitingCall, ...]:
        """The calls of tools that the run waits with, by step and in order."""
        return tuple(
            WaitingCall(at, step.turn.calls[question.at], question, step.turn.mark)
            for at, step in enumerate(self.steps)
            for question in step.questions
            # A file may state a question of no call.
            if step.turn is not None and question.at < len(step.turn.calls)
        )

    @property
    def gates_reached(self) -> tuple[int, ...]:
        """Those of the `held` steps that wait at their gate, and not with a call of a tool."""
        return tuple(at for at in self.held if not self.steps[at].questions)

    @property
    def waits_for(self) -> str:
        """What a run waits for, as in "waiting before step 2, for a yes in step 3"."""
        before, within = (
            ", ".join(str(at + 1) for at in steps) for steps in (self.gates_reached, self.questions)
        )
        parts = [f"before step {before}"] if before else []
        parts += [f"for a yes in step {within}"] if within else []
        return f"waiting {', '.join(parts)}"

    @property
    def open_gates(self) -> tuple[int, ...]:
        """The steps whose gate stopped nothing, because their output was known already."""
        steps = () if self.workflow is None else self.workflow.steps
        return tuple(at for at, step in enumerate(steps) if step.gate and self.steps[at].reused)

    @property
    def calls_tools(self) -> bool:
        """Whether the answer is calls of tools, whose results the client is to send."""
        output = None if self.answer_step is None else self.steps[self.answer_step].output
        return output is not None and bool(output.tool_calls)

    @property
    def whole(self) -> bool:
        """Whether the run covers every step of its workflow."""
        return self.covers is None

    @property
    def outputs(self) -> dict[int, Output]:
        """The outputs of the steps that have one."""
        return {at: step.output for at, step in enumerate(self.steps) if step.output is not None}

    @property
    def turns(self) -> dict[int, ToolTurn]:
        """Where the answers of the steps stand that called tools and gave none."""
        return {
            at: step.turn
            for at, step in enumerate(self.steps)
            if step.turn is not None and (step.output is None or step.output.stand_in is not None)
        }

    @property
    def questions(self) -> dict[int, tuple[ToolQuestion, ...]]:
        """What a person is to decide before the run goes on, by step."""
        return {at: step.questions for at, step in enumerate(self.steps) if step.questions}

    @property
    def kinds(self) -> frozenset[WorkerKind]:
        """Who gave the outputs, inside of steps, too; no kind of a text that a person wrote."""
        own = {
            step.output.worker_kind
            for step in self.steps
            if step.output is not None and not step.inner and step.output.hand is None
        }
        return frozenset(own).union(*(inner.kinds for step in self.steps for inner in step.inner))

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
        return self.covers is None or step in self.covers or self.steps[step].kept_because is not None

    def is_run_of(self, workflow: Workflow) -> bool:
        """Whether this is a run of `workflow`, which may have other gates by now, other rules for failures
        that did not apply, or pins of just what the run gave.
        """
        if self.workflow is None:
            return False
        if self.workflow == workflow:
            return True
        outputs = self.outputs
        return _same_calls(self.workflow, workflow, outputs) and all(
            at in outputs and outputs[at].text == pin.text and outputs[at].hand == pin.hand
            for at, pin in (*workflow.pins.items(), *self.workflow.pins.items())
        )

    @property
    def counts(self) -> dict[str, int]:
        """How many steps did what, by the word for it; a step that failed or was blocked has no output."""
        return {
            "ran": sum(step.output is not None and step.started_at is not None for step in self.steps),
            "reused": sum(step.reused for step in self.steps),
            "pinned": sum(step.kept_because == "pinned" for step in self.steps),
            "failed": sum(step.status == "failed" for step in self.steps),
            "blocked": sum(step.status == "blocked" for step in self.steps),
        }

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What the requests took that have ended, of planning, of the steps, and inside of them."""
        return (*self.planning_charges, *(charge for step in self.steps for charge in step.all_charges))

    @property
    def used(self) -> Total:
        """What planning and the steps took so far; reused steps take nothing."""
        planning = total_of(self.planning_charges)
        if self.plans and self.planner_kind != "offline":
            planning += UNDER_WAY
        return sum((step.used for step in self.steps), planning)

    @property
    def plans(self) -> bool:
        """Whether a Conductor is called for its workflow now."""
        is_over = self.report is not None or self.planning_failure is not None or self.workflow is not None
        return self.planner_kind is not None and not is_over

    @property
    def usage(self) -> Usage:
        """What the steps took, exactly; None for what is not known so."""
        return sum((step.used for step in self.steps), NOTHING).usage

    @property
    def calls(self) -> int:
        """Requests that workers and Conductors got, also inside of steps: each try of a call is one."""
        return self.planning_calls + sum(
            # A Conductor that does a step is called for its plans only, which are inside.
            step.calls - step.own_calls + sum(inner.calls for inner in step.inner)
            if step.inner
            else step.calls
            for step in self.steps
        )

    @property
    def seconds(self) -> float | None:
        """Wall time of the run, None while it runs."""
        if self.started_at is None or self.finished_at is None:
            return None
        return self.finished_at - self.started_at

    def elapsed(self, now: float) -> float | None:
        """Seconds since it began, up to `now` (Unix seconds) while it runs; None before it began."""
        if self.started_at is None:
            return None
        return max(0.0, (now if self.finished_at is None else self.finished_at) - self.started_at)


def _same_calls(old: Workflow, new: Workflow, outputs: Mapping[int, Output]) -> bool:
    """Whether both make the same calls, given the outputs of a run of `old`: a rule for failures counts where
    a step has no answer of its worker's.
    """
    return len(old) == len(new) and all(
        # Most steps are as they were, and a copy of each takes longer than all else.
        before == after
        or (
            before.unguarded.model_copy(update={"pin": None})
            == after.unguarded.model_copy(update={"pin": None})
            and (before.on_failure == after.on_failure or (at in outputs and outputs[at].stand_in is None))
        )
        for at, (before, after) in enumerate(zip(old.steps, new.steps, strict=True))
    )


class _Place(TypedDict):
    run: str
    """Id of the run, or of the planning attempt."""
    seq: int
    """The position of the last event that was folded."""


def fold(events: Iterable[Event], state: RunState | None = None) -> RunState:
    """The state after these events, starting from `state` (a fresh one when None)."""
    return reduce(advance, joined(events), state or RunState())


def joined(events: Iterable[Event]) -> Iterator[Event]:
    """The events with pieces of one text joined, as far as no other event comes between: they lead to the
    same state.

    Each `advance` by a piece copies the whole text so far; a text of a million characters in 30,000 pieces
    would be copied 30,000 times.
    """
    pieces: dict[tuple[type[Event], int | None], list[TextPiece]] = {}
    for event in events:
        if isinstance(event, TextPiece) and not getattr(event, "recalls", 0):
            step = event.step if isinstance(event, EventOfStep) else None
            pieces.setdefault((type(event), step), []).append(event)
        else:
            if pieces:
                yield from _texts(pieces.values())
                pieces = {}
            yield event
    yield from _texts(pieces.values())


def _texts(pieces: Iterable[Sequence[TextPiece]]) -> list[TextPiece]:
    """One event for each text, at the place of its last piece."""
    whole = [
        own[0] if len(own) == 1 else own[-1].model_copy(update={"text": "".join(one.text for one in own)})
        for own in pieces
    ]
    return sorted(whole, key=lambda piece: piece.seq)


_OF_A_RUN = ("query", "conversation", "parent", "workflow", "round", "previous", "budget", "covers", "scope")


def advance(state: RunState, event: Event) -> RunState:
    place: _Place = {"run": event.run, "seq": event.seq}
    match event:
        # Cases are tried in order; most events are a step's.
        case StepInner():
            return fast_replace(state, **place, steps=_with_step(state, event, _advance_inner))
        case EventOfStep():
            return fast_replace(state, **place, steps=_with_step(state, event, advance_step))
        case PlanningStarted():
            return fast_replace(
                state,
                **place,
                query=event.query,
                round=event.round,
                attempt=event.attempt,
                planner_kind=event.planner_kind,
                planning_calls=1,
                started_at=event.at,
            )
        case PlanningDelta():
            return fast_replace(state, **place, planning_text=state.planning_text + event.text)
        case PlanningThought():
            text, recalled = parted(state.planning_text, event.recalls)
            thought = state.planning_thought + recalled + event.text
            return fast_replace(state, **place, planning_text=text, planning_thought=thought)
        case PlanningRetried():
            before = fast_replace(state, planning_text="", planning_thought="") if event.withdrawn else state
            retries, calls = (*state.planning_retries, event), state.planning_calls + 1
            charges = _with_planning(state, event.charge)
            return fast_replace(
                before, **place, planning_calls=calls, planning_retries=retries, planning_charges=charges
            )
        case WorkflowPlanned() | PlanRejected() | AnswerKept():
            return fast_replace(
                state,
                **place,
                report=event.report,
                planning_text=event.report.text,
                planning_thought=event.report.thinking or state.planning_thought,
                planning_charges=_with_planning(state, event.charge or _former_charge(state, event)),
                kept_reason=event.reason if isinstance(event, AnswerKept) else None,
            )
        case PlanningFailed():
            return fast_replace(
                state,
                **place,
                planning_failure=event.message,
                planning_outage=event.outage,
                planning_charges=_with_planning(state, event.charge),
            )
        case RunStarted():
            return fast_replace(
                state,
                **place,
                **{name: getattr(event, name) for name in _OF_A_RUN},
                used_before=event.used,
                steps=tuple(StepState() for _ in event.workflow.steps),
                started_at=event.at if state.started_at is None else state.started_at,
            )
        case BudgetExceeded():
            # One for which there is no room behind another try was no call.
            refused = event.refused and state.workflow is None and event.run == state.run
            calls = max(0, state.planning_calls - refused)
            return fast_replace(state, **place, crossing=event, planning_calls=calls)
        case RunFinished():
            return _finished(state, event)
        case _:
            assert_never(event)


def _with_planning(state: RunState, charge: Charge | None) -> tuple[Charge, ...]:
    return state.planning_charges if charge is None else (*state.planning_charges, charge)


def _former_charge(state: RunState, event: WorkflowPlanned | PlanRejected | AnswerKept) -> Charge | None:
    """The charge of all requests for a plan, if an earlier version wrote its event."""
    if state.planning_charges or state.planner_kind in (None, "offline"):
        return None
    return Charge(worker="", kind=state.planner_kind or "model", purpose="earlier", usage=event.usage)


E = TypeVar("E", StepEvent, StepInner)


def _with_step(
    state: RunState, event: E, advance_one: Callable[[StepState, E], StepState]
) -> tuple[StepState, ...]:
    """The steps after an event of one of them."""
    at: int = event.step
    if not 0 <= at < len(state.steps):
        raise ValueError(f"event {event.seq} speaks of step {at}, which the run does not have")
    return (*state.steps[:at], advance_one(state.steps[at], event), *state.steps[at + 1 :])


def _advance_inner(step: StepState, event: StepInner) -> StepState:
    return fast_replace(step, inner=advance_rounds(step.inner, event.event))


def advance_rounds(rounds: tuple[RunState, ...], event: Event) -> tuple[RunState, ...]:
    """The states of rounds after one more event of theirs.

    Each attempt at a plan begins a state, which continues with the run of that plan.
    """
    last = rounds[-1] if rounds else None
    if (
        last is None
        or isinstance(event, PlanningStarted)
        # Planning for which the budget has no room fails before it starts.
        or (not last.live and event.run != last.run)
    ):
        return (*rounds, advance(RunState(), event))
    return (*rounds[:-1], advance(last, event))


def lost_requests(state: RunState) -> dict[int, Charge]:
    """By step, the requests that were under way when the run's process died: what they took is unknown."""
    steps = () if state.workflow is None else state.workflow.steps
    return {
        at: Charge(
            worker=step.stand_in or own.worker,
            kind=step.worker_kind,
            purpose="nested" if step.inner else "step",
            stopped=True,
        )
        for at, (step, own) in enumerate(zip(state.steps, steps, strict=True))
        # While tools are called no request is under way.
        if step.status == "running" and step.worker_kind not in (None, "offline") and not step.unanswered
    }


def _finished(state: RunState, event: RunFinished) -> RunState:
    """The end; a step that was running when its process died reads interrupted, never running.

    A run that waited at a gate may be stopped much later; it was over when its last call was.
    """
    after: dict[StepStatus, StepStatus] = {"running": "interrupted"}
    if event.outcome != "paused":
        after["paused"] = "waiting"
    lost = event.charges or lost_requests(state)
    steps = tuple(
        fast_replace(
            step,
            status=after.get(step.status, step.status),
            questions=step.questions if event.outcome == "paused" else (),
            charges=(*step.charges, lost[at]) if at in lost else step.charges,
        )
        for at, step in enumerate(state.steps)
    )
    return fast_replace(
        state,
        run=event.run,
        seq=event.seq,
        status=event.outcome,
        steps=steps,
        answer=event.answer,
        answer_step=event.answer_step,
        answered=event.outcome == "finished" and event.answered,
        warning=event.warning,
        finished_at=state.finished_at if state.status == "paused" else event.at,
    )


@cache
def _json() -> TypeAdapter[RunState]:
    """Made when first used, as most programs store no state."""
    return TypeAdapter(RunState)
