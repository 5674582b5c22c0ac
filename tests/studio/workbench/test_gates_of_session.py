"""A run that waits at a gate is over: it survives a restart, goes on as an ordinary run, can be stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

import pytest

from conductor.engine.experiments import Swap
from conductor.errors import WorkflowError
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.scope import FORCE
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from storage import SessionStore
from studio.session_file import import_sessions, write_sessions
from studio.workbench import Contender, Workbench
from tests.support.runs.workflow_cases import workflow_of

pytestmark = pytest.mark.slow

GATED = workflow_of((), (0,), (0, 1)).with_gate(1)


@contextmanager
def opened(url: str) -> Iterator[Workbench]:
    pool = Pool(workers=tuple(SimulatedWorker(name=name, tokens=3) for name in ("alpha", "beta")))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    try:
        yield bench
    finally:
        bench.close()


def ran(bench: Workbench, workflow: Workflow = GATED) -> str:
    """A session in which that workflow ran as far as it goes."""
    session = bench.ask("Which?").id
    bench.editing.edit(session, workflow, note="Written")
    bench.running.start(session)
    bench.activities.wait(session)
    return session


def state_of(bench: Workbench, session: str) -> tuple[str, str]:
    """What the session is listed as, and its newest run."""
    last = bench.store.runs.latest(session)
    assert last is not None
    listed = {summary.id: summary.state for summary in bench.store.sessions.listed()}
    return listed[session], last.status


def test_it_goes_on_after_a_restart_and_calls_no_finished_step_again(url: str) -> None:
    with opened(url) as bench:
        session = ran(bench)
        assert state_of(bench, session) == ("paused", "paused")
    with opened(url) as bench:
        waiting = bench.state(bench.store.runs.latest(session))
        assert (waiting.held, waiting.steps[1].request is not None) == ((1,), True)
        bench.running.start(session, bench.running.next_scope(session, proceed=True))
        bench.activities.wait(session)
        assert state_of(bench, session) == ("finished", "finished")
        state = bench.state(bench.store.runs.of_session(session)[0])
        assert [step.reused for step in state.steps] == [True, False, False]
        # The run that waited stays what it was.
        assert bench.store.runs.of_session(session)[1].status == "paused"
        with pytest.raises(WorkflowError, match="No run of this session waits"):
            bench.running.next_scope(session, proceed=True)


def test_a_run_of_all_steps_goes_on_as_one(url: str) -> None:
    with opened(url) as bench:
        session = ran(bench, GATED.ungated)
        bench.editing.edit(session, GATED, note="Gate")
        bench.running.start(session, FORCE)
        bench.activities.wait(session)
        assert state_of(bench, session)[1] == "paused"
        bench.running.start(session, bench.running.next_scope(session, proceed=True))
        bench.activities.wait(session)
        state = bench.state(bench.store.runs.of_session(session)[0])
        assert [step.reused for step in state.steps] == [True, False, False]


def test_what_waits_is_stopped_for_good_and_once(url: str) -> None:
    with opened(url) as bench:
        session = ran(bench)
        assert bench.state(bench.store.runs.latest(session)).held == (1,)
        bench.running.stop(session)
        assert state_of(bench, session) == ("cancelled", "cancelled")
        run = bench.store.runs.of_session(session)[0]
        events = bench.store.runs.events(run.id)
        bench.running.stop(session)
        assert bench.store.runs.events(run.id) == events
        assert bench.state(run).status == "cancelled"
        assert not bench.running.next_scope(session).passes


def test_a_session_that_waits_is_copied_as_it_is(url: str) -> None:
    with opened(url) as bench:
        session, stopped = ran(bench), ran(bench)
        bench.running.stop(stopped)
        fork = bench.store.sessions.fork(session, bench.required_head(session).id).id
        assert bench.required_head(fork).workflow == GATED
        file = BytesIO(b"".join(write_sessions(bench.store, [session, stopped])))
        copies = import_sessions(bench.store, file)
        assert [state_of(bench, each)[1] for each in copies] == ["paused", "cancelled"]
        assert bench.running.next_scope(copies[0]).passes == (1,)


def test_experiments_and_races_wait_at_no_gate(url: str) -> None:
    with opened(url) as bench:
        session = ran(bench)
        bench.running.start(session, bench.running.next_scope(session, proceed=True))
        bench.activities.wait(session)
        live = bench.experiments.begin(session, Swap(step=1, workers=("beta",)))
        assert live.work is not None
        live.work.result(60)
        assert {state.status for state in bench.experiments.states(live.record.id).values()} == {"finished"}
        left = Contender(session, GATED, name="Written", revision=bench.required_head(session).id)
        right = Contender(session, GATED.with_worker(2, "beta"), name="Other")
        sessions = [bench.store.runs.find(run.run).session for run in bench.racing.start(left, right)]
        for each in sessions:
            bench.activities.wait(each)
            assert state_of(bench, each)[1] == "finished"
