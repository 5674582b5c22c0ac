"""The conversation before a session's question stays with the session, wherever it goes."""

from __future__ import annotations

import pytest

from conductor.engine.experiments import Swap
from conductor.errors import QueryError, WorkflowError
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.conversation import MAX_CONVERSATION, NO_CONVERSATION, Conversation, Turn
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.stores.session_files import exported, imported

TALK = Conversation(
    instructions="Be brief.",
    turns=(Turn(role="user", text="Who was Ada?"), Turn(role="assistant", text="A <b>mathematician</b>.")),
)


@pytest.mark.slow
def test_it_is_kept_and_taken_along_into_forks_and_files(store: SessionStore) -> None:
    pool = Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")))
    bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    session = bench.ask("When was she born?", conversation=TALK)
    assert store.sessions.find(session.id).earlier_conversation == TALK
    plan = bench.planning.plan(session.id)
    assert "Who was Ada?" in plan.report.prompt.messages[-1].content
    fork = bench.store.sessions.fork(session.id, bench.required_head(session.id).id)
    assert fork.earlier_conversation == TALK
    assert imported(store, exported(store, session.id)).earlier_conversation == TALK
    bench.running.start(session.id)
    bench.activities.wait(session.id)
    run = store.runs.latest(session.id)
    assert store.runs.state(run.id).conversation == TALK
    trial = bench.experiments.begin(session.id, Swap(step=0, workers=("beta",)))
    trial.work.result(60)
    requests = pool["beta"].requests  # type: ignore[attr-defined]
    assert "Who was Ada?" in requests[-1].messages[0].content
    bench.close()


def test_a_question_that_stands_alone_has_none(store: SessionStore) -> None:
    assert store.sessions.create("Why?").conversation is None
    assert store.sessions.create("Why?").earlier_conversation == NO_CONVERSATION


@pytest.mark.slow
def test_a_follow_up_continues_from_an_answer(store: SessionStore) -> None:
    pool = Pool(workers=(SimulatedWorker(name="alpha", answer="In 1815."),))
    bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    first = bench.ask("When was she born?", conversation=TALK).id
    with pytest.raises(WorkflowError, match="no answer to continue from"):
        bench.follow_up(first, "And where?")
    bench.planning.plan(first)
    bench.running.start(first)
    bench.activities.wait(first)
    run = store.runs.latest(first)
    second = bench.follow_up(first, "And where?", run=run.id, settings=Settings(rounds=2))
    assert (second.query, second.settings) == ("And where?", Settings(rounds=2))
    assert second.earlier_conversation == TALK.after("When was she born?", "In 1815.")
    assert second.earlier_conversation.instructions == "Be brief."
    with pytest.raises(WorkflowError, match="no answer"):
        bench.follow_up(first, "And where?", run="another")
    with pytest.raises(QueryError, match="empty"):
        bench.follow_up(first, " ")
    long = TALK.model_copy(update={"instructions": "x" * MAX_CONVERSATION})
    with pytest.raises(QueryError, match="Ask in a new session"):
        bench.ask("Why?", conversation=long)
    bench.close()
