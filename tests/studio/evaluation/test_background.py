"""An evaluation goes on in the background of a server: one at a time, stopped and resumed from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from conductor.errors import DataError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.messages import Completion
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionFilter, SessionStore
from storage.records import CellRecord, EvaluationSize
from studio.evaluation.background import BackgroundEvaluations, State
from studio.evaluation.evaluations import Evaluations
from studio.workbench import Workbench
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",), parallel=2)


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    workers = (SimulatedWorker("quick", answer="7"), SimulatedWorker("slow", latency=30))
    bench = Workbench.over(SessionStore.open(url), pool=Pool(workers=workers), conductor=OfflineConductor())
    yield bench
    bench.close()


@pytest.fixture
def background(bench: Workbench) -> Iterator[BackgroundEvaluations]:
    background = BackgroundEvaluations(bench)
    yield background
    background.close()


def added(bench: Workbench, worker: str, count: int = 3) -> str:
    items = tuple(Item(id=str(n), input=f"{n}?", target=("7",)) for n in range(count))
    return Evaluations(bench).add(DataSet("sevens", items), [f"worker:{worker}"], SPEC).id


def state(bench: Workbench, background: BackgroundEvaluations, evaluation: str) -> State:
    return background.state(bench.store.evaluations.find(evaluation))


def test_it_runs_to_its_end_without_anybody_waiting(bench, background):
    evaluation = added(bench, "quick")
    assert state(bench, background, evaluation) == "interrupted", "nothing runs it yet"
    background.begin(evaluation)
    until(lambda: state(bench, background, evaluation) == "done")
    assert bench.store.evaluations.sizes()[evaluation] == EvaluationSize(questions=3, sessions=3, scored=3)


def test_one_runs_at_a_time_and_the_next_waits_or_leaves_the_line(bench, background):
    first, second, third = (added(bench, "slow"), added(bench, "quick"), added(bench, "quick"))
    for evaluation in (first, second, third):
        background.begin(evaluation)
    until(lambda: bench.store.evaluations.sizes()[first].sessions > 0)
    states = [state(bench, background, each) for each in (first, second, third)]
    assert states == ["running", "waiting", "waiting"]
    with pytest.raises(DataError, match="under way already"):
        background.begin(second)
    background.stop(third)
    assert state(bench, background, third) == "stopped"
    assert bench.store.evaluations.find(third).reason == "It was stopped."
    background.stop(first)
    until(lambda: state(bench, background, second) == "done")
    assert state(bench, background, first) == "stopped"


def test_a_stop_ends_what_is_under_way_and_counts_nothing_of_it(bench, background):
    evaluation = added(bench, "slow")
    background.begin(evaluation)
    until(lambda: bench.store.evaluations.sizes()[evaluation].sessions == 2)
    background.stop(evaluation)
    until(lambda: state(bench, background, evaluation) == "stopped")
    assert bench.store.evaluations.sizes()[evaluation].scored == 0
    # Another process goes on with it, in the sessions that were begun.
    background.begin(evaluation)
    assert state(bench, background, evaluation) in ("waiting", "running")


def test_a_stop_while_it_plans_counts_nothing_of_it(bench, background, monkeypatch):
    async def plans_for_ever(self, request):
        await asyncio.sleep(30)
        yield Completion(text="")

    monkeypatch.setattr(OfflineConductor, "stream", plans_for_ever)
    items = (Item(id="1", input="1?", target=("7",)),)
    evaluation = Evaluations(bench).add(DataSet("sevens", items), ["conductor"], SPEC).id
    background.begin(evaluation)
    until(lambda: any(bench.activities.live_plan(it.answered_in) for it in cells(bench, evaluation)))
    background.stop(evaluation)
    until(lambda: state(bench, background, evaluation) == "stopped")
    assert bench.store.evaluations.find(evaluation).reason == "It was stopped."
    assert [cell.result for cell in cells(bench, evaluation)] == [None]


def cells(bench: Workbench, evaluation: str) -> tuple[CellRecord, ...]:
    return bench.store.evaluations.cells(evaluation)


def test_an_error_is_the_reason_of_the_end(bench, background):
    evaluation = added(bench, "quick")
    other = Workbench.over(
        bench.store, pool=Pool(workers=(SimulatedWorker("other"),)), conductor=OfflineConductor()
    )
    elsewhere = BackgroundEvaluations(other)
    elsewhere.begin(evaluation)
    until(lambda: state(bench, elsewhere, evaluation) == "stopped")
    assert "'quick' is not as it was" in (bench.store.evaluations.find(evaluation).reason or "")
    elsewhere.close()
    other.background.close()


def test_a_deleted_evaluation_takes_its_sessions_with_it(bench, background):
    evaluation, other = added(bench, "quick"), added(bench, "quick", count=1)
    for each in (evaluation, other):
        background.begin(each)
    until(lambda: state(bench, background, other) == "done")
    assert bench.store.evaluations.delete(evaluation) == 3
    assert [record.id for record in bench.store.evaluations.listed()] == [other]
    assert set(bench.store.evaluations.sizes()) == {other}
    assert bench.store.sessions.count(SessionFilter(evaluated=True)) == 1
    assert bench.store.sessions.count(SessionFilter(evaluated=True, deleted=True)) == 3


def test_one_of_a_built_in_pool_goes_on_with_that_pool(bench, background):
    items = (Item(id="1", input="1?", target=("7",)),)
    evaluation = Evaluations(background.on("orchard")).add(DataSet("one", items), ["conductor"], SPEC).id
    background.begin(evaluation)
    until(lambda: state(bench, background, evaluation) == "done")
    assert bench.pool.names == ("quick", "slow")
