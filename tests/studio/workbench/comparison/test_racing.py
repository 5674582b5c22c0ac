"""Two plans of one question that are run at once: where each is run, what it takes, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.errors import WorkflowError
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Contender, Workbench

pytestmark = pytest.mark.slow

ONE = Workflow.of([Step(instruction="Answer.", worker="quick")])
TWO = Workflow.of(
    [Step(instruction="Find it.", worker="quick"), Step(instruction="Say it.", worker="quick", access=(0,))]
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    pool = Pool(
        workers=(SimulatedWorker(name="quick", tokens=3), SimulatedWorker(name="late", latency=3600.0))
    )
    url = f"sqlite:///{tmp_path / 'conductor.db'}"
    workbench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    yield workbench
    workbench.close()


def of(bench: Workbench, workflow: Workflow, *, query: str = "Which?", **settings: object) -> Contender:
    session = bench.ask(query, settings=Settings(**settings)).id  # type: ignore[arg-type]
    head = bench.editing.edit(session, workflow, note="Written")
    return Contender(session, workflow, name="Written", revision=head.id)


def raced(bench: Workbench, left: Contender, right: Contender) -> list[str]:
    """The sessions in which both were run, to the end."""
    sessions = [bench.store.runs.find(run.run).session for run in bench.racing.start(left, right)]
    for session in sessions:
        bench.activities.wait(session)
    return sessions


def test_each_plan_is_run_whole_in_its_own_session_and_another_plan_of_it_in_a_fork(bench: Workbench) -> None:
    own = of(bench, ONE, rounds=3)
    other = Contender(own.session, TWO, name="Rule-based plan")
    for _ in range(2):
        here, fork = raced(bench, own, other)
        assert here == own.session
        assert fork != own.session
        head = bench.required_head(fork)
        assert (head.workflow, head.note) == (TWO, "Rule-based plan")
        assert bench.store.sessions.find(fork).query == "Which?"
        (run,) = bench.store.runs.of_session(fork)
        assert bench.state(run).calls == 2, "nothing is reused"
    runs = bench.store.runs.of_session(own.session)
    assert [bench.state(run).calls for run in runs] == [1, 1], "one round each, all of it"


def test_an_earlier_revision_races_the_current_one_in_a_fork_of_itself(bench: Workbench) -> None:
    first = of(bench, ONE)
    bench.editing.edit(first.session, TWO, note="More")
    head = bench.required_head(first.session)
    fork, here = raced(bench, first, Contender(first.session, TWO, name="More", revision=head.id))
    assert here == first.session
    assert bench.store.sessions.find(fork).forked_from == first.revision
    assert [revision.workflow for revision in bench.store.revisions.of_session(fork)] == [ONE]


def test_what_both_will_take_is_stated_before(bench: Workbench) -> None:
    one, two = bench.racing.estimates([of(bench, ONE), of(bench, TWO)])
    assert (one.calls, two.calls) == (1, 2)
    assert None not in (one.tokens, two.tokens)


def test_each_run_keeps_to_the_budget_of_its_session(bench: Workbench) -> None:
    left, right = of(bench, TWO, budget=Budget(calls=1)), of(bench, TWO)
    here, there = (bench.store.runs.latest(session) for session in raced(bench, left, right))
    assert here is not None
    assert there is not None
    assert (here.status, there.status) == ("over_budget", "finished")


def test_neither_is_run_where_one_cannot_be(bench: Workbench) -> None:
    one = of(bench, ONE)
    unknown = Contender(one.session, ONE.with_worker(0, "nobody"), name="Another")
    elsewhere = of(bench, ONE, query="What?")
    for other in (unknown, elsewhere):
        with pytest.raises(WorkflowError):
            bench.racing.start(one, other)
    assert not bench.store.runs.of_session(one.session)
    assert bench.store.sessions.count() == 2, "and no fork was made"
