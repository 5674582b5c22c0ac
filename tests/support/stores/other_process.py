"""Another process on the same store, which runs a workflow and reports what becomes of it.

Its first step answers at once. Its second is given to `talker`, which writes for a minute, or to
`thinker`, which writes nothing for as long.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.processes.child_process import child
from tests.support.runs.waiting import SECONDS

ROOT = Path(__file__).parents[1]


def pool() -> Pool:
    """The workers that all processes know."""
    quick = SimulatedWorker(name="quick", answer="done at once")
    talker = SimulatedWorker(name="talker", tokens=1200, tokens_per_second=20)
    return Pool(workers=(quick, talker, SimulatedWorker(name="thinker", latency=60)))


@contextmanager
def workbench(url: str) -> Iterator[Workbench]:
    """A workbench on the store."""
    bench = Workbench.over(SessionStore.open(url), pool=pool(), conductor=OfflineConductor())
    yield bench
    bench.close()


def run(url: str, worker: str) -> None:
    """Run the workflow until it is over, then wait to be let go."""
    first = Step(instruction="begin", worker="quick")
    workflow = Workflow.of([first, Step(instruction="go on", worker=worker, access=(0,))])
    with workbench(url) as bench:
        session = bench.ask("Who runs this?").id
        bench.store.revisions.add(session, workflow, origin="human")
        live = bench.running.start(session)
        print(session, live.run, sep="\n", flush=True)
        live.done.wait(SECONDS)
        title = bench.store.sessions.find(session).title
        print(live.state.status, live.unsaved, title, sep="\n", flush=True)
        sys.stdin.read()


@dataclass(frozen=True)
class Other:
    """The process, the session that it made there and the run under way."""

    process: subprocess.Popen[str]
    session: str
    run: str

    def signal(self, number: signal.Signals) -> None:
        """Kill it, stop it, or let it go on."""
        self.process.send_signal(number)

    def seen(self) -> tuple[str, str, str]:
        """Once its run is over: how, why not all of it could be kept, and the session's title."""
        assert self.process.stdout is not None
        status, unsaved, title = (self.process.stdout.readline().strip() for _ in range(3))
        return status, unsaved, title


@contextmanager
def running(url: str, worker: str) -> Iterator[Other]:
    """A process that runs the workflow by now; it is ended with the test."""
    command = "import sys, other_process; other_process.run(*sys.argv[1:])"
    with child(
        [sys.executable, "-c", command, url, worker],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        session, run = (process.stdout.readline().strip() for _ in range(2))
        yield Other(process, session, run)
