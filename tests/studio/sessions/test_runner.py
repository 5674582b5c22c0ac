"""What goes on in a session: plans asked again, rounds that look back, and a stop that keeps what is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Event
from typing import Any

import pytest

from conductor.errors import PlanError, StorageError, WorkflowError
from conductor.orchestration.runtime import Runtime
from conductor.planner.conductor import PlanRequest
from conductor.runs.events import Event as RunEvent
from conductor.runs.scope import FORCE
from conductor.values.budget import Budget
from conductor.values.messages import Completion, Delta
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import Session
from studio.sessions.background_runs import LiveRun
from studio.workbench import Workbench
from tests.studio.sessions.opened_benches import Opened
from tests.support.runs.conductor_cases import BROKEN, KEEP, ScriptedConductor, plan_text
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

ONE = plan_text((0, "solve it", "[]"))
TWO = plan_text((0, "look again", '"all"'), (1, "merge", "[0]"))


def full(*_: object, **__: object) -> None:
    """What a full store does."""
    raise StorageError("The store is full.")


class SlowConductor(ScriptedConductor):
    """Begins to write, and never ends."""

    async def stream(self, _request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="Let me see")
        await asyncio.sleep(60)


def planned(bench: Workbench, settings: Settings | None = None) -> Session:
    """A session whose query was planned."""
    session = bench.ask("why?", settings=settings)
    bench.planning.plan(session.id)
    return session


def finished(bench: Workbench, session: Session) -> list[tuple[int, str, str | None]]:
    """Round, status and answer of the session's runs, oldest first, once nothing goes on."""
    bench.activities.wait(session.id)
    runs = reversed(bench.store.runs.of_session(session.id))
    return [(run.round, run.status, run.answer) for run in runs]


def test_a_person_is_asked_about_an_invalid_plan_and_may_send_the_reasons_back(opened: Opened) -> None:
    bench = opened(BROKEN, BROKEN, ONE)
    session = bench.ask("why?")
    assert bench.planning.begin(session.id).done.wait(60)
    bench.activities.wait(session.id)
    assert bench.store.revisions.head(session.id) is None
    assert len(bench.planning.rejected(session.id)) == 1
    bench.planning.ask_again(session.id)
    bench.activities.wait(session.id)
    bench.planning.ask_again(session.id)
    bench.activities.wait(session.id)
    plans = bench.store.plans.of_session(session.id)
    assert [(plan.attempt, plan.report.ok) for plan in plans] == [(1, False), (2, False), (3, True)]
    head = bench.store.revisions.head(session.id)
    assert head.workflow.steps[0].instruction == "solve it"
    with pytest.raises(PlanError, match="newest plan is valid"):
        bench.planning.ask_again(session.id)


def test_asking_again_has_an_end(opened: Opened) -> None:
    bench = opened(BROKEN)
    session = planned(bench)
    assert len(bench.planning.rejected(session.id)) == Settings().attempts
    with pytest.raises(PlanError, match="asked 3 times"):
        bench.planning.ask_again(session.id)


def test_planning_again_after_rejections_counts_from_the_first_attempt(opened: Opened) -> None:
    bench = opened(BROKEN)
    session = planned(bench)
    bench.planning.begin(session.id)
    bench.activities.wait(session.id)
    assert len(bench.planning.rejected(session.id)) == 1


def test_rounds_follow_by_themselves_and_every_one_is_kept(opened: Opened) -> None:
    bench = opened(ONE, TWO, KEEP)
    session = planned(bench, Settings(rounds=3))
    bench.running.start(session.id)
    assert finished(bench, session) == [(1, "finished", "a says"), (2, "finished", "b says")]
    [(revision, state)] = bench.planning.rounds(session.id)
    assert (revision.number, state.answer) == (1, "a says")
    plan = bench.store.plans.latest(session.id)
    assert (plan.round, plan.report.return_previous) == (3, True)
    assert bench.store.sessions.listed()[0].state == "finished"


