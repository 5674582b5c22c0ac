"""One run of a workflow on a pool, as an async stream of events.

Knows asyncio and the worker protocol; knows no store, no page and no planner. Steps start the moment
the last step they read is done, never in waves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import TypedDict

from conductor.budget import Budget
from conductor.engine.assignment import Assignment
from conductor.engine.deltas import DeltaBatch
from conductor.engine.extent import EDITED, Extent
from conductor.engine.meter import Crossing, Meter
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
from conductor.messages import Completion, Delta, Request, Retried, Thought, Usage
from conductor.output import Output
from conductor.workers.pool import Pool
from conductor.workers.protocol import FellBack, Inner, Worker, WorkerCard

GRACE_SECONDS = 0.5
"""How long a cancelled worker may take to let go before the run ends without it."""

_log = logging.getLogger(__name__)


class _Stamp(TypedDict):
    run: str
    seq: int
    at: float


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
        self._meter = meter or Meter(Budget())
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
        self._lost: dict[int, str] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._started_at: dict[int, float] = {}
        self._answering: dict[int, WorkerCard] = {}
        self._crossing: Crossing | None = None
        self._queue: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._seq = -1
        self._cancelled = False
        self._over = False
        # Monotonic between events, and still Unix time.
        self._epoch = time.time() - time.perf_counter()

    def _check_inputs(self) -> None:
        for step in sorted(self._covers - self._kept.keys()):
            for read in self._workflow.steps[step].access:
                if read not in self._covers and read not in self._kept:
                    raise WorkflowError(
                        f"Step {step + 1} reads step {read + 1}, which has no output yet; run to step "
                        f"{step + 1} instead.",
                        step=step,
                    )

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run; yield what happens. Closing the iterator stops the run without further events."""
        self._emit(
            RunStarted(
                **self._stamp(),
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
                while self._queue:
                    yield self._queue.popleft()
                if self._over:
                    return
                self._wake.clear()
                await self._wake.wait()
        finally:
            self._over = True
            watched()
            if clock is not None:
                clock.cancel()
            for task in self._tasks.values():
                task.cancel()

    def cancel(self) -> None:
        """Stop: running steps are cancelled, finished ones kept; the run is over within a second."""
        if not self._cancelled and not self._over:
            self._stop(self._tasks)

    def _over_budget(self, crossing: Crossing) -> None:
        """Say which limit it was, and stop as `cancel` does."""
        if self._crossing is not None or self._over:
            return
        self._crossing = crossing
        self._emit(
            BudgetExceeded(
                **self._stamp(), limit=crossing.limit, used=crossing.used, allowed=crossing.allowed
            )
        )
        if not self._cancelled:
            # A workflow inside is told of the crossing as well, and ends by itself with all it has to say.
            self._stop(step for step in self._tasks if not self._answering[step].nested)

    def _stop(self, steps: Iterable[int]) -> None:
        self._cancelled = True
        for step in tuple(steps):
            self._tasks[step].cancel()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._abandon)

    # -- steps ---------------------------------------------------------------------------------

    def _keep(self) -> list[int]:
        """Settle the steps whose output counts without a call; which steps that makes ready."""
        ready: list[int] = []
        for step, output in self._kept.items():
            because: KeptBecause = "pinned" if step in self._workflow.pins else "preloaded"
            self._emit(StepKept(**self._stamp(), step=step, output=output, because=because))
            self._outputs[step] = output
            ready += self._schedule.done(step)
        return ready

    def _launch(self, ready: list[int]) -> None:
        """Start the ready steps, or settle them at once where their output is known."""
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
            if known is None:
                # A Conductor's calls are counted where it makes them.
                if worker.card.nested or self._meter.admit():
                    self._start(step, worker, address=address, request=request)
            else:
                self._emit(StepReused(**self._stamp(), step=step, output=known, request=request))
                self._outputs[step] = known
                waiting.extend(self._schedule.done(step))
        self._finish_if_idle()

    def _start(self, step: int, worker: Worker, *, address: str, request: Request) -> None:
        event = StepStarted(
            **self._stamp(),
            step=step,
            worker=worker.card.name,
            worker_kind=worker.card.kind,
            fingerprint=address,
            request=request,
        )
        self._started_at[step] = event.at
        self._answering[step] = worker.card
        self._emit(event)
        self._tasks[step] = asyncio.create_task(self._ask(step, worker, address=address, request=request))

    async def _ask(self, step: int, worker: Worker, *, address: str, request: Request) -> None:
        try:
            completion = await self._completion(step, worker, request)
        except asyncio.CancelledError:
            if self._cancelled:
                self._step_cancelled(step)
            else:
                # Nobody stopped this run: something inside the worker was cancelled.
                self._step_failed(step, f"{worker.card.name} broke off its answer; run the step again.")
        except WorkerError as error:
            # What a stopped workflow inside gives up on is stopped, too.
            if self._cancelled:
                self._step_cancelled(step)
            else:
                self._step_failed(step, str(error))
        except Exception as error:  # noqa: BLE001 - a worker is foreign code; its fault is its step's only
            _log.exception("worker %s broke in run %s", worker.card.name, self.run)
            self._step_failed(
                step,
                f"{worker.card.name} broke with {type(error).__name__}, a fault of its program and not of "
                "the plan; give the step another worker or try again.",
            )
        else:
            self._step_finished(step, worker, address=address, completion=completion)

    async def _completion(self, step: int, worker: Worker, request: Request) -> Completion:
        deltas = DeltaBatch(lambda text: self._emit_text(StepDelta, step, text))
        thoughts = DeltaBatch(lambda text: self._emit_text(StepThought, step, text))
        try:
            # A plain async iterator has no aclose; every worker of ours is a generator and must be closed.
            async with aclosing(worker.stream(request)) as stream:  # type: ignore[type-var]
                async for item in stream:
                    if isinstance(item, Delta):
                        deltas.add(item.text)
                    elif isinstance(item, Completion):
                        return item
                    elif isinstance(item, Thought):
                        thoughts.add(item.text)
                    else:
                        self._note(step, item)
        finally:
            thoughts.flush()
            deltas.flush()
        raise WorkerError(f"{worker.card.name} stopped without ending its answer; run the step again.")

    def _note(self, step: int, item: Retried | FellBack | Inner) -> None:
        """Say what happened on a worker's side."""
        if self._over:
            return
        match item:
            case Retried():
                event: Event = StepRetried(**self._stamp(), step=step, **dict(item))
            case FellBack():
                self._answering[step] = self._pool[item.worker].card
                event = StepFellBack(**self._stamp(), step=step, **dict(item))
            case Inner():
                event = StepInner(**self._stamp(), step=step, event=item.event)
        self._emit(event)

    def _step_finished(self, step: int, worker: Worker, *, address: str, completion: Completion) -> None:
        if self._over:
            return
        stamp = self._stamp()
        answering = self._answering[step]
        output = Output(
            fingerprint=address,
            text=completion.text,
            reasoning=completion.reasoning,
            worker=answering.name,
            worker_kind=answering.kind,
            usage=completion.usage,
            seconds=stamp["at"] - self._started_at[step],
            finish_reason=completion.finish_reason,
            instead_of=None if answering is worker.card else worker.card.name,
            run=self.run,
            step=step,
        )
        self._emit(StepFinished(**stamp, step=step, output=output))
        self._outputs[step] = output
        del self._tasks[step]
        if not worker.card.nested:
            self._meter.add(completion.usage)
        self._launch(self._schedule.done(step))

    def _step_failed(self, step: int, message: str) -> None:
        if self._over:
            return
        stamp = self._stamp()
        seconds = stamp["at"] - self._started_at[step]
        self._emit(StepFailed(**stamp, step=step, message=message, usage=Usage(), seconds=seconds))
        self._lost[step] = message
        del self._tasks[step]
        self._block_readers(step)
        self._finish_if_idle()

    def _step_cancelled(self, step: int) -> None:
        if self._over:
            return
        stamp = self._stamp()
        seconds = stamp["at"] - self._started_at[step]
        self._emit(StepCancelled(**stamp, step=step, usage=Usage(), seconds=seconds))
        del self._tasks[step]
        self._finish_if_idle()

    def _block_readers(self, failed: int) -> None:
        for step in sorted((self._workflow.descendants(failed) & self._covers) - self._kept.keys()):
            by = tuple(read for read in self._workflow.steps[step].access if read in self._lost)
            if by and step not in self._lost:
                self._lost[step] = "blocked"
                self._emit(StepBlocked(**self._stamp(), step=step, by=by))

    def _abandon(self) -> None:
        """End without the workers that ignored their cancellation."""
        for step in list(self._tasks):
            self._step_cancelled(step)

    # -- the end ---------------------------------------------------------------------------------

    def _finish_if_idle(self) -> None:
        if self._tasks or self._over:
            return
        done = self._goal in self._outputs
        outcome: RunOutcome = "finished" if done else "failed"
        if self._cancelled and not done:
            outcome = "cancelled" if self._crossing is None else "over_budget"
        answer_step, warning = self._answer_step()
        self._emit(
            RunFinished(
                **self._stamp(),
                outcome=outcome,
                answer=None if answer_step is None else self._outputs[answer_step].text,
                answer_step=answer_step,
                warning=warning,
            )
        )
        self._over = True

    def _answer_step(self) -> tuple[int | None, str | None]:
        """The step whose response is the answer, and what must be said about it."""
        final = self._workflow.final
        if final not in self._outputs or self._goal != final:
            return None, None
        failed = ", ".join(str(step + 1) for step in sorted(self._lost))
        warning = f"Failed or blocked, and not read by the answer: step {failed}." if failed else None
        if not self._outputs[final].empty:
            return final, warning
        spoken = [step for step, output in self._outputs.items() if not output.empty]
        if not spoken:
            return None, "Every step's response is empty."
        step = max(spoken)
        return step, f"The final step's response is empty; this is the response of step {step + 1}."

    # -- events ----------------------------------------------------------------------------------

    def _stamp(self) -> _Stamp:
        self._seq += 1
        return {"run": self.run, "seq": self._seq, "at": self._epoch + time.perf_counter()}

    def _emit(self, event: Event) -> None:
        self._queue.append(event)
        self._wake.set()

    def _emit_text(self, kind: type[StepDelta | StepThought], step: int, text: str) -> None:
        if not self._over:
            self._emit(kind(**self._stamp(), step=step, text=text))
