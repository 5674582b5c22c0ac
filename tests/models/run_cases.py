"""Random cases of runs: plans, workers with their scripts, budgets; and the workers that play them.

Knows the simulation's values; compares nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from hypothesis import strategies as st

from conductor.errors import WorkerError
from conductor.values.budget import Budget
from conductor.values.messages import Completion, Delta, Request, Retried, Usage
from conductor.values.output import HandEdit, Output
from conductor.workers.endpoint.transport.timing import Traffic
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price, StreamItem, Worker, WorkerCard
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.models.run_simulator import Script, Sent, SimOutput, SimWorker
from tests.support.runs.simulated_time import now
from tests.support.runs.workflow_cases import PINNED

NAMES = ("alpha", "beta", "gamma")


@dataclass
class Played:
    """A worker of the pool that plays the script; `wire` is what all of them were sent."""

    name: str
    own: SimWorker
    script: Script
    sent: list[int]
    wire: list[Sent]
    traffic: Traffic = field(default_factory=Traffic)

    @property
    def card(self) -> WorkerCard:
        price = Price(prompt=self.own.price * 1e6, completion=self.own.price * 1e6)
        return WorkerCard(
            name=self.name,
            kind="model",
            strengths="s",
            model=self.name,
            price=price,
            fallback=self.own.fallback,
        )

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        at = int(request.instruction.split()[1])
        seen = tuple(
            (each.step, each.worker, each.response, each.by_hand)
            for each in request.seen
            if each.round is None
        )
        for attempt in count(1):
            await self.traffic.enter(concurrency=self.own.at_once, per_minute=self.own.per_minute)
            try:
                turn = self.script.turn(at, self.name, self.sent[at])
                self.sent[at] += 1
                self.wire.append(Sent(now(), at, self.name, request.instruction, seen))
                for pause, piece in zip(turn.pauses, turn.pieces, strict=False):
                    await asyncio.sleep(pause)
                    yield Delta(piece)
                await asyncio.sleep(turn.pauses[-1])
            finally:
                self.traffic.leave()
            usage = Usage()
            if turn.tokens is not None:
                prompt, completion = turn.tokens
                cost = float(sum(turn.tokens) * self.own.price)
                usage = Usage(prompt_tokens=prompt, completion_tokens=completion, cost=cost)
            if turn.kind in ("answers", "empty", "declines"):
                reason = "refused" if turn.kind == "declines" else "stop"
                yield Completion(turn.text, usage=usage, finish_reason=reason)
                return
            if turn.kind == "fails":
                raise WorkerError(f"{self.name} is out of order.", outage="503")
            if turn.kind == "breaks":
                raise ZeroDivisionError(self.name)
            if turn.kind == "ends":
                return
            used = usage if turn.kind == "wastes" else None
            withdrawn = len("".join(turn.pieces))
            yield Retried(attempt=attempt, message="Again.", seconds=1.5, withdrawn=withdrawn, used=used)
            await asyncio.sleep(1.5)


def pool_of(workers: Mapping[str, SimWorker], script: Script, sent: list[int], wire: list[Sent]) -> Pool:
    """The workers, each with those of its fallbacks behind it."""
    built: dict[str, Worker] = {}
    for name in reversed(NAMES):
        built[name] = Played(name, workers[name], script, sent, wire)
        if (other := workers[name].fallback) is not None:
            built[name] = FallbackWorker(built[name], built[other])
    return Pool(workers=tuple(built[name] for name in NAMES))


def output_of(own: SimOutput, at: int) -> Output:
    """What a person wrote, or the words that a prompt is measured with."""
    hand = HandEdit(at=1.0) if own.is_by_hand else None
    return PINNED.model_copy(update={"text": own.text, "worker": own.by, "hand": hand, "step": at})


KINDS = ["answers", "empty", "declines", "fails", "fails", "breaks", "ends", "repeats", "repeats", "wastes"]
RULES = st.none() | st.builds(
    OnFailure,
    retries=st.integers(0, 2),
    pause=st.sampled_from([0.0, 2.5]),
    fallback=st.none() | st.sampled_from(NAMES),
    output=st.sampled_from([None, None, "", "By rule.", "By another rule."]),
    keep=st.booleans(),
)
LIMITS = {
    "tokens": st.integers(80, 900),
    "cost": st.integers(80, 2000),
    "seconds": st.integers(1, 60).map(lambda seconds: seconds + 2**-20),
    "calls": st.integers(1, 8),
}
BUDGETS = st.builds(Budget) | st.fixed_dictionaries({}, optional=LIMITS).map(Budget.model_validate)


@st.composite
def plans(draw: st.DrawFn) -> Workflow:
    """Of up to five steps, with different instructions."""
    steps = []
    for at in range(draw(st.integers(1, 5))):
        access = sorted(draw(st.sets(st.integers(0, at - 1), max_size=3))) if at else ()
        worker, rule = draw(st.sampled_from(NAMES)), draw(RULES)
        step = Step(instruction=f"Step {at} first.", worker=worker, access=tuple(access))
        rule = None if rule is None else rule.of_worker(worker)
        steps.append(step.model_copy(update={"on_failure": rule, "gate": draw(st.integers(0, 4)) == 0}))
    return Workflow.of(steps)


@st.composite
def workers(draw: st.DrawFn) -> dict[str, SimWorker]:
    limits = st.none() | st.integers(1, 2)
    return {
        name: SimWorker(
            fallback=draw(st.none() | st.sampled_from(NAMES[at + 1 :])) if at < 2 else None,
            at_once=draw(limits),
            per_minute=draw(st.none() | limits),
            price=draw(st.integers(0, 3)),
        )
        for at, name in enumerate(NAMES)
    }


@st.composite
def scripts(draw: st.DrawFn, steps: int) -> Script:
    one = st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.booleans())
    tries = st.lists(one, max_size=4).map(tuple)
    return Script(
        salt=draw(st.integers(0, 10_000)),
        tries=tuple(draw(tries) for _ in range(steps)),
        varies=tuple(draw(st.booleans()) for _ in range(steps)),
    )
