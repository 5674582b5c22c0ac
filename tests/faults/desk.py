"""A workbench whose last worker waits for the test, so that a fault comes in the middle of a run."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.events import StepStarted
from conductor.runs.state import RunState
from conductor.values.messages import Completion, Delta, Request
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import RunRecord, SessionStore
from studio.workbench import Workbench
from tests.support.runs.waiting import until, until_async

STEPS = Workflow.of(
    [
        Step(instruction="Find it.", worker="quick"),
        Step(instruction="Say it at length.", worker="gated", access=(0,)),
        Step(instruction="Say it in short.", worker="last", access=(1,)),
    ]
)
LONG = 30_000
"""Words in the answer of the worker that waits: more than fits where little room is left."""


class Gated(SimulatedWorker):
    """Answers once its gate is open, as it is in the beginning."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gate = threading.Event()
        self.gate.set()

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """See `Worker.stream`."""
        await until_async(self.gate.is_set, every=0.005)
        async for item in super().stream(request):
            yield item


@dataclass
class Desk:
    """A session with a workflow of three steps; the second waits for `go_on`, the last if the test asks."""

    bench: Workbench
    session: str
    gated: Gated
    last: Gated

    def begin(self) -> None:
        """Run until the second step waits, and all before that is stored."""
        self.gated.gate.clear()
        self.bench.running.start(self.session)
        until(lambda: self.run is not None and self._started(self.run) == 2)

    def go_on(self) -> None:
        """Let the second step answer, and wait until the run is over."""
        self.gated.gate.set()
        self.bench.activities.wait(self.session)

    def _started(self, run: RunRecord) -> int:
        return sum(isinstance(event, StepStarted) for event in self.bench.store.runs.events(run.id))

    @property
    def run(self) -> RunRecord | None:
        """The newest run, as it is stored."""
        return self.bench.store.runs.latest(self.session)

    @property
    def stored_state(self) -> RunState:
        """The newest run, folded from its stored events."""
        assert self.run is not None
        return self.bench.store.runs.state(self.run.id)

    @property
    def page_state(self) -> RunState:
        """The newest run, as a page shows it."""
        assert self.run is not None
        return self.bench.state(self.run)

    @property
    def unsaved(self) -> str | None:
        """What a page reports as not stored."""
        assert self.run is not None
        return self.bench.unsaved(self.run)


@contextmanager
def desk_over(store: SessionStore) -> Iterator[Desk]:
    """Closes the store in the end."""
    gated, last = Gated(name="gated", tokens=LONG), Gated(name="last")
    pool = Pool(workers=(SimulatedWorker(name="quick"), gated, last))
    bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    try:
        session = bench.ask("Which one?").id
        bench.editing.edit(session, STEPS, note="By hand")
        yield Desk(bench, session, gated, last)
    finally:
        gated.gate.set()
        last.gate.set()
        bench.close()
