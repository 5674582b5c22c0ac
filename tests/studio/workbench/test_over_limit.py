"""A plan with more steps than it may have can be taken as it is, without a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from conductor.errors import EditConflict, PlanError
from conductor.planner.parsing.parse import over_limit
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import Plan, SessionStore
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import BROKEN, ScriptedConductor, plan_text
from tests.support.runs.used_by import used_by

pytestmark = pytest.mark.slow

GOOD = plan_text((0, "Answer.", "[]"))


def steps(count: int, *, access: str = "all", worker: int = 0) -> str:
    """A plan of so many steps."""
    return plan_text(*((worker, f"Do part {at}.", f'["{access}"]' if at else "[]") for at in range(count)))


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., tuple[Workbench, str, Plan]]]:
    """A workbench, a session of it whose Conductor gave this text, and the plan that was kept of it."""
    benches: list[Workbench] = []

    def open_(text: str, **settings: int) -> tuple[Workbench, str, Plan]:
        pool = Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")))
        bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=ScriptedConductor([text, GOOD]))
        benches.append(bench)
        session = bench.ask("Why?", settings=Settings(**{"attempts": 1, **settings})).id
        return bench, session, bench.planning.plan(session)

    yield open_
    for bench in benches:
        bench.close()


@pytest.mark.parametrize(("count", "limit"), [(2, 1), (12, 5), (100, 5)])
def test_it_is_a_persons_revision_and_no_call(
    opened: Callable[..., tuple[Workbench, str, Plan]], count: int, limit: int
) -> None:
    bench, session, plan = opened(steps(count), max_steps=limit)
    assert not plan.report.ok
    revision = used_by(bench, "Ada").planning.take_over_limit(plan.id)
    assert (revision.origin, revision.author, revision.plan) == ("human", "Ada", plan.id)
    assert revision.note == f"Taken with {count} steps, over the limit of {limit}"
    assert [step.access for step in revision.workflow.steps] == [tuple(range(at)) for at in range(count)]
    assert len(bench.store.plans.of_session(session)) == 1
    assert bench.store.plans.find(plan.id) == plan
    assert bench.store.revisions.planned(revision.id) == revision
    assert bench.store.sessions.listed()[0].state == "planned"
    bench.running.start(session)
    bench.activities.wait(session)
    assert bench.store.runs.of_session(session)[0].status == "finished"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        BROKEN,
        "no plan at all",
        steps(12, access="13"),
        steps(12, worker=9),
        steps(101),
        plan_text(*((0, "", "[]") for _ in range(12))),
    ],
    ids=["valid", "no worker", "no plan", "access", "workers", "too long for a workflow", "empty subtasks"],
)
def test_a_plan_with_other_faults_is_not_taken(
    opened: Callable[..., tuple[Workbench, str, Plan]], text: str
) -> None:
    bench, session, plan = opened(text)
    before = bench.store.revisions.history(session)
    assert over_limit(plan.report) is None
    with pytest.raises(PlanError, match="cannot be taken as it is"):
        bench.planning.take_over_limit(plan.id)
    assert bench.store.revisions.history(session) == before


def test_each_plan_of_a_text_can_be_taken_by_its_place(
    opened: Callable[..., tuple[Workbench, str, Plan]],
) -> None:
    bench, session, plan = opened(f"{steps(7)}\n\nOr shorter:\n\n{GOOD}")
    head = bench.store.revisions.head(session)
    assert over_limit(plan.report, 1) is over_limit(plan.report, 2) is None
    revision = bench.planning.take_over_limit(plan.id, 0, head=head)
    assert len(revision.workflow) == 7
    with pytest.raises(EditConflict):
        bench.planning.take_over_limit(plan.id, 0, head=head)
    bench.store.revisions.undo(session)
    assert bench.store.revisions.head(session) == head
