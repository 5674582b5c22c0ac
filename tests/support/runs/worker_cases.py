"""Workers that behave badly, or wait until they are released, and the events of a whole run."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.known_outputs import NO_OUTPUTS, KnownOutputs, OutputArchive
from conductor.engine.run import WorkflowRun
from conductor.runs.events import Event
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState, fold
from conductor.values.messages import Completion, Delta, Request, Retried, Thought, Usage
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import StreamItem, WorkerCard
from conductor.workflow.model import Workflow


def card_of(name: str) -> WorkerCard:
    """A simulated worker's card."""
    return WorkerCard(name=name, kind="simulated", strengths="tests", model=name)


class Named:
    """Has a simulated worker's card with its `name`."""

    name: str

    @property
    def card(self) -> WorkerCard:
        return card_of(self.name)


@dataclass
class Gated(Named):
    """Answers an instruction once its gate is open; `instructions` has them in the order they came."""

    name: str = "alpha"
    instructions: list[str] = field(default_factory=list)
    gates: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        self.instructions.append(request.instruction)
        await self.gates[request.instruction].wait()
        yield Completion(text=f"done: {request.instruction}")


@dataclass
class Stubborn(Named):
    """Writes a word, then swallows every cancellation until `release` is set."""

    name: str = "alpha"
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="one")
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue
        yield Completion(text="too late")


@dataclass
class Breaking(Named):
    """Writes what `first` holds, withdraws it, and answers "blue"; `calls` counts how often it was asked."""

    first: Sequence[Delta | Thought]
    name: str = "alpha"
    usage: Usage = Usage(prompt_tokens=3, completion_tokens=1, cost=0.5)
    calls: int = 0

    async def stream(self, _: Request) -> AsyncIterator[StreamItem]:
        self.calls += 1
        for item in self.first:
            yield item
            await asyncio.sleep(0.1)
        withdrawn = sum(len(item.text) for item in self.first)
        yield Retried(attempt=1, message="alpha broke off.", seconds=1, withdrawn=withdrawn)
        self.calls += 1
        await asyncio.sleep(0.1)
        yield Delta("bl")
        await asyncio.sleep(0.1)
        yield Completion(text="blue", usage=self.usage)


@dataclass
class Raising(Named):
    """Writes half a sentence and raises `error`."""

    error: BaseException
    name: str = "alpha"
    pieces: tuple[str, ...] = ("half a ",)

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        for piece in self.pieces:
            yield Delta(text=piece)
        raise self.error


@dataclass
class Silent(Named):
    """Ends its stream without a completion."""

    name: str = "alpha"

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="and then")


@dataclass
class Scripted(Named):
    """Yields items in turn; pauses for as many seconds where the script has a number, raises an exception."""

    script: Sequence[StreamItem | float | Exception]
    name: str = "alpha"
    closed: bool = False

    async def stream(self, _: Request) -> AsyncIterator[StreamItem]:
        try:
            for item in self.script:
                if isinstance(item, float):
                    await asyncio.sleep(item)
                elif isinstance(item, Exception):
                    raise item
                else:
                    yield item
        finally:
            self.closed = True


@dataclass
class Plain(Named):
    """Answers by an iterator that has only what the protocol asks for: no `aclose`, unlike a generator."""

    items: Sequence[StreamItem]
    name: str = "alpha"

    def stream(self, _: Request) -> AsyncIterator[StreamItem]:
        return PlainIterator(self.items)


class PlainIterator(AsyncIterator[StreamItem]):
    def __init__(self, items: Sequence[StreamItem]) -> None:
        self._items = iter(items)

    async def __anext__(self) -> StreamItem:
        try:
            return next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None


@dataclass
class PlainIterable(Named):
    """Answers by an iterable that is no iterator itself."""

    items: Sequence[StreamItem]
    name: str = "alpha"

    def stream(self, _: Request) -> AsyncIterable[StreamItem]:
        return self

    def __aiter__(self) -> AsyncIterator[StreamItem]:
        return PlainIterator(self.items)


@dataclass
class Unclosable(Named):
    """Answers by a generator that raises when it is closed."""

    items: Sequence[StreamItem]
    name: str = "alpha"

    async def stream(self, _: Request) -> AsyncIterator[StreamItem]:
        try:
            for item in self.items:
                yield item
        finally:
            raise ValueError("closed badly")


@dataclass
class Declining(Named):
    """Declines to answer, in these words."""

    name: str = "alpha"
    requests: list[Request] = field(default_factory=list)

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        self.requests.append(request)
        yield Completion(text="I cannot.", finish_reason="refused")


Outputs = KnownOutputs | Iterable[Output]


def run_of(
    workflow: Workflow,
    pool: Pool,
    *,
    query: str = "why?",
    outputs: Outputs = NO_OUTPUTS,
    scope: RunScope = EDITED,
    preloaded: Mapping[int, Output] | None = None,
    run: str = "r",
    parent: str | None = None,
) -> WorkflowRun:
    """A run that has not started. `outputs` of the step of no run are those of an equal step."""
    bound = BoundWorkflow.of(workflow, query=query, pool=pool)
    reusable = outputs if isinstance(outputs, KnownOutputs) else KnownOutputs(archive=OutputArchive(outputs))
    return WorkflowRun(
        bound, pool, run=run, reusable=reusable, scope=scope, preloaded=preloaded, parent=parent
    )


async def events_of(run: WorkflowRun) -> list[Event]:
    """All events of a run."""
    return [event async for event in run.events()]


async def played(
    workflow: Workflow,
    pool: Pool,
    *,
    query: str = "why?",
    outputs: Outputs = NO_OUTPUTS,
    scope: RunScope = EDITED,
    preloaded: Mapping[int, Output] | None = None,
    run: str = "r",
) -> RunState:
    """The end of a whole run."""
    run_under_way = run_of(
        workflow, pool, query=query, outputs=outputs, scope=scope, preloaded=preloaded, run=run
    )
    return fold(await events_of(run_under_way))


def outputs_of(state: RunState) -> KnownOutputs:
    """What a later run may take over of this one."""
    return KnownOutputs.of(state)
