"""Experiments run beside the session, are kept, and change nothing of what the session knows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from conductor.engine.experiments import (
    EdgeTest,
    Replacement,
    StepSearch,
    Swap,
    edge_verdicts,
    trials_of,
)
from conductor.errors import DataError, StorageError, WorkflowError
from conductor.values.accepted import Accepted
from conductor.values.budget import Budget
from conductor.values.messages import Completion, Delta, Request
from conductor.values.output import HandEdit
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.workbench import Workbench
from studio.workbench.comparison.experiments import AT_ONCE, LiveExperiment
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text
from tests.support.runs.waiting import until
from tests.support.runs.workflow_cases import workflow_of

pytestmark = pytest.mark.slow

PLAN = plan_text((0, "find it", "[]"), (1, "check it", "[0]"), (0, "say it", '"all"'))


class Endless:
    """Writes a word and never ends."""

    card = WorkerCard(name="endless", kind="simulated", strengths="", model="endless")

    async def stream(self, _: Request) -> AsyncIterator[Delta | Completion]:
        yield Delta(text="Well")
        await asyncio.sleep(60)


def sightseer(request: Request) -> str:
    return " ".join(f"{seen.step}({seen.response})" for seen in request.seen) or "nothing"


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    workers = tuple(SimulatedWorker(name=name, answer=sightseer) for name in ("a", "b"))
    pool = Pool(workers=(*workers, SimulatedWorker(name="c", answer="c says"), Endless()))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=ScriptedConductor([PLAN]))
    yield bench
    bench.close()


@pytest.fixture
def session(bench: Workbench) -> str:
    """A session whose workflow has run."""
    session = bench.ask("Which one?").id
    bench.planning.plan(session)
    assert bench.running.start(session).done.wait(60)
    return session


def ended(live: LiveExperiment) -> None:
    live.work.result(60)


def test_a_swap_is_kept_and_leaves_the_session_as_it_is(bench: Workbench, session: str) -> None:
    before = (
        bench.store.sessions.find(session),
        bench.store.runs.latest(session),
        bench.store.runs.of_session(session),
    )
    outputs = set(bench.store.runs.outputs(session))
    live = bench.experiments.begin(session, Swap(step=1, workers=("a", "b", "c")))
    ended(live)
    states = bench.experiments.states(live.record.id)
    assert [states[at].steps[1].text for at in range(3)] == ["0(nothing)", "0(nothing)", "c says"]
    assert [state.status for state in states.values()] == ["finished"] * 3
    after = bench.store.sessions.find(session)
    assert after.model_copy(update={"updated_at": before[0].updated_at}) == before[0]
    assert (bench.store.runs.latest(session), bench.store.runs.of_session(session)) == before[1:]
    assert outputs <= set(bench.store.runs.outputs(session))
    assert bench.store.sessions.listed()[0].state == "finished"


def test_what_trials_will_take_is_estimated_before_they_begin(bench: Workbench, session: str) -> None:
    base = bench.experiments.base(session)
    seen = bench.experiments.estimate(Swap(step=1, workers=("b",), repeats=3), base)
    once = base.state.steps[1].usage.total
    assert once is not None
    assert (seen.calls, seen.tokens, seen.assumed) == (3, 3 * once, False)
    unseen = bench.experiments.estimate(Swap(step=1, workers=("b", "c")), base)
    assert (unseen.calls, unseen.assumed) == (2, True)
    edges = bench.experiments.estimate(EdgeTest(edges=((0, 1),), repeats=2), base)
    # Two trials and two controls; each calls the reader and the step after it.
    assert edges.calls == 8


def test_the_winner_of_a_swap_is_known_to_the_next_run(bench: Workbench, session: str) -> None:
    ended(bench.experiments.begin(session, Swap(step=1, workers=("c",))))
    head = bench.store.revisions.head(session)
    bench.editing.edit(session, head.workflow.with_worker(1, "c"), note="winner", head=head)
    assert bench.running.outlook(session).radius.runs == {2}


def test_repeats_do_not_take_the_place_of_what_the_session_knows(bench: Workbench, session: str) -> None:
    outputs = set(bench.store.runs.outputs(session))
    live = bench.experiments.begin(session, EdgeTest(edges=((0, 1),), repeats=3))
    ended(live)
    assert outputs <= set(bench.store.runs.outputs(session))
    assert len(bench.store.experiments.trials(live.record.id)) == 6


def test_an_edge_test_read_from_the_store_shows_the_same(bench: Workbench, session: str, url: str) -> None:
    test = EdgeTest(edges=((0, 1), (0, 2), (1, 2)))
    live = bench.experiments.begin(session, test)
    ended(live)
    base = bench.experiments.base(session)
    assert base.state.workflow is not None
    trials = trials_of(test, base.state.workflow)
    verdicts = edge_verdicts(base.state.answer or "", trials, bench.experiments.states(live.record.id))
    assert all(verdict.matters for verdict in verdicts)
    with SessionStore.open(url) as store:
        record = store.experiments.of_session(session)[0]
        assert (record.experiment, record.base) == (test, base.record.id)
        states = {run.trial: store.runs.state(run.id) for run in store.experiments.trials(record.id)}
    assert edge_verdicts(base.state.answer or "", trials, states) == verdicts  # type: ignore[arg-type]


def test_an_experiment_stops_within_a_second_and_keeps_what_is_done(bench: Workbench, session: str) -> None:
    live = bench.experiments.begin(session, Swap(step=1, workers=("a", *["endless"]), repeats=9))
    with pytest.raises(WorkflowError, match="A trial is running"):
        bench.experiments.begin(session, Swap(step=1, workers=("a",)))
    until(lambda: bench.store.experiments.trials(live.record.id))
    bench.experiments.stop(live.record.id)
    ended(live)
    assert {state.status for state in bench.experiments.states(live.record.id).values()} <= {
        "finished",
        "cancelled",
    }
    ended(bench.experiments.begin(session, Swap(step=1, workers=("a",))))


def test_the_session_may_run_beside_an_experiment(bench: Workbench, session: str) -> None:
    live = bench.experiments.begin(session, Swap(step=1, workers=("endless",)))
    assert bench.running.start(session).done.wait(60)
    latest = bench.store.runs.latest(session)
    assert (latest.status, latest.experiment) == ("finished", None)
    bench.experiments.stop(live.record.id)
    ended(live)


@pytest.mark.parametrize("change", ["edited", "never run"])
def test_an_experiment_needs_a_run_of_the_workflow_as_it_is(
    bench: Workbench, session: str, change: str
) -> None:
    if change == "edited":
        head = bench.store.revisions.head(session)
        bench.editing.edit(session, head.workflow.with_instruction(0, "other"), note="edit", head=head)
    else:
        session = bench.ask("And now?").id
        bench.store.revisions.add(session, workflow_of((), worker="a"), origin="import")
    with pytest.raises(WorkflowError, match="Run it first"):
        bench.experiments.begin(session, Swap(step=0, workers=("a",)))


def test_a_worker_that_the_pool_does_not_have_is_no_contestant(bench: Workbench, session: str) -> None:
    with pytest.raises(WorkflowError, match="'zeta'"):
        bench.experiments.begin(session, Swap(step=0, workers=("zeta",)))
    assert bench.store.experiments.of_session(session) == ()


def test_who_asks_what_goes_on_is_not_disturbed_by_another_that_begins(
    bench: Workbench, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = bench.experiments.begin(session, Swap(step=1, workers=("a",)))
    ended(live)
    others = iter(range(2))

    def ends_while_another_begins(_: LiveExperiment) -> bool:
        bench.experiments._live[f"another {next(others)}"] = live
        return True

    monkeypatch.setattr(LiveExperiment, "done", property(ends_while_another_begins))
    assert bench.experiments.under_way(session) == frozenset()


def test_of_two_experiments_that_begin_at_once_one_goes_on(
    bench: Workbench, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Barrier(2)
    base = bench.experiments.base(session)

    def together(*_: object) -> object:
        both.wait(60)
        return base

    monkeypatch.setattr(type(bench.experiments), "base", together)

    def begin(_: int) -> LiveExperiment | None:
        try:
            return bench.experiments.begin(session, Swap(step=1, workers=("endless",)))
        except WorkflowError:
            return None

    with ThreadPoolExecutor(2) as threads:
        experiments = [live for live in threads.map(begin, range(2)) if live is not None]
    assert len(experiments) == 1 == len(bench.store.experiments.of_session(session))
    bench.experiments.stop(experiments[0].record.id)
    ended(experiments[0])


def test_a_trial_that_cannot_begin_stops_the_others_and_leaves_none_without_an_end(
    bench: Workbench, session: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start_run, states_of = bench.store.runs.start, bench.experiments.states

    def full_by_then(*, trial: int, experiment: str, **arguments: Any) -> object:
        if trial == 2:
            until(lambda: [bool(each.steps) for each in states_of(experiment).values()].count(True) == 2)
            raise StorageError("The store is full.")
        return start_run(trial=trial, experiment=experiment, **arguments)

    monkeypatch.setattr(bench.store.runs, "start", full_by_then)
    live = bench.experiments.begin(session, Swap(step=1, workers=("endless",), repeats=3))
    with pytest.raises(StorageError):
        ended(live)
    assert live.failure == "The store is full."
    assert "The store is full." in caplog.text
    states = bench.experiments.states(live.record.id)
    assert [states[at].status for at in range(2)] == ["cancelled"] * 2
    assert [run.status for run in bench.store.experiments.trials(live.record.id)] == ["cancelled"] * 2
    assert not live.runs


def test_an_experiment_of_another_process_is_seen_and_stopped(
    bench: Workbench, session: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.store.processes.LOOK_SECONDS", 0.02)
    live = bench.experiments.begin(session, Swap(step=1, workers=("endless",), repeats=9))
    until(lambda: len(live.runs) == AT_ONCE)
    elsewhere = Workbench.over(SessionStore.open(url), pool=bench.pool, conductor=bench.conductor)
    try:
        assert elsewhere.experiments.under_way(session) == {live.record.id}
        with pytest.raises(WorkflowError, match="A trial is running"):
            elsewhere.experiments.begin(session, Swap(step=1, workers=("a",)))
        elsewhere.experiments.stop(live.record.id)
        ended(live)
        assert [run.status for run in elsewhere.store.experiments.trials(live.record.id)] == [
            "cancelled"
        ] * AT_ONCE
        assert elsewhere.experiments.under_way(session) == frozenset()
        ended(elsewhere.experiments.begin(session, Swap(step=1, workers=("a",))))
    finally:
        elsewhere.close()


def search(*replacements: Replacement, target: str = "Paris", **settings: Any) -> StepSearch:
    return StepSearch(
        accepted=Accepted(target=(target,), **settings), replacements=replacements, hand=HandEdit(at=1.0)
    )


def test_a_search_for_the_step_knows_which_answers_are_right(
    bench: Workbench, session: str, url: str
) -> None:
    experiment = search(Replacement(step=0, text="Paris"), Replacement(step=1, worker="c"))
    base = bench.experiments.base(session)
    assert bench.experiments.estimate(experiment, base).calls == 4
    live = bench.experiments.begin(session, experiment)
    ended(live)
    assert bench.experiments.right(live.record, bench.experiments.states(live.record.id)) == {
        0: True,
        1: False,
    }
    with SessionStore.open(url) as store:
        record = store.experiments.of_session(session)[0]
        states = {run.trial: store.runs.state(run.id) for run in store.experiments.trials(record.id)}
    assert record.experiment == experiment
    # As another process finds it that has not compared them.
    bench.experiments._live.clear()
    assert bench.experiments.right(record, states) == {0: True, 1: False}
    assert base.state.workflow == bench.store.revisions.head(session).workflow


def test_formulas_are_compared_while_the_search_goes_on(bench: Workbench, session: str) -> None:
    experiment = search(Replacement(step=2, worker="c"), target="x^2", check="mathematics")
    live = bench.experiments.begin(session, experiment)
    live.work.result(60)
    assert bench.experiments.right(live.record, bench.experiments.states(live.record.id)) == {0: False}


@pytest.mark.parametrize(
    ("experiment", "error", "match"),
    [
        (search(Replacement(step=0, text="x"), target="nothing"), WorkflowError, "is already right"),
        (search(Replacement(step=0, text="x"), check="number"), DataError, "No answer can be 'Paris'"),
        (search(Replacement(step=0, worker="zeta")), WorkflowError, "'zeta'"),
        (search(Replacement(step=2, text="x")), WorkflowError, "gives the answer itself"),
        (search(Replacement(step=7, text="x")), WorkflowError, "There is no step 8"),
    ],
)
def test_a_search_that_can_find_nothing_is_refused_and_not_stored(
    bench: Workbench, session: str, experiment: StepSearch, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        bench.experiments.begin(session, experiment)
    assert bench.store.experiments.of_session(session) == ()


def test_a_search_ends_at_the_sessions_budget(bench: Workbench, session: str) -> None:
    bench.store.sessions.set_settings(session, Settings(budget=Budget(calls=1)))
    replaced = [Replacement(step=step, worker="c") for step in range(3)]
    live = bench.experiments.begin(session, search(*replaced))
    ended(live)
    states = bench.experiments.states(live.record.id)
    assert sum(step.started_at is not None for state in states.values() for step in state.steps) <= AT_ONCE
    # The one whose only call came first, whichever that is.
    assert [state.status for state in states.values()].count("finished") <= 1
    assert "over_budget" in {state.status for state in states.values()}
