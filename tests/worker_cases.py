"""Workers that behave badly, or wait until they are told, and the events of a whole run."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from conductor.engine.assignment import Assignment
from conductor.engine.extent import EDITED, Extent
from conductor.engine.run import WorkflowRun
from conductor.events import Event
from conductor.messages import Completion, Delta, Request
from conductor.output import Output
from conductor.run_state import RunState, fold
from conductor.workers.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow import Workflow


def card_of(name: str) -> WorkerCard:
    """A simulated worker's card."""
    return WorkerCard(name=name, kind="simulated", strengths="tests", model=name)


@dataclass
class Gated:
    """Answers an instruction once its gate is open; `asked` has the instructions in the order they came."""

    name: str = "alpha"
    asked: list[str] = field(default_factory=list)
    gates: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    @property
    def card(self) -> WorkerCard:
        return card_of(self.name)

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        self.asked.append(request.instruction)
        await self.gates[request.instruction].wait()
        yield Completion(text=f"done: {request.instruction}")


@dataclass
class Stubborn:
    """Says a word, then swallows every cancellation until `release` is set."""

    name: str = "alpha"
    release: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def card(self) -> WorkerCard:
        return card_of(self.name)

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="one")
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue
        yield Completion(text="too late")


@dataclass
class Raising:
    """Says half a sentence and raises `error`."""

    error: BaseException
    name: str = "alpha"

    @property
    def card(self) -> WorkerCard:
        return card_of(self.name)

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="half a ")
        raise self.error


@dataclass
class Silent:
    """Ends its stream without a completion."""

    name: str = "alpha"

    @property
    def card(self) -> WorkerCard:
        return card_of(self.name)

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="and then")


def run_of(
    workflow: Workflow,
    pool: Pool,
    *,
    query: str = "why?",
    outputs: Mapping[str, Output] | None = None,
    extent: Extent = EDITED,
    preloaded: Mapping[int, Output] | None = None,
    run: str = "r",
    parent: str | None = None,
) -> WorkflowRun:
    """A run that has not started."""
    assignment = Assignment.of(workflow, query=query, pool=pool)
    return WorkflowRun(
        assignment, pool, run=run, outputs=outputs, extent=extent, preloaded=preloaded, parent=parent
    )


async def events_of(run: WorkflowRun) -> list[Event]:
    """Everything a run says."""
    return [event async for event in run.events()]


async def played(
    workflow: Workflow,
    pool: Pool,
    *,
    query: str = "why?",
    outputs: Mapping[str, Output] | None = None,
    extent: Extent = EDITED,
    preloaded: Mapping[int, Output] | None = None,
) -> RunState:
    """The end of a whole run."""
    run = run_of(workflow, pool, query=query, outputs=outputs, extent=extent, preloaded=preloaded)
    return fold(await events_of(run))


def outputs_of(state: RunState) -> dict[str, Output]:
    """A run's outputs by fingerprint."""
    return {step.output.fingerprint: step.output for step in state.steps if step.output is not None}
