"""One run of a workflow on a pool, as an async stream of events.

Knows asyncio and the worker protocol; knows no store, no page and no planner. Steps start the moment
the last step they read is done, never in waves.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from conductor.budget import NO_BUDGET
from conductor.engine.answering import Note, answer
from conductor.engine.assignment import Assignment
from conductor.engine.ending import answer_of
from conductor.engine.extent import EDITED, Extent
from conductor.engine.meter import Crossing, Meter
from conductor.engine.record import Record
from conductor.engine.schedule import Schedule, kept_outputs
from conductor.errors import WorkerError, WorkflowError
from conductor.events import (
    BudgetExceeded,
    Event,
    KeptBecause,
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
)
from conductor.messages import Completion, Request, Retried, Usage
from conductor.output import Output
from conductor.workers.pool import Pool
from conductor.workers.protocol import FellBack, Inner, Worker, WorkerCard

GRACE_SECONDS = 0.5
"""How long a cancelled worker may take to let go before the run ends without it."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Call:
    """A step that its worker was asked to do, from its start to its end.

    `answering` is who answers by now, the worker or one that stands in for it.
    """

    step: int
    worker: Worker
    address: str
    request: Request
    started_at: float
    answering: WorkerCard
    task: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """Cancel its task, where it has one by now."""
        if self.task is not None:
            self.task.cancel()


