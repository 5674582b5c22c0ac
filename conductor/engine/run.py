"""One run of a workflow on a pool, as an async stream of events.

Knows asyncio and the worker protocol; knows no store, no page and no planner. Steps start the moment
the last step they read is done, never in waves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.failure_rule import answer_by_rule
from conductor.engine.known_outputs import NO_OUTPUTS, KnownOutputs, Takeover
from conductor.engine.meter import Meter, Reservation
from conductor.engine.schedule import Schedule, answer_of, kept_outputs
from conductor.errors import WorkerError, WorkflowError
from conductor.runs.event_queue import Record
from conductor.runs.events import (
    BudgetExceeded,
    Event,
    KeptBecause,
    RunFinished,
    RunOutcome,
    RunStarted,
    StepBlocked,
    StepCallDelta,
    StepCancelled,
    StepDelta,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepInner,
    StepKept,
    StepPaused,
    StepRetried,
    StepReused,
    StepStarted,
    StepThought,
    StepToolsCalled,
    StepToolsContinued,
    StepToolsHeld,
    StepToolsOffered,
    StepToolsReturned,
)
from conductor.runs.scope import EDITED, RunScope
from conductor.values.budget import NO_BUDGET, Crossing
from conductor.values.charge import Charge, Purpose, total_of
from conductor.values.message_parts.tool_use import ToolTurn, ToolUse
from conductor.values.messages import (
    NOTHING_USED,
    CallDelta,
    Completion,
    Delta,
    Request,
    Retried,
    Thought,
    Usage,
)
from conductor.values.output import HandEdit, Output, StandIn
from conductor.workers.pool.fallback import FallbackWorker, chain
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import (
    FellBack,
    Inner,
    ToolItem,
    ToolsCalled,
    ToolsContinued,
    ToolsHeld,
    ToolsOffered,
    ToolsReturned,
    Worker,
    WorkerCard,
)
from conductor.workers.stream import GRACE_SECONDS, called, fault, read_stream, unended
from conductor.workers.tools.tool_worker import going_on, with_step_tools
from conductor.workflow.model import Workflow

Note = Retried | FellBack | ToolItem | Inner | StandIn
"""What a worker reports in addition to text."""

Gate = Callable[[], Awaitable[None]]
"""Returns when a worker may be called."""

CallEvent = TypeVar("CallEvent", StepStarted, StepPaused)


async def _stored(record: Record, stored: Gate) -> None:
    """Wait until the reader has every event so far, and has stored it."""
    await record.all_read()
    await stored()


class _Held(Exception):
    """A call ends for now, as its tools need a person's yes."""


@dataclass(slots=True)
class _Call:
    """A call of a step's worker, from its start to its end.

    `answering` is the worker that answers at present: the step's own or its fallback. `room` is the request
    under way, which is sent at `sent_at` at the earliest, in seconds of the loop; `charge` is that of one
    that has ended, until an event has it, and `charges` are all so far. `turn` is where the answer of a run
    before stood that goes on, None if this call begins one. `spoken`: a piece of the answer came;
    `text` and `reasoning` are those before its worker called tools, whose `tool_uses` have ended, and
    `requests` counts one more for each round of them.
    `stand_in` is set where the step's rule for failures gives the answer. `has_started`: its task has had a
    turn.
    """

    step: int
    worker: Worker
    address: str
    request: Request
    started_at: float
    answering: WorkerCard
    room: Reservation
    spoken: bool = False
    text: str = ""
    reasoning: str = ""
    tool_uses: tuple[ToolUse, ...] = ()
    turn: ToolTurn | None = None
    requests: int = 1
    charges: tuple[Charge, ...] = ()
    stand_in: StandIn | None = None
    task: asyncio.Task[None] | None = None
    has_started: bool = False
    charge: Charge | None = None
    sent_at: float = 0.0

    def receive(self, text: str) -> None:
        """Count a piece of what comes, for the request that is under way."""
        self.room.receive(text)

    def end_request(self, usage: Usage | None = None, *, answer: str = "", stopped: bool = False) -> None:
        """The request under way has ended; see `Reservation.end`."""
        charge = self.room.end(usage, answer=answer, stopped=stopped)
        if charge is not None:
            self.charge = charge
            self.charges += (charge,)

    def take_charge(self) -> Charge | None:
        """The charge of the request that has ended, for the event that has it."""
        charge, self.charge = self.charge, None
        return charge

    def stop(self) -> None:
        """Cancel its task, where it has one by now."""
        if self.task is not None:
            self.task.cancel()
        if not self.has_started:
            # A task that is cancelled before its first turn never has one, and sends nothing.
            self.end_request(NOTHING_USED)


