"""A planner learns which plans are right on one half of the questions, and is examined on the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest

from conductor.baselines.named import planner_named
from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.baselines.planner_file.planner_file import (
    BY_CATEGORY,
    PlannerFile,
    break_even,
    read_planner,
    write_planner,
)
from conductor.errors import DataError, PlanError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.evaluation.execution.evaluation_run import Progress
from studio.evaluation.planner_learning.learning_folder import LearningFolder, LearningSettings
from studio.evaluation.planner_learning.planner_learning import Halves, PlannerLearning
from studio.evaluation.results import find_evaluation, table_of_evaluation
from studio.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",), parallel=2)

PLANNERS = ("conductor", "worker:facts", "worker:sums")


def knows(*words: str) -> Callable[[Request], str]:
    """Answers right where a word is in the question."""

    def answer(request: Request) -> str:
        return "Answer: yes" if any(word in request.query for word in words) else "Answer: no"

    return answer


def data_of(count: int, *, categories: tuple[str, ...] = ()) -> DataSet:
    """Questions of two kinds in turn, with these `categories` in turn."""

    def question(at: int) -> str:
        return f"Is {at} the capital number of a land?" if at % 2 else f"Add {at} and one, is that a sum?"

    def metadata(at: int) -> dict[str, str]:
        return {"category": categories[at % len(categories)]} if categories else {}

    return DataSet(
        "own",
        tuple(
            Item(id=f"q{at}", input=question(at), target=("yes",), metadata=metadata(at))
            for at in range(count)
        ),
    )


@pytest.fixture
def workers() -> tuple[SimulatedWorker, ...]:
    return (
        SimulatedWorker("facts", answer=knows("capital"), tokens=5),
        SimulatedWorker("sums", answer=knows("Add"), tokens=5),
    )


@pytest.fixture
def bench(url: str, workers: tuple[SimulatedWorker, ...]) -> Iterator[Workbench]:
    with SessionStore.open(url) as store:
        bench = Workbench.over(store, pool=Pool(workers=workers), conductor=OfflineConductor())
        yield bench
        bench.close()


def learning(
    bench: Workbench,
    folder: Path,
    *,
    count: int = 40,
    budget: Budget | None = None,
    categories: tuple[str, ...] = (),
    **more: Any,
) -> PlannerLearning:
    data = data_of(count, categories=categories)
    values: dict[str, Any] = {"use": "nearest", "planners": PLANNERS, "draws": 0, "plans": 4} | more
    settings = LearningSettings(data=data.name, digest=data.digest, **values)
    limits = Settings() if budget is None else Settings(budget=budget)
    spec = SPEC.model_copy(update={"settings": limits})
    return PlannerLearning(bench, LearningFolder(folder, settings), data, spec, name="mine")


def calls(workers: Sequence[SimulatedWorker]) -> int:
    return sum(len(worker.requests) for worker in workers)


def test_it_learns_which_worker_is_right_on_what_and_is_examined_on_other_questions(
    bench: Workbench, tmp_path: Path
) -> None:
    notes: list[str] = []
    learnt = learning(bench, tmp_path / "mine").learn(note=notes.append)
    assert read_planner(tmp_path / "mine" / "planner.json") == learnt
    own, *others = learnt.card.exam
    assert (own.right, own.answers) == (20, 20)
    assert {row.planner: row.right for row in others if row.planner.startswith("worker:")} == {
        "worker:facts": sum("capital" in each.question for each in examined(learnt)),
        "worker:sums": sum("Add" in each.question for each in examined(learnt)),
    }
    assert (learnt.card.fit, learnt.card.held_out, learnt.card.stopped) == (20, 20, None)
    assert learnt.card.calls > 0
    assert notes[0] == "plans are tried on 20 questions"
    record = find_evaluation(bench.store, learnt.card.evaluations[1])
    rows = table_of_evaluation(bench.store, record).rows
    assert [row.p for row in others] == [row.difference and row.difference.adjusted for row in rows[1:]]
    # None of the questions that examine it taught it anything.
    exam = bench.store.evaluations.items(learnt.card.evaluations[1])
    assert not {item.question for item in exam} & {each.question for each in learnt.questions}


def examined(learnt: PlannerFile) -> Sequence[Item]:
    return Halves.of(data_of(40), held_out=0.5, seed=learnt.card.seed).held_out.items


def test_the_same_command_goes_on_where_it_was_stopped_and_calls_nothing_twice(
    bench: Workbench, workers: Sequence[SimulatedWorker], tmp_path: Path
) -> None:
    stop = Flag()

    def stop_soon(progress: Progress) -> None:
        if progress.done >= 10:
            stop.set()

    with pytest.raises(DataError, match="Learning was stopped; the same command goes on in"):
        learning(bench, tmp_path).learn(listen=stop_soon, stop=stop)
    learnt = learning(bench, tmp_path).learn()
    assert learnt.card.exam[0].right == 20
    before = calls(workers)
    assert learning(bench, tmp_path).learn() == learnt
    assert calls(workers) == before
    requests = [(worker.name, request) for worker in workers for request in worker.requests]
    # What was under way when it was stopped is no result.
    assert len(requests) - len(set(requests)) <= 4


@pytest.mark.parametrize(
    ("categories", "right"),
    [(("sum", "capital"), 20), (("sum", "sum", "capital", "capital"), None), (("all",), None), ((), None)],
    ids=["each has its plan", "no plan fits a category", "one category", "no categories"],
)
def test_the_best_plan_of_each_category_is_a_control_of_the_examination(
    bench: Workbench, tmp_path: Path, categories: tuple[str, ...], right: int | None
) -> None:
    learnt = learning(bench, tmp_path, categories=categories).learn()
    rows = [row for row in learnt.card.exam if row.planner == BY_CATEGORY]
    assert len(rows) == (len(set(categories)) > 1)
    assert all(row.answers == 20 and row.tokens for row in rows)
    assert right is None or [row.right for row in rows] == [right]
    # A control that no one can plan by is not what a planner is measured against.
    assert not any(BY_CATEGORY in line for line in break_even(learnt))


def test_a_budget_that_ends_in_the_middle_leaves_a_valid_planner(bench: Workbench, tmp_path: Path) -> None:
    learnt = learning(bench, tmp_path, budget=Budget(calls=30)).learn()
    assert learnt.card.calls <= 30
    assert learnt.card.stopped is not None
    assert learnt.solved > 0
    planner = planner_named(f"planner:{tmp_path / 'planner.json'}", bench.pool)
    assert isinstance(planner, FilePlanner)
    planner.check()
    # With more to spend the same learning goes on, and is examined again.
    more = learning(bench, tmp_path, budget=Budget(calls=1000)).learn()
    assert more.card.stopped is None
    assert more.solved == 20
    assert (more.card.exam[0].right, more.card.exam[0].answers) == (20, 20)


def test_corrections_stay_when_it_learns_again(bench: Workbench, tmp_path: Path) -> None:
    learnt = learning(bench, tmp_path).learn()
    workflow = Workflow.of([Step(instruction="Look it up.", worker="facts")])
    write_planner(learnt.corrected("Mine?", workflow, bench.pool.cards), tmp_path / "planner.json")
    again = learning(bench, tmp_path).learn()
    assert again.corrections == (("Mine?", workflow),)
    assert len(again.questions) == len(learnt.questions) + 1


@pytest.mark.parametrize("use", ["nearest", "prompt"])
def test_nothing_is_learnt_where_no_plan_is_right(url: str, tmp_path: Path, use: str) -> None:
    wrong = (SimulatedWorker("facts", answer="Answer: no"), SimulatedWorker("sums", answer="Answer: no"))
    with SessionStore.open(url) as store:
        bench = Workbench.over(store, pool=Pool(workers=wrong), conductor=OfflineConductor())
        with pytest.raises(DataError, match=r"No plan was right on any of 20 questions, so there is nothing"):
            learning(bench, tmp_path, use=use).learn()
        bench.close()
    assert not (tmp_path / "planner.json").exists()


def test_too_few_questions_and_another_learning_are_refused_before_any_call(
    bench: Workbench, workers: Sequence[SimulatedWorker], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="own has 19 questions; 20 are needed"):
        learning(bench, tmp_path / "few", count=19)
    learning(bench, tmp_path / "mine")._folder.note()
    with pytest.raises(DataError, match="holds a learning with other settings or questions"):
        learning(bench, tmp_path / "mine", count=30)
    folder = learning(bench, tmp_path / "mine")._folder
    with folder.held(), pytest.raises(DataError, match="Another process learns in"), folder.held():
        pass
    assert calls(workers) == 0


def test_a_pool_that_changed_since_is_refused(bench: Workbench, tmp_path: Path) -> None:
    learning(bench, tmp_path).learn()
    other = replace(bench.pool, workers=(SimulatedWorker("facts", seed=3), bench.pool.workers[1]))
    planner = planner_named(f"planner:{tmp_path / 'planner.json'}", other)
    assert isinstance(planner, FilePlanner)
    with pytest.raises(PlanError, match=r"its worker 'facts' is not the one of now\. Learn it again"):
        planner.check()


def test_plans_that_were_right_somewhere_are_tried_on_all_questions(bench: Workbench, tmp_path: Path) -> None:
    learnt = learning(bench, tmp_path, planners=("conductor",), draws=6, plans=3).learn()
    record = bench.store.evaluations.find(learnt.card.evaluations[0])
    tried = [name for name in record.spec.planners if name.startswith("tried:")]
    assert len(tried) == 3
    counts = [
        sum(plan in (*question.right, *question.wrong) for question in learnt.questions)
        for plan in range(len(learnt.plans))
    ]
    assert counts.count(len(learnt.questions)) >= 3
    assert {plan.origin for plan in learnt.plans} <= {
        "conductor",
        *(f"baseline:random:seed={seed}" for seed in range(6)),
    }
