"""A forecast counts once what planners have in common, and leaves unknown what is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor.errors import PlanError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.outlook import outlook
from studio.workbench import Workbench

pytestmark = pytest.mark.slow

ITEMS = tuple(Item(id=str(n), input=f"{n}?", target=(str(n),)) for n in range(20))
PLANNERS = ("worker:a", "worker:b", "baseline:vote", "baseline:moa:layers=2")


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    workers = tuple(SimulatedWorker(name, answer="Answer: 1") for name in ("a", "b"))
    bench = Workbench.over(SessionStore.open(url), pool=Pool(workers=workers), conductor=OfflineConductor())
    yield bench
    bench.close()


def test_shared_calls_are_counted_once_and_repeats_are_not_shared(bench):
    forecast = outlook(bench, ITEMS, PLANNERS, Settings())
    assert (forecast.calls, forecast.shared) == (20 * 3, 20 * 4)
    assert forecast.assumed
    assert forecast.cost is None, "no worker has a price"
    assert outlook(bench, ITEMS, PLANNERS, Settings(), repeats=3).calls == 3 * forecast.calls


@pytest.mark.thorough
def test_what_was_measured_replaces_what_is_assumed(bench):
    record = Evaluations(bench).add(
        DataSet("some", ITEMS[:3]), PLANNERS, EvaluationSpec(data="", digest="", planners=("conductor",))
    )
    progress = Evaluations(bench).run(record.id)
    forecast = outlook(bench, ITEMS[:3], PLANNERS, Settings())
    assert not forecast.assumed
    assert forecast.calls == 3 * 3
    assert forecast.tokens == progress.used.tokens, "shared calls are counted once"


def test_baselines_that_may_learn_are_forecast_by_the_plans_that_they_write_now(bench):
    forecast = outlook(
        bench, ITEMS, ("baseline:smoothie", "baseline:masrouter:mode=chain,agents=2"), Settings()
    )
    assert (forecast.calls, forecast.without) == (20 * (2 + 3), ())
    with pytest.raises(PlanError, match="plans by what it learnt"):
        outlook(bench, ITEMS, ("baseline:routerdc",), Settings())


def test_the_plan_of_a_model_is_unknown_before_it_was_measured(bench, monkeypatch):
    monkeypatch.setattr("studio.evaluation.outlook.OfflineConductor", type("Other", (), {}))
    forecast = outlook(bench, ITEMS, ("conductor", "worker:a"), Settings())
    assert forecast.without == ("conductor",)
    assert forecast.calls == 20
    record = Evaluations(bench).add(
        DataSet("some", ITEMS[:3]),
        ("conductor",),
        EvaluationSpec(data="", digest="", planners=("conductor",)),
    )
    Evaluations(bench).run(record.id)
    forecast = outlook(bench, ITEMS, ("conductor", "worker:a"), Settings())
    assert forecast.without == ()
    assert forecast.calls > 20


def test_an_unknown_planner_is_refused(bench):
    with pytest.raises(PlanError, match="There is no planner"):
        outlook(bench, ITEMS, ("baseline:nothing",), Settings())
