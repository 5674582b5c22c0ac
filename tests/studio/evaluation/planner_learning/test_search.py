"""A search finds a plan that no one wrote, tries few plans on many questions, and goes on where it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest

from conductor.errors import DataError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.computed import COMPUTED_WORKERS
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.execution.evaluation_run import Progress
from studio.evaluation.planner_learning.learning_folder import (
    LearningFolder,
    LearningSettings,
    read_state,
)
from studio.evaluation.planner_learning.planner_learning import PlannerLearning
from studio.evaluation.planner_learning.search import FINALISTS
from studio.evaluation.results import table_of_evaluation
from studio.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",), parallel=2)
PLANNERS = ("conductor", "worker:facts", "worker:sums")


def facts(request: Request) -> str:
    """Knows capitals, and what comes of a sum that it sees."""
    knows = "capital" in request.query or any(each.worker == "sums" for each in request.seen)
    return "Answer: yes" if knows else "Answer: no"


def sums(request: Request) -> str:
    return "Answer: 42"


@pytest.fixture
def workers() -> tuple[SimulatedWorker, ...]:
    return SimulatedWorker("facts", answer=facts, tokens=5), SimulatedWorker("sums", answer=sums, tokens=5)


@pytest.fixture
def bench(url: str, workers: tuple[SimulatedWorker, ...]) -> Iterator[Workbench]:
    with SessionStore.open(url) as store:
        bench = Workbench.over(store, pool=Pool(workers=workers), conductor=OfflineConductor())
        yield bench
        bench.close()


def learning(bench: Workbench, folder: Path, *, budget: Budget | None = None, **more: Any) -> PlannerLearning:
    def question(at: int) -> str:
        return f"Is {at} the capital number of a land?" if at % 2 else f"Add {at} and one, is that a sum?"

    data = DataSet("own", tuple(Item(id=f"q{at}", input=question(at), target=("yes",)) for at in range(40)))
    values: dict[str, Any] = {"use": "nearest", "planners": PLANNERS, "draws": 0, "plans": 50} | more
    settings = LearningSettings(data=data.name, digest=data.digest, method="search", **values)
    spec = SPEC.model_copy(update={"settings": Settings(budget=budget or Budget(), max_steps=3)})
    return PlannerLearning(bench, LearningFolder(folder, settings), data, spec, name="mine")


def calls(workers: Sequence[SimulatedWorker]) -> int:
    return sum(len(worker.requests) for worker in workers)


def test_a_chain_that_no_planner_wrote_is_found_and_plans_are_tried_on_few_questions(
    bench: Workbench, workers: Sequence[SimulatedWorker], tmp_path: Path
) -> None:
    learnt = learning(bench, tmp_path).learn()
    own, *others = learnt.card.exam
    assert (own.right, own.answers) == (20, 20)
    assert max(row.right for row in others) < 20
    chains = [plan for plan in learnt.plans if plan.workflow is not None and len(plan.workflow) > 1]
    assert any(
        [step.worker for step in plan.workflow.steps][-1] == "facts" for plan in chains if plan.workflow
    )
    # The file has plans that were tried on all questions, and no others.
    assert all(len(each.right) + len(each.wrong) == len(learnt.plans) for each in learnt.questions)
    record = bench.store.evaluations.find(learnt.card.evaluations[0])
    searched = [name for name in record.spec.planners if name.startswith("search:")]
    assert len(searched) == len(set(searched)) >= 50
    assert len(record.spec.whole) <= len(PLANNERS) + FINALISTS
    assert [row.planner for row in table_of_evaluation(bench.store, record).rows[:3]] == list(PLANNERS)
    assert record.spec.cells(20) == len(bench.store.evaluations.cells(record.id)) < 20 * len(searched)
    before = calls(workers)
    assert learning(bench, tmp_path).learn() == learnt
    assert calls(workers) == before


def test_a_model_writes_instructions_and_is_charged_for_them(
    url: str, workers: Sequence[SimulatedWorker], tmp_path: Path
) -> None:
    def ponders(request: Request) -> str:
        return "Answer: yes" if "Ponder" in request.instruction else "Answer: no"

    thinker = SimulatedWorker("thinker", answer=ponders, tokens=5)
    writer = SimulatedWorker("writer", answer="1. Ponder both sides.\n2. Count the lands.")
    with SessionStore.open(url) as store:
        pool = Pool(workers=(thinker, workers[0], writer))
        bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
        search = learning(
            bench, tmp_path, planners=("worker:thinker", "worker:facts"), reflector="writer", plans=240
        )
        assert search.between.endswith("; writer writes instructions in 8 calls")
        learnt = search.learn()
        bench.close()
    own = learnt.card.exam[0]
    assert (own.right, own.answers) == (20, 20)
    steps = [step for plan in learnt.plans if plan.workflow is not None for step in plan.workflow.steps]
    assert any("Ponder both sides." in step.instruction for step in steps)
    tasks = [request for request in writer.requests if "Write 6 other" in request.instruction]
    assert 0 < len(tasks) <= 8
    assert learnt.card.calls == calls((thinker, workers[0], writer))
    state = read_state(tmp_path)
    assert state is not None
    assert set(state.instructions.values()) == {("Ponder both sides.", "Count the lands.")}


def test_a_worker_that_calls_no_model_writes_no_instruction(bench: Workbench, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="calls no model and writes no instruction"):
        _ = learning(bench, tmp_path, reflector=min(COMPUTED_WORKERS)).between


def test_a_search_that_was_stopped_ends_as_one_that_was_not(bench: Workbench, tmp_path: Path) -> None:
    stop = Flag()

    def stop_soon(progress: Progress) -> None:
        if progress.done >= 75:
            stop.set()

    with pytest.raises(DataError, match="Learning was stopped"):
        learning(bench, tmp_path / "stopped").learn(listen=stop_soon, stop=stop)
    went_on = learning(bench, tmp_path / "stopped").learn()
    whole = learning(bench, tmp_path / "whole").learn()
    assert (went_on.plans, went_on.questions) == (whole.plans, whole.questions)


def test_a_budget_that_ends_in_a_search_leaves_the_best_so_far_and_more_goes_on(
    bench: Workbench, tmp_path: Path
) -> None:
    learnt = learning(bench, tmp_path, budget=Budget(calls=240)).learn()
    assert learnt.card.calls <= 240
    assert learnt.card.stopped is not None
    assert learnt.solved > 0
    assert all(len(each.right) + len(each.wrong) == len(learnt.plans) for each in learnt.questions)
    more = learning(bench, tmp_path).learn()
    assert more.card.exam[0].right == 20
    assert more.card.stopped is None


def test_without_plans_to_make_the_planner_has_those_that_were_drawn(
    bench: Workbench, tmp_path: Path
) -> None:
    learnt = learning(bench, tmp_path, plans=0).learn()
    assert {plan.origin for plan in learnt.plans} <= set(PLANNERS)
