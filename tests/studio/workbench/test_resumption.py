"""What is left of a run whose process died, and what of it a later run keeps: in later rounds, in trials."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from conductor.engine.extent import Extent
from conductor.engine.trials import Swap
from conductor.messages import Usage
from conductor.planner.offline import OfflineConductor
from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow import Step, Workflow
from storage import SessionStore
from storage.workbench import Workbench

STEPS = Workflow.of(
    [
        Step(instruction="Find it.", worker="quick"),
        Step(instruction="Look again.", worker="quick"),
        Step(instruction="Say it.", worker="late", access=(0, 1)),
    ]
)
NOBODY = f"{socket.gethostname()}/{2**22 + 1}/1"
"""A process of this host that does not exist."""


@contextmanager
def opened(url: str, *, late: float = 0.0) -> Iterator[Workbench]:
    """A workbench whose worker "late" takes so many seconds."""
    pool = Pool(workers=(SimulatedWorker(name="quick"), SimulatedWorker(name="late", latency=late)))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    try:
        yield bench
    finally:
        bench.close()


@contextmanager
def dying(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    """A workbench whose runs belong to a process that is gone, as everybody else sees it."""
    with monkeypatch.context() as patched:
        patched.setattr("storage.runs.this_process", lambda: NOBODY)
        with opened(url, late=3600.0) as bench:
            yield bench
            SessionStore.open(url).close()


def wait(holds: Callable[[], bool]) -> None:
    """Until it does."""
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.005)


def planned(bench: Workbench) -> str:
    """A session with the workflow."""
    session = bench.ask("Which one?").id
    bench.edit(session, STEPS, note="By hand")
    return session


def test_a_round_that_was_interrupted_goes_on_as_that_round(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url) as bench:
        session = planned(bench)
        bench.start(session)
        bench.conducting.wait(session)
        first = bench.store.runs(session)[0].id
        plan = bench.store.add_plan(
            session,
            planner="c",
            planner_kind="model",
            report=None,
            usage=Usage(),
            round=2,
            looks_back=first,
        )
        again = STEPS.with_instruction(1, "Look from the other side.").with_instruction(2, "Say more.")
        bench.store.add_revision(session, again, origin="conductor", plan=plan.id)
    with dying(url, monkeypatch) as bench:
        bench.start(session)
        wait(lambda: len(bench.store.outputs(session)) == 4)
    with opened(url) as bench:
        torn = bench.store.runs(session)[0]
        assert (torn.status, torn.round, bench.state(torn).status) == ("interrupted", 2, "interrupted")
        resumption = bench.resumption(session)
        assert resumption is not None
        assert resumption.words == "2 of 3 steps are kept"
        only_second = bench.resumption(session, Extent(kind="to", step=1))
        assert only_second is not None
        assert only_second.words == "its step is kept"
        bench.start(session)
        bench.conducting.wait(session)
        done = bench.state(bench.store.runs(session)[0])
        assert (done.status, done.round) == ("finished", 2)
        assert [step.reused for step in done.steps] == [True, True, False]
        assert bench.resumption(session) is None


def test_an_experiment_that_was_interrupted_says_so_and_leaves_the_session_as_it_was(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url) as bench:
        session = planned(bench)
        bench.start(session)
        bench.conducting.wait(session)
        before = bench.store.sessions()[0].state, dict(bench.store.outputs(session))
    with dying(url, monkeypatch) as bench:
        live = bench.experiment(session, Swap(step=0, workers=("quick", "late")))
        wait(lambda: "finished" in [trial.status for trial in bench.store.trials(live.record.id)])
        wait(lambda: len(bench.store.trials(live.record.id)) == 2)
        before[1].update(bench.store.outputs(session))
    with opened(url) as bench:
        (experiment,) = bench.store.experiments(session)
        states = bench.experimenting.states(experiment.id)
        assert sorted(state.status for state in states.values()) == ["finished", "interrupted"]
        assert (bench.store.sessions()[0].state, dict(bench.store.outputs(session))) == before
        assert bench.resumption(session) is None
