"""What is left of a run whose process died, and what of it a later run keeps: in later rounds, in trials."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conductor.engine.experiments import Swap
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.scope import RunScope
from conductor.values.messages import Usage
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.runs.waiting import until

STEPS = Workflow.of(
    [
        Step(instruction="Find it.", worker="quick"),
        Step(instruction="Look again.", worker="quick"),
        Step(instruction="Say it.", worker="late", access=(0, 1)),
    ]
)


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
    """A workbench whose store takes no lock, so that its process has died as others see it."""
    with monkeypatch.context() as patched:
        for kind in ("FileLock", "ServerLock"):
            patched.setattr(f"storage.database.owner_lock.{kind}.hold", lambda _: None)
        with opened(url, late=3600.0) as bench:
            yield bench
            SessionStore.open(url).close()


def planned(bench: Workbench) -> str:
    """A session with the workflow."""
    session = bench.ask("Which one?").id
    bench.editing.edit(session, STEPS, note="By hand")
    return session


@pytest.mark.slow
def test_a_round_that_was_interrupted_goes_on_as_that_round(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url) as bench:
        session = planned(bench)
        bench.running.start(session)
        bench.activities.wait(session)
        first = bench.store.runs.of_session(session)[0].id
        plan = bench.store.plans.add(
            session,
            planner="c",
            planner_kind="model",
            report=None,
            usage=Usage(),
            round=2,
            looks_back=first,
        )
        again = STEPS.with_instruction(1, "Look from the other side.").with_instruction(2, "Say more.")
        bench.store.revisions.add(session, again, origin="conductor", plan=plan.id)
    with dying(url, monkeypatch) as bench:
        bench.running.start(session)
        until(lambda: len(bench.store.runs.outputs(session)) == 4)
    with opened(url) as bench:
        torn = bench.store.runs.of_session(session)[0]
        assert (torn.status, torn.round, bench.state(torn).status) == ("interrupted", 2, "interrupted")
        assert bench.running.outlook(session).sentence.startswith("1 of 3 steps will run, 2 reused")
        to_second = bench.running.outlook(session, RunScope(kind="to", step=1))
        assert to_second.sentence == "Nothing to run: every step's output is known."
        bench.running.start(session)
        bench.activities.wait(session)
        done = bench.state(bench.store.runs.of_session(session)[0])
        assert (done.status, done.round) == ("finished", 2)
        assert [step.reused for step in done.steps] == [True, True, False]
        assert bench.running.outlook(session).calls == "no step"


@pytest.mark.slow
def test_an_experiment_that_was_interrupted_states_it_and_leaves_the_session_as_it_was(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url) as bench:
        session = planned(bench)
        bench.running.start(session)
        bench.activities.wait(session)
        before = bench.store.sessions.listed()[0].state, set(bench.store.runs.outputs(session))
    with dying(url, monkeypatch) as bench:
        live = bench.experiments.begin(session, Swap(step=0, workers=("quick", "late")))
        trials_of = bench.store.experiments.trials
        until(lambda: "finished" in [trial.status for trial in trials_of(live.record.id)])
        until(lambda: len(trials_of(live.record.id)) == 2)
        before[1].update(bench.store.runs.outputs(session))
    with opened(url) as bench:
        (experiment,) = bench.store.experiments.of_session(session)
        states = bench.experiments.states(experiment.id)
        assert sorted(state.status for state in states.values()) == ["finished", "interrupted"]
        assert (
            bench.store.sessions.listed()[0].state,
            set(bench.store.runs.outputs(session)),
        ) == before
        assert bench.running.outlook(session).calls == "no step"
