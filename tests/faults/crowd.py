"""Kills amid many runs at once: how old the outputs are that a kill takes along.

The workers are simulated in the process that is killed, which sends when a step's worker is called and when
the step has ended. Knows what was sent and what the store has after the kill.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from random import Random
from typing import Any

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.errors import StorageError
from conductor.orchestration.rounds import new_id
from conductor.runs.events import Event, StepFinished
from conductor.runs.request import RunRequest
from conductor.values.messages import Completion, Delta, Request
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from storage.records import RequestSession
from storage.store.parts import Runs
from studio.gc_tuning import settle
from studio.sessions.background_runs import Background
from tests.faults.runs import ACCESS, workflow_of
from tests.faults.victim import Say, killed

_ANSWER = ("What is known is weighed beside its source, and what is not is named. " * 30)[:2_000]


@dataclass
class _Worker(SimulatedWorker):
    """Sends when it is called."""

    say: Say | None = None
    run: str = ""

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        assert self.say is not None
        self.say(run=self.run, called=time.time())
        async for item in super().stream(request):
            yield item


class _Journal(Runs):
    """Sends when a step has ended."""

    def __init__(self, say: Say, store: SessionStore) -> None:
        self._say = say
        self._store = store

    def append(self, event: Event) -> Future[None]:
        """See `Runs.append`."""
        if isinstance(event, StepFinished):
            self._say(run=event.run, step=event.step, ended=event.at)
        return self._store.runs.append(event)


def work(say: Say, url: str, runs: int, seed: int) -> None:
    """Have so many runs at once until killed, each in a session of its own, as the API begins them."""
    settle()
    rng, store = Random(seed), SessionStore.open(url)
    background = Background(_Journal(say, store))

    async def run_after_run() -> None:
        while True:
            run, name = new_id(), f"{rng.getrandbits(48):012x}"
            latency = rng.uniform(0.04, 0.12)
            workers = [
                _Worker(f"model-{at}", latency=latency, answer=_ANSWER, say=say, run=run) for at in range(2)
            ]
            pool = Pool(workers=tuple(workers))
            workflow = workflow_of(name, rng.choice(ACCESS))
            request = RunRequest(query=f"What is {name}?", workflow=workflow)
            start = store.requests.begin(request, session=new_id(), stored_as=RequestSession(), run=run)
            bound = BoundWorkflow.of(workflow, query=request.query, pool=pool)
            await background.follow(background.register(WorkflowRun(bound, pool, run=run), start_write=start))

    async def crowd() -> None:
        await asyncio.gather(*(run_after_run() for _ in range(runs)))

    background.wait(crowd())


@dataclass
class Losses:
    """What kills took along, of `ended` outputs; times are in seconds.

    `oldest` is the age of the oldest lost output at each kill, `most` how many outputs one run lost,
    `overtaken` how many lost outputs were followed by a call of their run: that call was made too early.
    """

    kills: int = 0
    ended: int = 0
    lost: int = 0
    oldest: list[float] = field(default_factory=list)
    most: int = 0
    overtaken: int = 0

    def count(self, url: str, printed: Sequence[dict[str, Any]]) -> None:
        """Add what a process that was killed had `printed` to what the store has of it."""
        calls: defaultdict[str, list[float]] = defaultdict(list)
        for line in printed:
            if "called" in line:
                calls[line["run"]].append(line["called"])
        ended = [line for line in printed if "ended" in line]
        last = max((line.get("called", line.get("ended", 0.0)) for line in printed), default=0.0)
        with SessionStore.open(url) as store:
            stored = {(run, step) for run in {line["run"] for line in ended} for step in _stored(store, run)}
        lost = [line for line in ended if (line["run"], line["step"]) not in stored]
        self.kills += 1
        self.ended += len(ended)
        self.lost += len(lost)
        self.oldest.append(max((last - line["ended"] for line in lost), default=0.0))
        self.most = max([self.most, *Counter(line["run"] for line in lost).values()])
        self.overtaken += sum(max(calls[line["run"]], default=0.0) > line["ended"] for line in lost)


def losses(url: str, *, runs: int, kills: int, seed: int) -> Losses:
    """Kill so many processes, each a random while after it began, and look at what the store has of each."""
    rng, total = Random(seed), Losses()
    for _ in range(kills):
        total.count(url, killed(work, url, runs, rng.getrandbits(32), after=rng.uniform(1.0, 3.5)))
    return total


def _stored(store: SessionStore, run: str) -> list[int]:
    try:
        return [event.step for event in store.runs.events(run) if isinstance(event, StepFinished)]
    except StorageError:
        # Its beginning was not durable either.
        return []
