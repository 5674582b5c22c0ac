"""An evaluation that others answer, who may be lost: each cell is answered and counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from threading import Event as Flag

import pytest

from conductor.errors import DataError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.report.exports import row_values
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.crew import Part, Unit
from studio.evaluation.execution.evaluation_run import HOPELESS, STOPPED, Progress
from studio.evaluation.results import table_of_evaluation
from studio.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

ITEMS = 6
PLANNERS = ("worker:even", "worker:all")
SPEC = EvaluationSpec(data="", digest="", planners=PLANNERS, parallel=2)


class OtherThreads:
    """Answers through the same store, two units a part. The process of a part in `lost` stores its answers
    and reports nothing; where it has a successor, that is given the part. Fails after the part `failing`.
    """

    def __init__(
        self,
        bench: Workbench,
        *,
        lost: Sequence[int] = (),
        successor: bool = True,
        failure: str | None = None,
        failing: int = 0,
    ) -> None:
        self._bench, self._lost, self._successor = bench, lost, successor
        self._failure, self._failing = failure, failing
        self.units: list[Unit] = []

    def answer(
        self, evaluation: str, units: Sequence[Unit], *, parallel: int, over: Callable[[], bool]
    ) -> Iterator[Part]:
        assert parallel == SPEC.parallel
        for part in range(0, len(units), 2):
            if over():
                return
            batch = units[part : part + 2]
            self.units += batch
            answered = Evaluations(self._bench).answer(evaluation, batch, stop=Flag())
            if part // 2 in self._lost:
                answered = Evaluations(self._bench).answer(evaluation, batch, stop=Flag())
            if part // 2 not in self._lost or self._successor:
                yield answered
            if self._failure is not None and part // 2 == self._failing:
                yield Part(failure=self._failure)


@pytest.fixture
def counts() -> Counter[str]:
    return Counter()


@pytest.fixture
def bench(url: str, counts: Counter[str]) -> Iterator[Workbench]:
    def answer(request: Request) -> str:
        counts[request.query] += 1
        number = int(request.query.split("?")[0])
        return f"Answer: {number if number % 2 == 0 else -1}"

    workers = (SimulatedWorker("even", answer=answer), SimulatedWorker("all", answer=lambda r: r.query[0]))
    bench = Workbench.over(SessionStore.open(url), pool=Pool(workers=workers), conductor=OfflineConductor())
    yield bench
    bench.close()


def begin(bench: Workbench, spec: EvaluationSpec = SPEC) -> str:
    items = tuple(Item(id=f"q{n}", input=f"{n}?", target=(str(n),)) for n in range(ITEMS))
    return Evaluations(bench).add(DataSet("numbers", items), PLANNERS, spec).id


def test_a_crew_that_loses_a_process_gives_the_table_of_a_single_process(
    bench: Workbench, counts: Counter[str]
) -> None:
    here, there = begin(bench), begin(bench)
    Evaluations(bench).run(here)
    seen: list[Progress] = []
    crew = OtherThreads(bench, lost=(1,))
    progress = Evaluations(bench).run(there, crew=crew, listen=seen.append)
    assert (progress.failure, progress.done) == (None, ITEMS * 2)
    assert [each.done for each in seen] == list(range(1, ITEMS * 2 + 1))
    assert progress.right == {"worker:even": 3, "worker:all": 6}
    assert set(counts.values()) == {2}, "each evaluation asks a question once"
    own, others = (
        [
            {name: value for name, value in row_values(row).items() if name != "seconds"}
            for row in table_of_evaluation(bench.store, bench.store.evaluations.find(id)).rows
        ]
        for id in (here, there)
    )
    assert own == others


@pytest.mark.parametrize("failure", [None, "No machine is left."])
def test_an_evaluation_whose_answers_are_all_stored_is_complete_whatever_was_reported(
    bench: Workbench, failure: str | None
) -> None:
    evaluation = begin(bench)
    crew = OtherThreads(bench, lost=(2,), successor=False, failure=failure, failing=2)
    progress = Evaluations(bench).run(evaluation, crew=crew)
    assert (progress.failure, progress.done) == (None, ITEMS * 2)
    assert progress.right == {"worker:even": 3, "worker:all": 6}
    assert bench.store.evaluations.find(evaluation).reason is None


def test_a_crew_is_given_only_what_is_missing(bench: Workbench) -> None:
    evaluation = begin(bench)
    Evaluations(bench).answer(evaluation, [(0, 0), (3, 0)], stop=Flag())
    crew = OtherThreads(bench)
    assert Evaluations(bench).run(evaluation, crew=crew).done == ITEMS * 2
    assert crew.units == [(1, 0), (2, 0), (4, 0), (5, 0)]


def test_a_crew_that_can_go_on_no_more_ends_the_evaluation_with_its_reason(bench: Workbench) -> None:
    evaluation = begin(bench)
    progress = Evaluations(bench).run(evaluation, crew=OtherThreads(bench, failure="No machine is left."))
    assert (progress.failure, progress.done) == ("No machine is left.", 4)
    assert bench.store.evaluations.find(evaluation).reason == "No machine is left."
    assert Evaluations(bench).run(evaluation).failure is None


def test_an_evaluation_that_is_stopped_gives_a_crew_nothing(bench: Workbench) -> None:
    stop, crew = Flag(), OtherThreads(bench)
    stop.set()
    assert Evaluations(bench).run(begin(bench), crew=crew, stop=stop).failure == STOPPED
    assert crew.units == []


def test_a_hopeless_planner_ends_the_evaluation_of_a_crew(url: str) -> None:
    def fail(request: Request) -> str:
        raise RuntimeError(f"no answer to {request.query}")

    workers = (SimulatedWorker("even", answer=fail), SimulatedWorker("all", answer=lambda r: r.query[0]))
    bench = Workbench.over(SessionStore.open(url), pool=Pool(workers=workers), conductor=OfflineConductor())
    try:
        progress = Evaluations(bench).run(begin(bench), crew=OtherThreads(bench))
    finally:
        bench.close()
    assert progress.failure is not None
    assert f"worker:even answered none of the first {HOPELESS} questions" in progress.failure


def test_a_budget_is_not_handed_to_a_crew(bench: Workbench) -> None:
    limited = SPEC.model_copy(update={"settings": Settings(budget=Budget(calls=5))})
    crew = OtherThreads(bench)
    with pytest.raises(DataError, match="budget"):
        Evaluations(bench).run(begin(bench, limited), crew=crew)
    with pytest.raises(DataError, match="budget"):
        Evaluations(bench).run(begin(bench), crew=crew, budget=Budget(calls=5))
    assert crew.units == []
