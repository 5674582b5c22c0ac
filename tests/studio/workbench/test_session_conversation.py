"""What was said before a session's question stays with the session, wherever it goes."""

from __future__ import annotations

from conductor.conversation import NOTHING_SAID, Conversation, Turn
from conductor.engine.trials import Swap
from conductor.planner.offline import OfflineConductor
from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from storage.session_file import import_session, write_session
from storage.workbench import Workbench

TALK = Conversation(
    instructions="Be brief.",
    turns=(Turn(role="user", text="Who was Ada?"), Turn(role="assistant", text="A <b>mathematician</b>.")),
)


def test_it_is_kept_and_taken_along_into_forks_and_files(store: SessionStore) -> None:
    pool = Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")))
    bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    session = bench.ask("When was she born?", conversation=TALK)
    assert store.session(session.id).said_before == TALK
    plan = bench.plan(session.id)
    assert plan.report is not None
    assert plan.report.prompt is not None
    assert "Who was Ada?" in plan.report.prompt.messages[-1].content
    fork = bench.fork(session.id, bench.required_head(session.id).id)
    assert fork.said_before == TALK
    assert import_session(store, write_session(store, session.id)).said_before == TALK
    bench.start(session.id)
    bench.conducting.wait(session.id)
    run = store.latest_run(session.id)
    assert run is not None
    assert store.run_state(run.id).conversation == TALK
    trial = bench.experiment(session.id, Swap(step=0, workers=("beta",)))
    assert trial.work is not None
    trial.work.result(10)
    asked = pool["beta"].requests  # type: ignore[attr-defined]
    assert "Who was Ada?" in asked[-1].messages[0].content
    bench.close()


def test_a_question_that_stands_alone_has_none(store: SessionStore) -> None:
    assert store.create_session("Why?").conversation is None
    assert store.create_session("Why?").said_before == NOTHING_SAID
