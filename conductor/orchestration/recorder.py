"""A recorder receives what orchestration does: its protocol, and one in memory.

Knows plans, runs and their events; knows neither a store nor how rounds follow one another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from conductor.engine.known_outputs import NO_OUTPUTS, EarlierRun, KnownOutputs, OutputArchive
from conductor.engine.run import WorkflowRun
from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import PlanningEnd
from conductor.runs.events import Event, StepFinished, StepKept, StepReused
from conductor.values.charge import Charge
from conductor.values.output import Output
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow


@dataclass(frozen=True)
class RunHistory:
    """What was run before: the outputs that a new run may take over, and the id of the newest run."""

    reusable: KnownOutputs = NO_OUTPUTS
    latest: str | None = None


class Recorder(Protocol):
    """Called by orchestration in one event loop, in the order in which things happen.

    A method returns once what it was given is durable. Where its caller is cancelled meanwhile, it still
    writes to the end before it raises `CancelledError`.
    """

    async def begin_plan(self, request: PlanRequest, *, planner: WorkerCard) -> None:
        """A Conductor is about to be called."""
        ...

    async def write_plan(
        self,
        request: PlanRequest,
        end: PlanningEnd,
        workflow: Workflow | None,
        charges: Sequence[Charge],
    ) -> None:
        """The attempt that began last has ended. `workflow` is what is to be run of it, None for nothing;
        `charges` are those of its requests.
        """
        ...

    async def history(self) -> RunHistory:
        """What the next run may reuse, and what comes before it."""
        ...

    async def start_run(self, run: WorkflowRun) -> None:
        """A run is about to start; its `events` are read next."""
        ...

    def events(self, run: WorkflowRun) -> AsyncGenerator[Event, None]:
        """Start the run and append its events. Each is yielded once it is appended, the last one once all are
        durable.
        """
        ...


class MemoryRecorder:
    """Remembers outputs and the newest run, so that a later round reuses what an earlier one gave."""

    def __init__(self, reusable: KnownOutputs = NO_OUTPUTS) -> None:
        self._runs = deque(reusable.runs)
        self._archive = OutputArchive(reusable.archive)
        self._latest: str | None = None

    async def begin_plan(self, request: PlanRequest, *, planner: WorkerCard) -> None:
        """See `Recorder.begin_plan`; nothing is remembered of plans."""

    async def write_plan(
        self,
        request: PlanRequest,
        end: PlanningEnd,
        workflow: Workflow | None,
        charges: Sequence[Charge],
    ) -> None:
        """See `Recorder.write_plan`; nothing is remembered of plans."""

    async def history(self) -> RunHistory:
        """See `Recorder.history`."""
        return RunHistory(KnownOutputs(tuple(self._runs), self._archive), latest=self._latest)

    async def start_run(self, run: WorkflowRun) -> None:
        """See `Recorder.start_run`."""
        self._latest = run.run

    async def events(self, run: WorkflowRun) -> AsyncGenerator[Event, None]:
        """See `Recorder.events`."""
        outputs: dict[int, Output] = {}
        self._runs.appendleft(EarlierRun(run.workflow, outputs))
        async with aclosing(run.events()) as events:
            async for event in events:
                if isinstance(event, StepFinished | StepReused | StepKept):
                    outputs[event.step] = event.output
                    self._archive.add(event.output)
                yield event