def test_a_session_may_run_again_the_moment_its_run_is_done(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = opened(ONE)
    session = bench.ask("How many?").id
    bench.planning.plan(session)
    events = bench.background.events

    async def dawdling(live: LiveRun) -> AsyncIterator[RunEvent]:
        async for event in events(live):
            yield event
        await asyncio.sleep(0.05)

    monkeypatch.setattr(bench.background, "events", dawdling)
    assert bench.running.start(session).done.wait(60)
    assert bench.running.start(session, FORCE).done.wait(60)


def test_another_round_can_be_asked_for(opened: Opened) -> None:
    bench = opened(ONE, TWO)
    session = bench.ask("why?")
    with pytest.raises(WorkflowError, match="Run the workflow first"):
        bench.planning.begin_round(session.id)
    bench.planning.plan(session.id)
    bench.running.start(session.id)
    bench.activities.wait(session.id)
    bench.planning.begin_round(session.id)
    assert [run[0] for run in finished(bench, session)] == [1, 2]


def test_an_edited_later_round_still_sees_the_round_before(opened: Opened) -> None:
    bench = opened(ONE, TWO)
    session = planned(bench, Settings(rounds=2))
    bench.running.start(session.id)
    bench.activities.wait(session.id)
    head = bench.store.revisions.head(session.id)
    edited = head.workflow.with_sight_of_previous(1, True)
    bench.editing.edit(session.id, edited, note="Sees the round before", head=head)
    radius = bench.running.outlook(session.id).radius
    assert (radius.runs, radius.reused) == ({1}, {0})
    bench.running.start(session.id)
    bench.activities.wait(session.id)
    newest = bench.store.runs.of_session(session.id)[0]
    state = bench.state(newest)
    assert newest.round == 2
    assert [step.reused for step in state.steps] == [True, False]
    request = state.steps[1].request
    assert [(seen.round, seen.response) for seen in request.seen] == [(1, "a says"), (None, "a says")]


def test_planning_can_be_stopped_and_states_it(opened: Opened) -> None:
    bench = opened(conductor=SlowConductor([]))
    session = bench.ask("why?")
    live = bench.planning.begin(session.id)
    until(lambda: live.state.planning_text)
    with pytest.raises(WorkflowError, match="is planning"):
        bench.planning.begin(session.id)
    bench.running.stop(session.id)
    assert live.done.wait(60)
    assert live.state.planning_failure == "Planning was stopped."
    plan = bench.store.plans.latest(session.id)
    assert plan.failure == "Planning was stopped."
    assert bench.activities.live_plan(session.id) is None


def test_a_budget_holds_for_all_rounds_of_a_run(opened: Opened) -> None:
    bench = opened(ONE, TWO)
    session = planned(bench, Settings(rounds=3, budget=Budget(calls=3)))
    bench.running.start(session.id)
    assert finished(bench, session) == [(1, "finished", "a says"), (2, "over_budget", None)]


def test_planning_counts_in_the_budget_of_the_run_that_follows_it(opened: Opened) -> None:
    bench = opened(ONE)
    session = planned(bench, Settings(budget=Budget(cost=0.4)))
    bench.running.start(session.id)
    assert finished(bench, session) == [(1, "over_budget", None)]
    state = bench.state(bench.store.runs.of_session(session.id)[0])
    assert (state.crossing.used, state.used_before.calls, state.calls) == (0.5, 1, 0)
    # The plan was paid for by the run before.
    bench.running.start(session.id)
    assert finished(bench, session)[-1] == (1, "finished", "a says")


def test_the_conductor_can_be_a_worker_of_its_own_pool(opened: Opened) -> None:
    bench = opened(plan_text((2, "plan it yourself", "[]")), ONE, nests=True)
    assert bench.pool.names == ("a", "b", "conductor")
    session = planned(bench)
    bench.running.start(session.id)
    assert finished(bench, session) == [(1, "finished", "a says")]
    state = bench.state(bench.store.runs.of_session(session.id)[0])
    assert state.steps[0].inner[0].workflow is not None


def test_what_broke_off_states_why(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = opened(ONE)
    session = bench.ask("why?")

    monkeypatch.setattr(bench.store.runs, "start", full)
    live = bench.planning.begin(session.id, then_run=True)
    with pytest.raises(StorageError):
        bench.activities.wait(session.id)
    assert live.done.is_set()
    assert bench.activities.failure(session.id) == "The store is full."
    monkeypatch.undo()
    bench.running.start(session.id)
    assert finished(bench, session) == [(1, "finished", "a says")]
    assert bench.activities.failure(session.id) is None


def test_a_fault_of_the_program_is_logged_and_reported_plainly(
    opened: Opened,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(bench.store.plans, "add", broken)
    bench.planning.begin(session.id)
    with pytest.raises(RuntimeError):
        bench.activities.wait(session.id)
    assert "its log has the error" in (bench.activities.failure(session.id) or "")
    assert "no such luck" in caplog.text


def test_a_plan_is_never_there_without_its_workflow(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = opened(ONE)
    session = bench.ask("why?")

    monkeypatch.setattr("storage.tables.revisions.add", full)
    bench.planning.begin(session.id)
    with pytest.raises(StorageError):
        bench.activities.wait(session.id)
    assert (bench.store.plans.latest(session.id), bench.store.sessions.listed()[0].state) == (None, "new")


def held_up(monkeypatch: pytest.MonkeyPatch, part: object, name: str) -> tuple[Event, Event]:
    """The method waits until the second event is set; it sets the first when it begins."""
    start, may_end = Event(), Event()
    does = getattr(part, name)

    def held(*arguments: Any, **named: Any) -> object:
        start.set()
        assert may_end.wait(60)
        return does(*arguments, **named)

    monkeypatch.setattr(part, name, held)
    return start, may_end


def test_a_plan_that_is_being_kept_when_planning_is_stopped_is_the_end_of_it(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?")
    start, may_end = held_up(monkeypatch, bench.store.plans, "add")
    live = bench.planning.begin(session.id, then_run=True)
    assert start.wait(60)
    bench.running.stop(session.id)
    assert bench.activities.busy(session.id), "until all of it is kept"
    may_end.set()
    with pytest.raises(CancelledError):
        bench.activities.wait(session.id)
    [plan] = bench.store.plans.of_session(session.id)
    assert plan.failure is None
    assert live.state.planning_failure is None
    assert live.state.report == plan.report
    assert bench.store.sessions.listed()[0].state == "planned"
    assert bench.store.runs.of_session(session.id) == ()


def test_a_stop_between_a_plan_and_its_run_is_noticed(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?")
    start, may_end = held_up(monkeypatch, bench.store.runs, "start")
    bench.planning.begin(session.id, then_run=True)
    assert start.wait(60)
    bench.running.stop(session.id)
    may_end.set()
    assert finished(bench, session) == [(1, "cancelled", None)]
    monkeypatch.undo()
    bench.running.start(session.id)
    assert finished(bench, session)[1:] == [(1, "finished", "a says")]


def close_around(bench: Workbench, held: Event) -> None:
    """Close it while something is held up, which goes on when that is set."""
    with ThreadPoolExecutor() as threads:
        closed = threads.submit(bench.close)
        # Nothing shows from here that what goes on was cancelled.
        time.sleep(0.2)
        held.set()
        closed.result(60)


def test_a_plan_that_is_being_kept_when_the_workbench_closes_is_kept(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?")
    start, may_end = held_up(monkeypatch, bench.store.plans, "add")
    bench.planning.begin(session.id)
    assert start.wait(60)
    opened.benches.remove(bench)
    close_around(bench, may_end)
    again = opened(ONE)
    assert again.required_head(session.id).note == "Planned"


def test_a_run_that_was_about_to_begin_when_the_workbench_closed_is_over(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = opened(ONE)
    session = bench.ask("why?")
    start, closing = Event(), Event()
    start_run = bench.store.runs.start

    def started(**run: Any) -> object:
        record = start_run(**run)
        start.set()
        assert closing.wait(60)
        return record

    monkeypatch.setattr(bench.store.runs, "start", started)
    bench.planning.begin(session.id, then_run=True)
    assert start.wait(60)
    opened.benches.remove(bench)
    close_around(bench, closing)
    again = opened(ONE)
    assert finished(again, session) == [(1, "interrupted", None)]


def test_a_run_of_this_process_is_stopped_without_the_store(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: str) -> None:
        raise StorageError("The store cannot be reached.")

    bench = opened(ONE)
    patient = SimulatedWorker(name="a", latency=60)
    runtime = Runtime(workers=Pool(workers=(patient,)), conductor=bench.conductor)
    monkeypatch.setattr(bench.runner, "runtimes", lambda: runtime)
    session = planned(bench)
    live = bench.running.start(session.id)
    with monkeypatch.context() as patched:
        patched.setattr(bench.store.runs, "latest", away)
        with pytest.raises(StorageError):
            bench.running.stop(session.id)
        assert live.done.wait(60)
    assert finished(bench, session) == [(1, "cancelled", None)]


def test_stopping_holds_up_no_other_session(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = opened(conductor=SlowConductor([]))
    session = bench.ask("why?")
    live = bench.planning.begin(session.id)
    until(lambda: live.state.planning_text)
    start, may_end = held_up(monkeypatch, bench.store.plans, "add")
    bench.running.stop(session.id)
    assert start.wait(60)
    bench.background.spawn(asyncio.sleep(0)).result(60)
    may_end.set()
    assert live.done.wait(60)
    assert live.state.planning_failure == "Planning was stopped."


def test_a_stop_that_comes_before_the_first_word_is_noticed(opened: Opened) -> None:
    bench = opened(conductor=SlowConductor([]))
    session = bench.ask("why?")
    blocked = Event()

    async def block() -> None:
        blocked.wait(60)

    bench.background.spawn(block())
    live = bench.planning.begin(session.id)
    bench.running.stop(session.id)
    blocked.set()
    assert live.done.wait(60)
    with pytest.raises(CancelledError):
        bench.activities.wait(session.id)
    assert bench.activities.live_plan(session.id) is None
    assert [plan.failure for plan in bench.store.plans.of_session(session.id)] == ["Planning was stopped."]


def test_of_two_who_ask_at_once_one_is_informed_that_something_begins(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = opened(conductor=SlowConductor([]))
    session = bench.ask("why?").id
    both = Barrier(2)

    class LookedAtTogether(dict[str, Any]):
        def get(self, of: str, default: Any = None) -> Any:
            value = super().get(of, default)
            with suppress(BrokenBarrierError):
                both.wait(0.1)
            return value

    def begin(_: int) -> bool:
        try:
            bench.planning.begin(session)
        except WorkflowError:
            return False
        return True

    monkeypatch.setattr(bench.activities, "_latest", LookedAtTogether())
    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(begin, range(2))) == [False, True]
    both.abort()
    bench.running.stop(session)
    with pytest.raises(CancelledError):
        bench.activities.wait(session)