class WorkflowRun:
    """A run that has not started. `events()` starts it and may be iterated once.

    `scope` is the part of the workflow to run. A step for just whose request an output is `reusable` is not
    called; see `Takeover`. `preloaded` are outputs by position for steps that the scope leaves out
    and other steps read; a missing one raises `WorkflowError`. `meter` counts usage and may be shared between
    runs; without one there are no limits. `round` counts from 1. `sent_on`: the final step's text is sent to
    a client as it comes and cannot be withdrawn. All methods belong to one event loop.
    """

    def __init__(
        self,
        bound: BoundWorkflow,
        pool: Pool,
        *,
        run: str,
        reusable: KnownOutputs = NO_OUTPUTS,
        scope: RunScope = EDITED,
        preloaded: Mapping[int, Output] | None = None,
        parent: str | None = None,
        round: int = 1,
        meter: Meter | None = None,
        sent_on: bool = False,
    ) -> None:
        self.run = run
        self.parent = parent
        self.round = round
        self._meter = meter or Meter(NO_BUDGET)
        self._bound = bound
        self._workflow = bound.workflow
        self.pool = pool.permitting(scope.allows, scope.grants)
        if scope.recorded is not None:
            self.pool = self.pool.recording(reusable.tool_uses, only=scope.recorded == "only")
        self._covers = scope.covers(bound.workflow)
        self._forced = scope.forced(bound.workflow)
        self._goal = scope.goal(bound.workflow)
        self._scope = scope
        self._gates = scope.holds(bound.workflow)
        self._held: set[int] = set()
        self._sent_on = bound.workflow.final if sent_on else None
        self._preset = kept_outputs(bound.workflow, covers=self._covers, preloaded=preloaded or {})
        self._check_inputs()
        self._takeover = Takeover(reusable, bound, scope=scope, preset=self._preset)
        self._schedule = Schedule(bound.workflow)
        self._outputs: dict[int, Output] = {}
        self._lost: set[int] = set()
        self._calls: dict[int, _Call] = {}
        self._crossing: Crossing | None = None
        self._crossing_recorded = False
        self._record = Record(run)
        self._cancelled = False
        self._asked_to_stop = False
        self._over = False
        self._gate: Gate | None = None

    @property
    def workflow(self) -> Workflow:
        return self._workflow

    @property
    def resumes(self) -> str | None:
        """The run that this one goes on with by itself, or None."""
        return self.parent if self._scope.resumption else None

    @property
    def label(self) -> str | None:
        """The label of the workers that the workflow has; see `Pool.label`."""
        return self.pool.label_of(self._workflow)

    def _check_inputs(self) -> None:
        counts = self._covers | self._preset.keys()
        if len(counts) == len(self._workflow):
            return
        for step in sorted(self._covers - self._preset.keys()):
            for read in self._workflow.steps[step].access:
                if read not in counts:
                    raise WorkflowError(
                        f"Step {step + 1} reads step {read + 1}, which has no output yet; run to step "
                        f"{step + 1} instead.",
                        step=step,
                    )

    async def events(
        self, *, gate: Gate | None = None, stored: Gate | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run; yield what happens. Closing the iterator stops the run without further events.

        Each step that has started waits at `gate` before its worker is called, and at `stored` before a tool
        of it acts, which raises `WorkerError` where what has happened could not be stored.
        """
        record, self._gate = self._record, gate
        if stored is not None:
            self.pool = self.pool.acting_after(partial(_stored, record, stored))
        record.emit(
            RunStarted,
            query=self._bound.query,
            conversation=self._bound.conversation,
            workflow=self._workflow,
            parent=self.parent,
            round=self.round,
            previous=self._bound.previous,
            budget=self._meter.budget,
            used=self._meter.used,
            covers=None if len(self._covers) == len(self._workflow) else tuple(sorted(self._covers)),
            scope=self._scope,
        )
        watched = self._meter.watch(self._over_budget)
        left = self._meter.seconds_left
        clock = None if left is None else asyncio.get_running_loop().call_later(left, self._meter.check)
        try:
            if self.pool.calls_tools:
                await self.pool.look_at_tools(self._takeover.servers)
            if not self._over:
                self._launch([*self._schedule.initial(), *self._keep()])
            while True:
                while (event := record.take()) is not None:
                    yield event
                if self._over:
                    return
                await record.more()
        finally:
            self._over = True
            # It may refer to this run by way of its owner: a cycle is freed much later.
            self._gate = None
            watched()
            if clock is not None:
                clock.cancel()
            for call in self._calls.values():
                call.stop()

    def cancel(self) -> None:
        """Stop: cancels the running steps, leaves finished ones as they are; the run ends within a second."""
        if not self._cancelled and not self._over:
            self._asked_to_stop = True
            self._stop(self._calls.values())

    def _over_budget(self, crossing: Crossing) -> None:
        """Make no further call; stop those under way, unless the crossing is that one was refused. Nothing
        changes where the run was cancelled before.
        """
        if self._over or self._asked_to_stop:
            return
        self._crossing = self._crossing or crossing
        if crossing.refused:
            self._record_crossing(stopped=True)
        elif not self._cancelled:
            # An inner workflow watches the meter too: it ends without being stopped and adds its last events.
            self._stop(call for call in self._calls.values() if not call.answering.nested)

    def _record_crossing(self, *, stopped: bool) -> None:
        """Add the event, once, when it is known whether anything was `stopped`: a call may finish first."""
        if self._crossing is not None and not self._crossing_recorded:
            self._crossing_recorded = True
            self._record.emit(BudgetExceeded, **dict(self._crossing), stopped=stopped)

    def _stop(self, calls: Iterable[_Call]) -> None:
        self._cancelled = True
        for call in tuple(calls):
            call.stop()
            if not call.has_started:
                self._step_cancelled(call)
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._abandon)

    # -- steps ---------------------------------------------------------------------------------

    def _keep(self) -> list[int]:
        """Settle the steps whose output counts without a call; which steps that makes ready."""
        ready: list[int] = []
        for step, output in self._preset.items():
            because: KeptBecause = "pinned" if step in self._workflow.pins else "preloaded"
            self._record.emit(StepKept, step=step, output=output, because=because)
            self._outputs[step] = output
            ready += self._schedule.done(step)
        return ready

    def _launch(self, ready: Iterable[int]) -> None:
        """Start the ready steps, each call in a task, or settle them at once where their output is known."""
        waiting = deque(ready)
        while waiting and not self._cancelled:
            step = waiting.popleft()
            if step in self._preset or step not in self._covers:
                continue
            address, request = self._bound.call(step, self._outputs)
            worker = self.pool[self._workflow.steps[step].worker]
            output = None
            if step not in self._forced:
                output = self._takeover.take(step, address, self._outputs)
            if output is not None:
                if (other := output.answered_instead) is not None:
                    request = self._request_for(step, self.pool[other])
                equal = not self._takeover.is_own(step, output)
                self._record.emit(StepReused, step=step, output=output, request=request, of_equal_step=equal)
                self._outputs[step] = output
                waiting.extend(self._schedule.done(step))
            elif step in self._gates:
                self._hold(step, worker.card, address=address, request=request)
            elif (call := self._begin(step, worker, address=address, request=request)) is not None:
                call.task = asyncio.create_task(self._make(call))
        self._finish_if_idle()

    def _hold(self, step: int, card: WorkerCard, *, address: str, request: Request) -> None:
        """Leave a step at its gate; what does not read it goes on."""
        self._held.add(step)
        self._emit_call(StepPaused, step, card, address=address, request=request)

    def _room(self, card: WorkerCard, request: Request, purpose: Purpose) -> Reservation | None:
        """The room of a request in the budget; None, and the run is over its budget, if there is none."""
        # A Conductor's calls are counted where it makes them.
        meter = Meter(NO_BUDGET) if card.nested else self._meter
        room = meter.admit(card, lambda: request.written, purpose=purpose)
        if room is None and meter.crossing is not None:
            self._over_budget(meter.crossing)
        return room

    def _reserve(
        self, call: _Call, card: WorkerCard, request: Request, purpose: Purpose, *, after: str
    ) -> None:
        """Take the room of another request in place of the one that ended: each is a call, by the card of
        the worker that gets it. Raises `WorkerError` where the budget has no room for it.
        """
        room = self._room(card, request, purpose)
        if room is None:
            raise WorkerError(f"{after} The budget has no room for another call, of {card.name}.")
        call.room, call.sent_at = room, asyncio.get_running_loop().time()

    def _begin(self, step: int, worker: Worker, *, address: str, request: Request) -> _Call | None:
        """The call of a step, or what is left of one of a run before; None if the budget has no room."""
        begins = step in self._forced and step not in self._scope.resumes
        turn = None if begins else self._takeover.turn(step, address)
        first = request if turn is None else turn.request
        if turn is not None and turn.calls:
            # Its tools are called first, for which the budget has no limit of its own.
            room: Reservation | None = Reservation(Meter(NO_BUDGET), worker.card, tuple, "tools")
        else:
            room = self._room(worker.card, first, "step" if turn is None else "tools")
        if room is None:
            return None
        event = self._emit_call(StepStarted, step, worker.card, address=address, request=request)
        call = _Call(step, worker, address, request, event.at, worker.card, room, turn=turn)
        self._calls[step] = call
        return call

    def _may_answer(self, step: int) -> list[Worker]:
        """The step's worker and those that may answer in its place."""
        return [own for name in self._workflow.steps[step].workers for own in chain(self.pool[name])]

    def _emit_call(
        self, kind: type[CallEvent], step: int, card: WorkerCard, *, address: str, request: Request
    ) -> CallEvent:
        """Add an event that has the call of a step as it would be made."""
        return self._record.emit(
            kind, step=step, worker=card.name, worker_kind=card.kind, fingerprint=address, request=request
        )

    async def _make(self, call: _Call) -> None:
        """Make `call`."""
        worker, call.has_started = call.worker, True
        try:
            if self._gate is not None:
                await self._gate()
            completion = await read_stream(
                self._stream(call),
                on_text=partial(self._add_text, call),
                on_thought=partial(self._add_thought, call),
                on_call=partial(self._add_call, call),
                note=partial(self._note, call),
                count=call.receive,
            )
            if completion is None:
                raise unended(worker.card.name)
        except asyncio.CancelledError:
            if self._cancelled:
                self._step_cancelled(call)
            else:
                # This run was not stopped: something inside the worker was cancelled.
                self._step_failed(call, f"{worker.card.name} broke off its answer; run the step again.")
        except _Held:
            self._step_held(call)
        except WorkerError as error:
            call.end_request(error.used)
            # A stopped inner workflow ends with an error, which counts as stopped too.
            if self._cancelled or self._crossed_inside(call):
                self._step_cancelled(call)
            else:
                self._step_failed(call, str(error), outage=error.outage)
        except Exception as error:  # noqa: BLE001 - a worker is foreign code; its fault is its step's only
            failure = fault(worker.card.name, error)
            if self._cancelled:
                self._step_cancelled(call)
            else:
                self._step_failed(call, str(failure), outage=failure.outage)
        else:
            self._step_finished(call, completion)

    def _stream(self, call: _Call) -> AsyncIterable[object]:
        """The items that answer `call`. Raises `WorkerError` where its worker cannot answer it."""
        own, worker = self._workflow.steps[call.step], call.worker
        if call.turn is not None:
            decisions = self._scope.decisions_of(call.step, call.turn)
            worker = going_on(self._may_answer(call.step), call.turn, decisions)
        is_own = worker.card.name == call.worker.card.name
        rule, worker = own.on_failure, with_step_tools(worker, own.tools, own=is_own)
        if rule is None and not isinstance(worker, FallbackWorker):
            return called(worker, call.request)
        request_for = partial(self._request_for, call.step)
        fallback = None
        if rule is not None and rule.fallback is not None:
            fallback = with_step_tools(self.pool[rule.fallback], own.tools, own=False)
        return answer_by_rule(rule, worker, fallback, request_for, stopped=self._makes_no_calls)

    def _request_for(self, step: int, worker: Worker) -> Request:
        """What a worker is sent that answers `step`."""
        return self._bound.call(step, self._outputs, by=worker.card).request

    def _makes_no_calls(self) -> bool:
        return self._cancelled or self._meter.crossing is not None

    def _crossed_inside(self, call: _Call) -> bool:
        """Whether the workflow inside a step was refused a call; the run is over its budget then."""
        crossing = self._meter.crossing
        if not call.answering.nested or crossing is None:
            return False
        self._over_budget(crossing)
        return True

    def _note(self, call: _Call, item: Note) -> None:
        """Record a worker's note. Raises `WorkerError` where the worker withdraws a text that was sent on,
        and `_Held`.
        """
        if self._over:
            return
        if isinstance(item, Retried) and item.withdrawn and call.step == self._sent_on and call.spoken:
            call.end_request(item.used)
            reason = item.message.rstrip(".")
            raise WorkerError(f"{reason}; a part was sent on and cannot be withdrawn, run the step again.")
        match item:
            case StandIn():
                call.stand_in, call.text, call.reasoning = item, "", ""
            case Retried():
                call.end_request(item.used)
                if item.again:
                    self._reserve(call, call.answering, call.request, "retry", after=item.message)
                    call.sent_at += item.seconds
                own = {name: value for name, value in item if name != "used"}
                self._record.emit(StepRetried, step=call.step, charge=call.take_charge(), **own)
            case FellBack():
                call.end_request(item.used)
                # A worker may call one that the pool does not have; its price is not known.
                unknown = {"name": item.worker, "kind": item.worker_kind, "price": None, "nested": False}
                other = self.pool.cards.get(item.worker) or call.answering.model_copy(update=unknown)
                self._reserve(call, other, item.request, "fallback", after=item.message)
                call.answering, call.request = other, item.request
                own = {name: value for name, value in item if name != "used"}
                self._record.emit(StepFellBack, step=call.step, charge=call.take_charge(), **own)
            case ToolsOffered():
                call.request = item.request
                self._record.emit(StepToolsOffered, step=call.step, request=item.request)
            case ToolsCalled():
                self._tools_called(call, item)
            case ToolsContinued():
                self._tools_continued(call, item.turn)
            case ToolsHeld():
                self._record.emit(StepToolsHeld, step=call.step, questions=item.questions)
                raise _Held
            case ToolsReturned():
                after = f"{call.answering.name} has called its tools."
                self._reserve(call, call.answering, item.request, "tools", after=after)
                call.request, call.tool_uses = item.request, call.tool_uses + item.uses
                call.requests += 1
                self._record.emit(StepToolsReturned, step=call.step, uses=item.uses, request=item.request)
            case Inner():
                self._record.emit(StepInner, step=call.step, event=item.event)

    def _tools_called(self, call: _Call, item: ToolsCalled) -> None:
        """Record that a worker waits for its tools. What it wrote before is no answer, but was thought aloud,
        unless it was sent on.
        """
        call.end_request(item.used)
        call.reasoning += item.reasoning
        if call.step == self._sent_on:
            call.text += item.text
        elif item.text:
            call.reasoning += item.text
            self._record.emit(StepThought, step=call.step, text="", recalls=len(item.text))
        self._record.emit(
            StepToolsCalled,
            step=call.step,
            calls=item.calls,
            answer=item.answer,
            worker=call.answering.name,
            fingerprint=call.address,
            charge=call.take_charge(),
        )

    def _tools_continued(self, call: _Call, turn: ToolTurn) -> None:
        """Record that an answer of a run before goes on."""
        if turn.calls:
            call.end_request(NOTHING_USED)
            call.requests = 0
        own, card = call.worker.card, self.pool.cards[turn.worker]
        call.answering, call.request, call.tool_uses = card, turn.request, turn.uses
        self._record.emit(
            StepToolsContinued,
            step=call.step,
            worker=card.name,
            worker_kind=card.kind,
            stands_in=card.name != own.name,
            fingerprint=turn.fingerprint,
            request=turn.request,
            calls=turn.calls,
            uses=turn.uses,
        )

    def _add_text(self, call: _Call, piece: Delta) -> None:
        if not self._over:
            call.spoken = True
            self._record.emit(StepDelta, step=call.step, text=piece.text, logprobs=piece.logprobs)

    def _add_thought(self, call: _Call, piece: Thought) -> None:
        """Record a thought. Raises `WorkerError` where it recalls a text that was sent on."""
        if self._over:
            return
        if piece.recalls and call.step == self._sent_on and call.spoken:
            raise WorkerError(
                f"{call.worker.card.name}: what was sent on as its answer were thoughts that its server does "
                "not separate, and cannot be withdrawn; run the step again, they are recognized from now on."
            )
        members = piece.members
        self._record.emit(
            StepThought, step=call.step, text=piece.text, recalls=piece.recalls, members=members
        )

    def _add_call(self, call: _Call, piece: CallDelta) -> None:
        if not self._over:
            call.spoken = True
            self._record.emit(
                StepCallDelta,
                step=call.step,
                index=piece.index,
                text=piece.text,
                id=piece.id,
                name=piece.name,
                extra=piece.extra,
            )

    def _step_finished(self, call: _Call, completion: Completion) -> None:
        by_rule = call.stand_in is not None and call.stand_in.text
        call.end_request(None if by_rule else completion.usage, answer="" if by_rule else completion.written)
        if self._over:
            return
        now, called, answering, hand = self._record.now(), call.worker.card, call.answering, None
        if by_rule:
            # A person wrote the rule's text, which answers no request.
            answering, hand = called, HandEdit(at=now)
        instead_of = None if answering.name == called.name else called.name
        output = Output(
            fingerprint=call.address
            if instead_of is None
            else self._bound.fingerprint(call.step, self._outputs, by=answering),
            text=call.text + completion.text,
            reasoning=call.reasoning + completion.reasoning,
            thoughts=completion.thoughts,
            worker=answering.name,
            worker_kind=answering.kind,
            usage=total_of(call.charges).usage if len(call.charges) > 1 or by_rule else completion.usage,
            seconds=now - call.started_at,
            finish_reason=completion.finish_reason,
            request_id=completion.request_id,
            hand=hand,
            tool_calls=completion.tool_calls,
            tool_uses=call.tool_uses,
            requests=call.requests,
            stand_in=call.stand_in,
            logprobs=completion.logprobs,
            left_out=completion.left_out,
            instead_of=instead_of,
            run=self.run,
            step=call.step,
        )
        self._record.emit(StepFinished, at=now, step=call.step, output=output, charge=call.take_charge())
        self._outputs[call.step] = output
        del self._calls[call.step]
        self._launch(self._schedule.done(call.step))

    def _step_failed(self, call: _Call, message: str, *, outage: str | None = None) -> None:
        call.end_request()
        if self._over:
            return
        seconds, charge = self._record.now() - call.started_at, call.take_charge()
        self._record.emit(
            StepFailed, step=call.step, message=message, outage=outage, charge=charge, seconds=seconds
        )
        self._lost.add(call.step)
        del self._calls[call.step]
        self._block_readers(call.step)
        self._finish_if_idle()

    def _step_held(self, call: _Call) -> None:
        """Leave a step until a person has decided; what does not read it goes on."""
        if self._over:
            return
        self._held.add(call.step)
        del self._calls[call.step]
        self._finish_if_idle()

    def _step_cancelled(self, call: _Call) -> None:
        # In the pause before another request none is under way.
        pauses = asyncio.get_running_loop().time() < call.sent_at
        call.end_request(NOTHING_USED if pauses else None, stopped=True)
        if self._over:
            return
        self._record_crossing(stopped=True)
        seconds = self._record.now() - call.started_at
        self._record.emit(StepCancelled, step=call.step, charge=call.take_charge(), seconds=seconds)
        del self._calls[call.step]
        self._finish_if_idle()

    def _block_readers(self, failed: int) -> None:
        for step in sorted((self._workflow.descendants(failed) & self._covers) - self._preset.keys()):
            by = tuple(read for read in self._workflow.steps[step].access if read in self._lost)
            if by and step not in self._lost:
                self._lost.add(step)
                self._record.emit(StepBlocked, step=step, by=by)

    def _abandon(self) -> None:
        """End without the workers that ignored their cancellation."""
        for call in list(self._calls.values()):
            self._step_cancelled(call)

    # -- the end ---------------------------------------------------------------------------------

    def _finish_if_idle(self) -> None:
        if self._calls or self._over:
            return
        settled = self._outputs.keys() | self._lost
        self._record_crossing(stopped=not self._covers <= settled)
        done = self._goal in self._outputs
        outcome: RunOutcome = "finished" if done else "failed"
        if not done and self._asked_to_stop:
            outcome = "cancelled"
        elif not done and self._crossing is not None:
            outcome = "over_budget"
        elif self._held and self._goal not in self._lost:
            outcome = "paused"
        step, warning = answer_of(self._workflow, self._outputs, goal=self._goal, lost=self._lost)
        output = self._outputs.get(self._goal if step is None else step)
        self._record.emit(
            RunFinished,
            outcome=outcome,
            answer=None if step is None else self._outputs[step].display_text,
            answer_step=step,
            warning=warning,
            answered=output is not None and not output.empty and not output.refused,
        )
        self._over = True
