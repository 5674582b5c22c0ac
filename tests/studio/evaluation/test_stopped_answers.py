"""What a person stops of an evaluation, all of it or one answer, is no result: least of all a failure."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.background import BackgroundEvaluations
from studio.evaluation.evaluations import Evaluations
from studio.workbench import Workbench
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",))


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    workers = (SimulatedWorker("quick", answer="7"), SimulatedWorker("slow", latency=3600))
    bench = Workbench.over(SessionStore.open(url), pool=Pool(workers=workers), conductor=OfflineConductor())
    yield bench
    bench.close()


@pytest.fixture
def background(bench: Workbench) -> Iterator[BackgroundEvaluations]:
    background = BackgroundEvaluations(bench)
    yield background
    background.close()


def added(bench: Workbench, *planners: str) -> str:
    items = (Item(id="1", input="1?", target=("7",)),)
    return Evaluations(bench).add(DataSet("sevens", items), planners, SPEC).id


def ended(
    bench: Workbench, background: BackgroundEvaluations, evaluation: str
) -> tuple[str, str | None, dict[str, str]]:
    """Its state and the reason of its end, with the verdicts by planner, once it goes on no more."""

    def state() -> str:
        return background.state(bench.store.evaluations.find(evaluation))

    until(lambda: state() not in ("waiting", "running"))
    cells = bench.store.evaluations.cells(evaluation)
    verdicts = {each.planner: each.result.score.verdict for each in cells if each.result is not None}
    return state(), bench.store.evaluations.find(evaluation).reason, dict(verdicts)


@pytest.mark.parametrize(
    ("planner", "part", "name"),
    [
        ("conductor", "plans", "begin"),
        ("conductor", "plans", "add"),
        ("worker:quick", "plans", "add"),
        ("worker:quick", "runs", "start"),
    ],
)
@pytest.mark.parametrize("done", [False, True])
def test_one_that_is_stopped_as_its_first_answer_begins_counts_nothing_of_it(  # noqa: PLR0917
    bench: Workbench,
    background: BackgroundEvaluations,
    monkeypatch: pytest.MonkeyPatch,
    planner: str,
    part: str,
    name: str,
    done: bool,
) -> None:
    start, may_end = Event(), Event()
    owner = getattr(bench.store, part)
    does = getattr(owner, name)

    def held(*arguments: Any, **named: Any) -> object:
        value = does(*arguments, **named) if done else None
        if not start.is_set():
            start.set()
            assert may_end.wait(60)
        return value if done else does(*arguments, **named)

    monkeypatch.setattr(owner, name, held)
    evaluation = added(bench, planner)
    background.begin(evaluation)
    assert start.wait(60)
    sessions = [cell.answered_in for cell in bench.store.evaluations.cells(evaluation)]
    background.stop(evaluation)
    for session in sessions:
        activity = bench.activities.activity(session)
        until(lambda activity=activity: activity is None or activity.stopped)  # type: ignore[misc]
    may_end.set()
    assert ended(bench, background, evaluation) == ("stopped", "It was stopped.", {})


def test_an_answer_that_a_person_stops_is_asked_for_again_and_has_not_failed(
    bench: Workbench, background: BackgroundEvaluations
) -> None:
    evaluation = added(bench, "worker:slow", "worker:quick")
    background.begin(evaluation)

    def runs() -> str | None:
        for cell in bench.store.evaluations.cells(evaluation):
            run = bench.store.runs.latest(cell.answered_in)
            if run is not None and run.status == "running":
                return cell.answered_in
        return None

    session = until(runs)
    assert session is not None
    bench.running.stop(session)
    assert ended(bench, background, evaluation) == ("stopped", "It was stopped.", {"worker:quick": "right"})
    background.begin(evaluation)
    assert until(runs) == session
