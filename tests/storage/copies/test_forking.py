"""A fork goes on from a revision in a session of its own, and calls no worker for what is known already."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor.errors import StorageError
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text

ONE = plan_text((0, "solve it", "[]"))
TWO = plan_text((1, "look again", '"all"'))


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    """A workbench whose Conductor plans two rounds."""
    pool = Pool(workers=tuple(SimulatedWorker(name=name, answer=f"{name} says") for name in ("a", "b")))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=ScriptedConductor([ONE, TWO]))
    yield bench
    bench.close()


def ran(bench: Workbench, session: str) -> None:
    bench.running.start(session)
    bench.activities.wait(session)


@pytest.mark.slow
def test_a_fork_begins_with_the_revision_and_reuses_what_its_session_knows(bench: Workbench) -> None:
    settings = Settings(rounds=1, attempts=2)
    session = bench.ask("why?", settings=settings).id
    pair = Workflow.of(
        [Step(instruction="one", worker="a"), Step(instruction="two", worker="b", access=(0,))]
    )
    first = bench.editing.edit(session, pair, note="Begun")
    ran(bench, session)
    bench.editing.edit(session, Workflow.of([Step(instruction="other", worker="a")]), note="Changed")
    fork = bench.store.sessions.fork(session, first.id)
    assert (fork.origin, fork.forked_from, fork.query) == ("fork", first.id, "why?")
    assert (fork.title, fork.settings, fork.pool_label) == ("why? (fork)", settings, bench.pool.label)
    head = bench.required_head(fork.id)
    assert (head.workflow, head.number, head.origin, head.parent) == (pair, 1, "human", None)
    assert head.note == "Forked from revision 1 of why?"
    assert bench.store.sessions.listed()[0].state == "planned"
    assert bench.running.outlook(fork.id).estimate.calls == 0
    ran(bench, fork.id)
    assert bench.store.sessions.listed()[0].tokens == 0
    assert bench.required_head(session).note == "Changed"
    bench.editing.edit(fork.id, bench.required_head(session).workflow, note="Elsewhere")
    assert len(bench.store.revisions.of_session(session)) == 2


@pytest.mark.slow
def test_a_fork_of_a_later_round_stands_by_itself(bench: Workbench) -> None:
    session = bench.ask("why?", settings=Settings(rounds=2)).id
    bench.planning.plan(session)
    ran(bench, session)
    later = bench.required_head(session)
    assert later.looks_back is not None
    fork = bench.store.sessions.fork(session, later.id)
    [(before, state)] = bench.planning.rounds(fork.id)
    assert (before.session, state.status, state.answer) == (fork.id, "finished", "a says")
    copied = bench.required_head(fork.id)
    assert copied.looks_back not in (None, later.looks_back)
    assert copied.parent == before.id
    assert [event.run for event in bench.store.runs.events(copied.looks_back or "")] == [
        copied.looks_back
    ] * len(bench.store.runs.events(later.looks_back))
    assert bench.running.outlook(fork.id).estimate.calls == 0


@pytest.mark.slow
def test_only_a_sessions_own_revision_is_forked(bench: Workbench) -> None:
    session, other = bench.ask("why?").id, bench.ask("why not?").id
    revision = bench.editing.edit(session, Workflow.of([Step(instruction="do", worker="a")]), note="").id
    with pytest.raises(StorageError, match="choose one of the session's own"):
        bench.store.sessions.fork(other, revision)
    with pytest.raises(StorageError, match="no revision"):
        bench.store.sessions.fork(session, "unknown")
    assert bench.store.sessions.count() == 2