class WorkflowRun:
    """A run that has not started. `events()` starts it and may be iterated once.

    `extent` says how much of the workflow it does. `outputs` are known outputs by fingerprint: a step whose
    fingerprint is there is reused. `preloaded` are outputs by position that count for what reads them, where
    the extent leaves those steps out; `WorkflowError` where one is missing. `meter` counts
    what is spent, together with all that shares it; without one nothing is limited. `round` counts from 1.
    All methods belong to one event loop.
    """

    def __init__(
        self,
        assignment: Assignment,
        pool: Pool,
        *,
        run: str,
        outputs: Mapping[str, Output] | None = None,
        extent: Extent = EDITED,
        preloaded: Mapping[int, Output] | None = None,
        parent: str | None = None,
        round: int = 1,
        meter: Meter | None = None,
    ) -> None:
        self.run = run
        self.parent = parent
        self.round = round
        self._meter = meter or Meter(NO_BUDGET)
        self._assignment = assignment
        self._workflow = assignment.workflow
        self._pool = pool
        self._known = outputs or {}
        self._covers = extent.covers(assignment.workflow)
        self._anew = extent.anew(assignment.workflow)
        self._goal = extent.goal(assignment.workflow)
        self._kept = kept_outputs(assignment.workflow, covers=self._covers, preloaded=preloaded or {})
        self._check_inputs()
        self._schedule = Schedule(assignment.workflow)
        self._outputs: dict[int, Output] = {}
        self._lost: set[int] = set()
        self._calls: dict[int, _Call] = {}
        self._crossing: Crossing | None = None
        self._record = Record(run)
        self._cancelled = False
        self._over = False

    def _check_inputs(self) -> None:
        counts = self._covers | self._kept.keys()
        if len(counts) == len(self._workflow):
            return
        for step in sorted(self._covers - self._kept.keys()):
            for read in self._workflow.steps[step].access:
                if read not in counts:
                    raise WorkflowError(
                        f"Step {step + 1} reads step {read + 1}, which has no output yet; run to step "
                        f"{step + 1} instead.",
                        step=step,
                    )

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run; yield what happens. Closing the iterator stops the run without further events."""
        record = self._record
        record.add(
            RunStarted(
                **record.stamp(),
                query=self._assignment.query,
                conversation=self._assignment.conversation,
                workflow=self._workflow,
                parent=self.parent,
                round=self.round,
                previous=self._assignment.previous,
                budget=self._meter.budget,
                used=self._meter.used,
                covers=None if len(self._covers) == len(self._workflow) else tuple(sorted(self._covers)),
            )
        )
        watched = self._meter.watch(self._over_budget)
        if self._meter.crossing is not None:
            # Planning has used up what there was.
            self._over_budget(self._meter.crossing)
        left = self._meter.seconds_left
        clock = None if left is None else asyncio.get_running_loop().call_later(left, self._meter.check)
        self._launch([*self._schedule.initial(), *self._keep()])
        try:
            while True:
                while (event := record.take()) is not None:
                    yield event
                if self._over:
                    return
                await record.more()
        finally:
            self._over = True
            watched()
            if clock is not None:
                clock.cancel()
            for call in self._calls.values():
                call.stop()

    def cancel(self) -> None:
        """Stop: running steps are cancelled, finished ones kept; the run is over within a second."""
        if not self._cancelled and not self._over:
            self._stop(self._calls.values())

    def _over_budget(self, crossing: Crossing) -> None:
        """Say which limit it was, and stop as `cancel` does."""
        if self._crossing is not None or self._over:
            return
        self._crossing = crossing
        self._record.add(
            BudgetExceeded(
                **self._record.stamp(), limit=crossing.limit, used=crossing.used, allowed=crossing.allowed
            )
        )
        if not self._cancelled:
            # A workflow inside is told of the crossing as well, and ends by itself with all it has to say.
            self._stop(call for call in self._calls.values() if not call.answering.nested)

    def _stop(self, calls: Iterable[_Call]) -> None:
        self._cancelled = True
        for call in tuple(calls):
            call.stop()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._abandon)

    # -- steps ---------------------------------------------------------------------------------

    def _keep(self) -> list[int]:
        """Settle the steps whose output counts without a call; which steps that makes ready."""
        ready: list[int] = []
        for step, output in self._kept.items():
            because: KeptBecause = "pinned" if step in self._workflow.pins else "preloaded"
            self._record.add(StepKept(**self._record.stamp(), step=step, output=output, because=because))
            self._outputs[step] = output
            ready += self._schedule.done(step)
        return ready

    def _launch(self, ready: Iterable[int], *, task: asyncio.Task[None] | None = None) -> _Call | None:
        """Start the ready steps, or settle them at once where their output is known.

        Each call gets a task of its own, but one that `task` goes on with, which is given back.
        """
        continued: _Call | None = None
        waiting = deque(ready)
        while waiting and not self._cancelled:
            step = waiting.popleft()
            if step in self._kept or step not in self._covers:
                continue
            address = self._assignment.fingerprint(step, self._outputs)
            worker = self._pool[self._workflow.steps[step].worker]
            request = self._assignment.request(
                step, self._outputs, address=address, defaults=worker.card.sampling
            )
            known = None if step in self._anew else self._known.get(address)
            if known is not None:
                self._record.add(StepReused(**self._record.stamp(), step=step, output=known, request=request))
                self._outputs[step] = known
                waiting.extend(self._schedule.done(step))
            # A Conductor's calls are counted where it makes them.
            elif worker.card.nested or self._meter.admit():
                call = self._start(step, worker, address=address, request=request)
                if task is not None and continued is None:
                    call.task, continued = task, call
                else:
                    call.task = asyncio.create_task(self._work(call))
        self._finish_if_idle()
        return continued

    def _start(self, step: int, worker: Worker, *, address: str, request: Request) -> _Call:
        card = worker.card
        event = StepStarted(
            **self._record.stamp(),
            step=step,
            worker=card.name,
            worker_kind=card.kind,
            fingerprint=address,
            request=request,
        )
        self._record.add(event)
        call = self._calls[step] = _Call(step, worker, address, request, event.at, card)
        return call

    async def _work(self, first: _Call) -> None:
        """Make a call, then one of those that it made ready: a task for each would cost more than it does."""
        call: _Call | None = first
        while call is not None:
            call = await self._make(call)

    async def _make(self, call: _Call) -> _Call | None:
        """The call that its task goes on with, None where there is none."""
        step, worker = call.step, call.worker
        try:
            completion = await answer(
                worker,
                call.request,
                say=partial(self._add_text, StepDelta, step),
                think=partial(self._add_text, StepThought, step),
                note=partial(self._note, call),
            )
        except asyncio.CancelledError:
            if self._cancelled:
                self._step_cancelled(call)
            else:
                # Nobody stopped this run: something inside the worker was cancelled.
                self._step_failed(call, f"{worker.card.name} broke off its answer; run the step again.")
        except WorkerError as error:
            # What a stopped workflow inside gives up on is stopped, too.
            if self._cancelled:
                self._step_cancelled(call)
            else:
                self._step_failed(call, str(error))
        except Exception as error:  # noqa: BLE001 - a worker is foreign code; its fault is its step's only
            _log.exception("worker %s broke in run %s", worker.card.name, self.run)
            self._step_failed(
                call,
                f"{worker.card.name} broke with {type(error).__name__}, a fault of its program and not of "
                "the plan; give the step another worker or try again.",
            )
        else:
            return self._step_finished(call, completion)
        return None

    def _note(self, call: _Call, item: Note) -> None:
        """Say what happened on a worker's side."""
        if self._over:
            return
        stamp = self._record.stamp()
        match item:
            case Retried():
                event: Event = StepRetried(**stamp, step=call.step, **dict(item))
            case FellBack():
                call.answering = self._pool[item.worker].card
                event = StepFellBack(**stamp, step=call.step, **dict(item))
            case Inner():
                event = StepInner(**stamp, step=call.step, event=item.event)
        self._record.add(event)

    def _add_text(self, kind: type[StepDelta | StepThought], step: int, text: str) -> None:
        if not self._over:
            self._record.add(kind(**self._record.stamp(), step=step, text=text))

    def _step_finished(self, call: _Call, completion: Completion) -> _Call | None:
        if self._over:
            return None
        stamp, answering = self._record.stamp(), call.answering
        output = Output(
            fingerprint=call.address,
            text=completion.text,
            reasoning=completion.reasoning,
            worker=answering.name,
            worker_kind=answering.kind,
            usage=completion.usage,
            seconds=stamp["at"] - call.started_at,
            finish_reason=completion.finish_reason,
            instead_of=None if answering is call.worker.card else call.worker.card.name,
            run=self.run,
            step=call.step,
        )
        self._record.add(StepFinished(**stamp, step=call.step, output=output))
        self._outputs[call.step] = output
        del self._calls[call.step]
        if not call.worker.card.nested:
            self._meter.add(completion.usage)
        return self._launch(self._schedule.done(call.step), task=call.task)

    def _step_failed(self, call: _Call, message: str) -> None:
        if self._over:
            return
        stamp = self._record.stamp()
        seconds = stamp["at"] - call.started_at
        self._record.add(StepFailed(**stamp, step=call.step, message=message, usage=Usage(), seconds=seconds))
        self._lost.add(call.step)
        del self._calls[call.step]
        self._block_readers(call.step)
        self._finish_if_idle()

    def _step_cancelled(self, call: _Call) -> None:
        if self._over:
            return
        stamp = self._record.stamp()
        seconds = stamp["at"] - call.started_at
        self._record.add(StepCancelled(**stamp, step=call.step, usage=Usage(), seconds=seconds))
        del self._calls[call.step]
        self._finish_if_idle()

    def _block_readers(self, failed: int) -> None:
        for step in sorted((self._workflow.descendants(failed) & self._covers) - self._kept.keys()):
            by = tuple(read for read in self._workflow.steps[step].access if read in self._lost)
            if by and step not in self._lost:
                self._lost.add(step)
                self._record.add(StepBlocked(**self._record.stamp(), step=step, by=by))

    def _abandon(self) -> None:
        """End without the workers that ignored their cancellation."""
        for call in list(self._calls.values()):
            self._step_cancelled(call)

    # -- the end ---------------------------------------------------------------------------------

    def _finish_if_idle(self) -> None:
        if self._calls or self._over:
            return
        done = self._goal in self._outputs
        outcome: RunOutcome = "finished" if done else "failed"
        if self._cancelled and not done:
            outcome = "cancelled" if self._crossing is None else "over_budget"
        step, warning = answer_of(self._workflow, self._outputs, goal=self._goal, lost=self._lost)
        self._record.add(
            RunFinished(
                **self._record.stamp(),
                outcome=outcome,
                answer=None if step is None else self._outputs[step].text,
                answer_step=step,
                warning=warning,
            )
        )
        self._over = True
