"""Workers and Conductors that wait until a test lets them go on; any thread may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from threading import Event

from conductor.planner.conductor import PlanRequest
from conductor.values.messages import Completion, Delta, Request, Usage
from conductor.workers.protocol import WorkerCard
from conductor.workflow.plan_report import Dialect

SECONDS = 60


async def _opened(gate: Event) -> None:
    await asyncio.to_thread(gate.wait, SECONDS)


@dataclass
class Paced:
    """Writes its pieces, each behind a gate of its own; `left` is set where it is stopped."""

    name: str
    pieces: Sequence[str]
    gates: dict[int, Event] = field(default_factory=dict)
    left: Event = field(default_factory=Event)
    usage: Usage = Usage(prompt_tokens=3, completion_tokens=2)

    @property
    def card(self) -> WorkerCard:
        return WorkerCard(name=self.name, kind="simulated", strengths="waits", model=self.name)

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        try:
            for at, piece in enumerate(self.pieces):
                if at in self.gates:
                    await _opened(self.gates[at])
                yield Delta(text=piece)
        except (asyncio.CancelledError, GeneratorExit):
            self.left.set()
            raise
        yield Completion(text="".join(self.pieces), usage=self.usage)


@dataclass
class Pensive:
    """A Conductor that thinks until it is stopped."""

    thinking: Event = field(default_factory=Event)
    left: Event = field(default_factory=Event)
    card: WorkerCard = WorkerCard(name="pensive", kind="simulated", strengths="thinks", model="pensive")
    dialect: Dialect = "any"

    async def stream(self, _: PlanRequest) -> AsyncIterator[Delta | Completion]:
        try:
            yield Delta(text="Well, ")
            self.thinking.set()
            await asyncio.Event().wait()
        except (asyncio.CancelledError, GeneratorExit):
            self.left.set()
            raise
        yield Completion(text="")
