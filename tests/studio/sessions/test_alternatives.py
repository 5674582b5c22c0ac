"""Plans asked for at once: one budget, an end for each, and none of them the workflow until it is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from conductor.errors import EditConflict, PlanError, StorageError, WorkerError, WorkflowError
from conductor.planner.conductor import PlanRequest
from conductor.values.budget import Budget
from conductor.values.messages import Completion, Delta
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.workbench import Workbench
from tests.studio.sessions.opened_benches import Opened
from tests.support.runs.conductor_cases import BROKEN, KEEP, ScriptedConductor, plan_text
from tests.support.runs.waiting import until

ONE = plan_text((0, "solve it", "[]"))
TWO = plan_text((1, "solve it", "[]"))


@dataclass
class ManyMinds(ScriptedConductor):
    """Gives each call a text of its own: "" fails, "..." never ends."""

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        text = self.texts[min(len(self.requests), len(self.texts) - 1)]
        self.requests.append(request)
        yield Delta(text=text[:5])
        if text == "...":
            await asyncio.sleep(60)
        if not text:
            raise WorkerError("The Conductor is overloaded.")
        yield Completion(text=text, usage=self.usage)


@pytest.fixture
def opened(opened: Opened) -> Callable[..., Workbench]:
    """Workbenches whose Conductor gives each call its own of these texts."""
    return lambda *texts: opened(conductor=ManyMinds(texts))


def verdicts(bench: Workbench, session: str) -> list[tuple[int, bool | None]]:
    return [
        (plan.attempt, plan.report and plan.report.ok) for plan in bench.store.plans.alternatives(session)
    ]


@pytest.mark.slow
def test_each_alternative_is_kept_and_none_is_the_workflow(opened: Callable[..., Workbench]) -> None:
    bench = opened(ONE, TWO, "", BROKEN)
    session = bench.ask("why?").id
    bench.planning.plan(session)
    head = bench.store.revisions.head(session)
    state = bench.store.sessions.listed()[0].state
    plans = bench.planning.plan_alternatives(session, 3)
    assert verdicts(bench, session) == [(1, True), (2, None), (3, False)]
    assert plans[1].failure == "The Conductor is overloaded."
    assert bench.store.revisions.head(session) == head
    assert [plan.id for plan in bench.store.plans.of_session(session)] == [head.plan if head else None]
    assert bench.store.plans.latest(session) == bench.store.plans.of_session(session)[0]
    assert bench.planning.rejected(session) == ()
    assert bench.store.sessions.listed()[0].state == state


@pytest.mark.slow
def test_the_newest_batch_is_the_one_to_choose_from(opened: Callable[..., Workbench]) -> None:
    bench = opened(ONE, TWO, ONE, TWO, TWO)
    session = bench.ask("why?").id
    bench.planning.plan_alternatives(session, 3)
    assert len(bench.planning.plan_alternatives(session, 2)) == 2
    assert len({plan.alternative for plan in bench.store.plans.alternatives(session)}) == 1


@pytest.mark.slow
def test_a_used_alternative_is_a_revision_that_can_be_undone(opened: Callable[..., Workbench]) -> None:
    bench = opened(ONE, TWO)
    session = bench.ask("why?").id
    bench.planning.plan(session)
    before = bench.store.revisions.head(session)
    plan = bench.planning.plan_alternatives(session, 2)[1]
    used = bench.planning.use_candidate(plan.id, 0, head=before)
    assert (used.origin, used.plan, used.note) == ("conductor", plan.id, "Used alternative 2")
    assert used.workflow.steps[0].worker == "b"
    with pytest.raises(EditConflict):
        bench.planning.use_candidate(plan.id, 0, head=before)
    bench.store.revisions.undo(session)
    assert bench.store.revisions.head(session) == before
    edited = bench.editing.edit(session, used.workflow.with_worker(0, "a"), note="Changed")
    assert bench.store.revisions.planned(edited.id) == before


@pytest.mark.slow
def test_an_alternative_may_be_a_sessions_first_workflow(opened: Callable[..., Workbench]) -> None:
    bench = opened(ONE, TWO)
    session = bench.ask("why?").id
    plan = bench.planning.plan_alternatives(session, 2)[0]
    assert bench.store.revisions.head(session) is None
    bench.planning.use_candidate(plan.id, 0)
    assert bench.store.sessions.listed()[0].state == "planned"
    bench.running.start(session)
    bench.activities.wait(session)
    assert bench.store.runs.of_session(session)[0].status == "finished"


@pytest.mark.slow
def test_what_is_no_workflow_cannot_be_used(opened: Callable[..., Workbench]) -> None:
    bench = opened(BROKEN, "")
    session = bench.ask("why?").id
    invalid, failed = bench.planning.plan_alternatives(session, 2)
    with pytest.raises(PlanError, match="is not valid"):
        bench.planning.use_candidate(invalid.id, 0)
    for plan, candidate in ((invalid.id, 1), (invalid.id, -1), (failed.id, 0)):
        with pytest.raises(PlanError, match="no candidate"):
            bench.planning.use_candidate(plan, candidate)
    with pytest.raises(StorageError, match="no plan 'nobody'"):
        bench.planning.use_candidate("nobody", 0)


@pytest.mark.slow
def test_a_worker_that_is_gone_keeps_an_alternative_from_being_used(
    opened: Callable[..., Workbench], url: str
) -> None:
    bench = opened(TWO)
    session = bench.ask("why?").id
    plan = bench.planning.plan_alternatives(session, 2)[0]
    smaller = Workbench.over(
        SessionStore.open(url),
        pool=Pool(workers=(SimulatedWorker(name="a"),)),
        conductor=ScriptedConductor([ONE]),
    )
    with pytest.raises(WorkflowError, match="'b'"):
        smaller.planning.use_candidate(plan.id, 0)
    smaller.close()


@pytest.mark.slow
def test_stopping_keeps_the_plans_that_have_ended(opened: Callable[..., Workbench]) -> None:
    bench = opened(ONE, "...", TWO)
    session = bench.ask("why?").id
    live = bench.planning.begin_alternatives(session, 3)
    until(lambda: live.ended == 2)
    with pytest.raises(WorkflowError, match="already"):
        bench.planning.begin_alternatives(session, 2)
    bench.running.stop(session)
    for plan in live.plans:
        assert plan.done.wait(60)
    until(lambda: not bench.activities.busy(session))
    assert bench.activities.live_alternatives(session) is None
    assert [plan.failure for plan in bench.store.plans.alternatives(session)] == [
        None,
        "Planning was stopped.",
        None,
    ]
    assert bench.activities.failure(session) is None


@pytest.mark.slow
def test_all_of_them_share_one_budget(opened: Callable[..., Workbench]) -> None:
    bench = opened(ONE)
    session = bench.ask("why?", settings=Settings(budget=Budget(calls=2))).id
    plans = bench.planning.plan_alternatives(session, 3)
    assert verdicts(bench, session) == [(1, True), (2, True), (3, None)]
    assert "limit of calls leaves no room" in (plans[2].failure or "")


@pytest.mark.parametrize("count", [1, 6])
def test_too_few_or_too_many_are_refused(opened: Callable[..., Workbench], count: int) -> None:
    bench = opened(ONE)
    session = bench.ask("why?").id
    with pytest.raises(PlanError, match="ask for 2 to 5"):
        bench.planning.begin_alternatives(session, count)


@pytest.mark.slow
def test_alternatives_of_a_later_round_look_back_on_the_same_run(opened: Callable[..., Workbench]) -> None:
    bench = opened(ONE, TWO, KEEP, ONE)
    session = bench.ask("why?", settings=Settings(rounds=2)).id
    bench.planning.plan(session)
    bench.running.start(session)
    bench.activities.wait(session)
    head = bench.store.revisions.head(session)
    assert head.looks_back is not None
    keeps, other = bench.planning.plan_alternatives(session, 2)
    assert {(plan.round, plan.looks_back) for plan in (keeps, other)} == {(2, head.looks_back)}
    with pytest.raises(PlanError, match="keeps the answer"):
        bench.planning.use_candidate(keeps.id, 0)
    assert bench.planning.use_candidate(other.id, 0).looks_back == head.looks_back


@pytest.mark.slow
def test_a_full_store_is_reported_once_all_have_ended(
    opened: Callable[..., Workbench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?").id
    add = bench.store.plans.add

    def full(*arguments: object, **fields: object) -> object:
        if fields["attempt"] == 2:
            raise StorageError("The store is full.")
        return add(*arguments, **fields)

    monkeypatch.setattr(bench.store.plans, "add", full)
    with pytest.raises(StorageError, match="is full"):
        bench.planning.plan_alternatives(session, 3)
    assert bench.activities.failure(session) == "The store is full."
    assert [plan.attempt for plan in bench.store.plans.alternatives(session)] == [1, 3]
