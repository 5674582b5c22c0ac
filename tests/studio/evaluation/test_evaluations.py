"""An evaluation answers each item once by each planner, pays a shared call once, and resumes where it
stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest

from conductor.baselines.fitted import WorkerResult, write_fitted
from conductor.errors import DataError, FormatError, PlanError, PoolError
from conductor.evaluation.evaluation_table import ROUTER, PlannerRow, disagreements
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.report.exports import as_csv, as_latex
from conductor.evaluation.report.remarks import remarks
from conductor.evaluation.spec import EvaluationSpec, FittedOn
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionFilter, SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.evaluation_run import HOPELESS, Progress
from studio.evaluation.fitting import fit_on, rows_of, trials_of
from studio.evaluation.results import find_evaluation, scored_cells, table_of_evaluation
from studio.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PLANNERS = ("worker:*", "baseline:vote", "baseline:smoothie", "baseline:moa:layers=2")
SPEC = EvaluationSpec(data="", digest="", planners=("conductor",), parallel=2)


def knows(*right: int) -> Callable[[Request], str]:
    """Answers "n?" by n where n is among these numbers."""

    def answer(request: Request) -> str:
        number = int(request.query.split("?")[0])
        return f"I think.\nAnswer: {number if number in right else -1}"

    return answer


@pytest.fixture
def workers() -> tuple[SimulatedWorker, ...]:
    return (
        SimulatedWorker("alpha", answer=knows(0, 1, 2)),
        SimulatedWorker("beta", answer=knows(0, 1, 3)),
        SimulatedWorker("gamma", answer=knows(0, 4)),
    )


@pytest.fixture
def bench(url: str, workers: tuple[SimulatedWorker, ...]) -> Iterator[Workbench]:
    with Closing(url, workers) as bench:
        yield bench


class Closing:
    """A workbench over the store at `url` that is closed at the end."""

    def __init__(self, url: str, workers: Sequence[SimulatedWorker]) -> None:
        pool = Pool(workers=tuple(workers))
        self.bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())

    def __enter__(self) -> Workbench:
        return self.bench

    def __exit__(self, *_: object) -> None:
        self.bench.close()


def data_of(count: int, **more: Any) -> DataSet:
    items = tuple(
        Item(
            id=f"q{n}",
            input=f"{n}?",
            target=(str(n),),
            metadata={"category": "even" if n % 2 == 0 else "odd"},
        )
        for n in range(count)
    )
    return DataSet("numbers", items, **more)


def begin(bench: Workbench, count: int, *planners: str, spec: EvaluationSpec = SPEC) -> str:
    return Evaluations(bench).add(data_of(count), planners or PLANNERS, spec).id


def rows_by_planner(bench: Workbench, evaluation: str) -> dict[str, PlannerRow]:
    table = table_of_evaluation(bench.store, bench.store.evaluations.find(evaluation))
    return {row.planner: row for row in table.rows}


def calls(workers: Sequence[SimulatedWorker]) -> list[str]:
    return [
        f"{worker.name}:{request.messages[-1].content}" for worker in workers for request in worker.requests
    ]


def test_every_planner_answers_every_item_and_the_table_has_its_figures(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    evaluation = begin(bench, 5)
    progress = Evaluations(bench).run(evaluation)
    assert (progress.done, progress.cells, progress.failure) == (30, 30, None)
    rows = rows_by_planner(bench, evaluation)
    right = {name: row.right for name, row in rows.items()}
    assert right == {
        "worker:alpha": 3, "worker:beta": 3, "worker:gamma": 2, "baseline:vote": 2,
        "baseline:smoothie": right["baseline:smoothie"], "baseline:moa:layers=2": 3, ROUTER: 5,
    }  # fmt: skip
    vote, alpha = rows["baseline:vote"], rows["worker:alpha"]
    assert (vote.calls.value, vote.steps.value, alpha.calls.value, alpha.steps.value) == (3, 4, 1, 1)
    assert vote.work_tokens is not None
    assert alpha.work_tokens is not None
    assert vote.work_tokens.value > alpha.work_tokens.value
    assert alpha.difference is None
    assert vote.difference is not None
    assert (vote.difference.first, vote.difference.second) == (0, 1)
    assert vote.workers == {"alpha": 5, "beta": 5, "gamma": 5, "vote": 5}
    table = table_of_evaluation(bench.store, find_evaluation(bench.store, evaluation[:6]))
    even = table.categories["even"]["worker:gamma"]
    assert (even.right, even.answers) == (2, 3)
    assert as_csv(table).splitlines()[0].startswith("planner,questions,answers,right,accuracy")
    assert r"baseline:vote & 0.400" in as_latex(table)


def test_calls_that_planners_have_in_common_are_made_once(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    """Calls made are the distinct fingerprints: three proposals and one aggregation for each question."""
    evaluation = begin(bench, 4)
    Evaluations(bench).run(evaluation)
    requests = calls(workers)
    assert len(requests) == 4 * (3 + 1)
    cells = scored_cells(bench.store, evaluation)
    outputs = [
        output
        for cell in cells
        for output in bench.store.runs.outputs(cell.session)
        if output.worker_kind != "offline"
    ]
    assert len({output.fingerprint for output in outputs}) == len(requests)
    assert sum(cell.result.paid for cell in cells) == len(requests)
    # A cell's session has what it reused, and needs no call to be run again.
    last = next(cell for cell in cells if cell.planner == "baseline:vote")
    bench.running.start(last.session)
    bench.activities.wait(last.session)
    assert len(calls(workers)) == len(requests)


def test_repeats_share_no_output(bench: Workbench, workers: Sequence[SimulatedWorker]) -> None:
    evaluation = begin(bench, 2, "worker:alpha", "baseline:vote", spec=SPEC.model_copy(update={"repeats": 3}))
    Evaluations(bench).run(evaluation)
    assert Counter(calls(workers)) == {f"{w}:{n}?": 3 for w in ("alpha", "beta", "gamma") for n in (0, 1)}


def test_a_stopped_evaluation_goes_on_and_answers_nothing_twice(
    url: str, workers: Sequence[SimulatedWorker]
) -> None:
    stop = Flag()
    with Closing(url, workers) as bench:
        evaluation = begin(bench, 6)
        progress = Evaluations(bench).run(
            evaluation, stop=stop, listen=lambda progress: stop.set() if progress.done >= 7 else None
        )
        assert 7 <= progress.done < 36
        assert bench.store.evaluations.find(evaluation).reason == "It was stopped."
    with Closing(url, workers) as bench:
        again = Evaluations(bench).run(evaluation)
        assert (again.done, again.failure) == (36, None)
        cells = bench.store.evaluations.cells(evaluation)
        assert len({cell.answered_in for cell in cells}) == len(cells) == 36
        assert bench.store.sessions.count(SessionFilter(evaluated=True)) == 36
        assert bench.store.sessions.count() == 0
        assert bench.store.sessions.newest(limit=5) == ()
        assert bench.store.evaluations.find(evaluation).reason is None
    assert len(calls(workers)) == 6 * 4


def test_an_interrupt_begins_nothing_more(bench: Workbench, workers: Sequence[SimulatedWorker]) -> None:
    def interrupted(_: Progress) -> None:
        raise KeyboardInterrupt

    evaluation = begin(bench, 20, "worker:alpha", "worker:beta", "worker:gamma")
    with pytest.raises(KeyboardInterrupt):
        Evaluations(bench).run(evaluation, listen=interrupted)
    assert len(calls(workers)) <= 2 * SPEC.parallel
    assert bench.store.evaluations.find(evaluation).ended_at is None


def test_a_cell_whose_process_died_goes_on_in_its_own_session(
    url: str, workers: Sequence[SimulatedWorker]
) -> None:
    with Closing(url, workers) as bench:
        evaluation = begin(bench, 1, "baseline:vote")
        store = bench.store.evaluations
        session = store.begin_cell(
            evaluation, item=0, planner="baseline:vote", repeat=0, query="0?",
            settings=Settings(planner="baseline:vote"), pool_label=None,
        )  # fmt: skip
        bench.planning.plan(session)
    with Closing(url, workers) as bench:
        Evaluations(bench).run(evaluation)
        (cell,) = bench.store.evaluations.cells(evaluation)
        assert cell.answered_in == session
        assert cell.result is not None
        assert cell.result.score.right
        assert len(bench.store.plans.of_session(session)) == 1
        owner = bench.store.evaluations.cell_of_session(session)
        assert owner == cell
    assert len(calls(workers)) == 3


def test_a_spent_budget_ends_it_with_what_there_is_and_a_higher_one_goes_on(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    spec = SPEC.model_copy(update={"settings": Settings(budget=Budget(tokens=40)), "parallel": 1})
    evaluation = begin(bench, 20, "worker:alpha", spec=spec)
    progress = Evaluations(bench).run(evaluation)
    assert progress.failure is not None
    assert progress.failure.startswith("The budget is spent: ")
    spent = len(calls(workers))
    assert 0 < progress.done <= spent < 20
    assert bench.store.evaluations.find(evaluation).reason == progress.failure
    assert rows_by_planner(bench, evaluation)["worker:alpha"].questions == progress.done
    assert Evaluations(bench).run(evaluation).done == progress.done
    assert len(calls(workers)) == spent
    progress = Evaluations(bench).run(evaluation, budget=Budget(tokens=10_000))
    assert (progress.done, progress.failure) == (20, None)


def test_a_planner_that_never_answers_ends_it_with_the_reason(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    workers[1].fail_on = ""
    evaluation = begin(bench, 30, "worker:alpha", "worker:beta", spec=SPEC.model_copy(update={"parallel": 1}))
    progress = Evaluations(bench).run(evaluation)
    assert progress.failure == (
        f"worker:beta answered none of the first {HOPELESS} questions: beta was set to fail on this call."
    )
    row = rows_by_planner(bench, evaluation)["worker:beta"]
    assert (row.questions, row.verdicts) == (HOPELESS, {"failed": HOPELESS})


def test_disagreements_are_pairs_of_cells_with_one_right(bench: Workbench) -> None:
    evaluation = begin(bench, 5, "worker:alpha", "worker:beta")
    Evaluations(bench).run(evaluation)
    pairs = disagreements(scored_cells(bench.store, evaluation), "worker:alpha", "worker:beta")
    assert [(left.item, left.result.score.right, right.result.score.right) for left, right in pairs] == [
        (2, True, False), (3, False, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("planners", "error", "reason"),
    [
        (["worker:delta"], PoolError, "delta"),
        (["baseline:nothing"], PlanError, "There is no planner"),
        (["worker:*", "baseline:routerdc"], PlanError, "plans by what it learnt"),
        (["baseline:routerdc:fitted=nowhere.json"], FormatError, "nowhere.json cannot be read"),
        (["worker:*", "worker:alpha"], DataError, "is named twice"),
    ],
)
def test_a_wrong_planner_is_refused_before_anything_is_stored(
    bench: Workbench, planners: list[str], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        begin(bench, 2, *planners)
    assert bench.store.evaluations.listed() == ()


def test_another_pool_than_that_of_the_beginning_is_refused(
    url: str, workers: Sequence[SimulatedWorker]
) -> None:
    with Closing(url, workers) as bench:
        evaluation = begin(bench, 2)
    others = (SimulatedWorker("alpha", answer="Answer: 1"), *workers[1:])
    with Closing(url, others) as bench, pytest.raises(DataError, match="The worker 'alpha' is not as it was"):
        Evaluations(bench).run(evaluation)


def test_what_differs_between_two_evaluations_is_named() -> None:
    other = SPEC.model_copy(update={"seed": 1, "digest": "x"})
    assert SPEC.differences(SPEC) == ()
    assert SPEC.differences(other) == ("the questions", "the order of choices (seed)")
    fitted = [
        SPEC.model_copy(update={"fitted": (FittedOn(planner=planner, digest=digest, questions=1),)})
        for planner, digest in (("a", "1"), ("a", "2"), ("b", "3"))
    ]
    assert fitted[0].differences(fitted[1]) == ("what a planner has learnt",)
    assert fitted[0].differences(fitted[2]) == fitted[0].differences(SPEC) == ()


def test_a_baseline_is_fitted_on_results_and_added_without_a_call_made_twice(
    bench: Workbench, workers: Sequence[SimulatedWorker], tmp_path: Path
) -> None:
    evaluation = begin(bench, 5, "worker:*")
    Evaluations(bench).run(evaluation)
    record = find_evaluation(bench.store, evaluation)
    rows = rows_of(bench.store, record, limit=3)
    assert len(rows) == 9
    assert rows[0] == WorkerResult(
        question="0?", worker="alpha", right=True, response="I think.\nAnswer: 0", tokens=rows[0].tokens,
        cost=rows[0].cost,
    )  # fmt: skip
    file = tmp_path / "router.json"
    write_fitted(fit_on(bench, record, "baseline:routerdc", limit=3), file)
    requests = calls(workers)
    name = f"baseline:routerdc:fitted={file}"
    with pytest.raises(DataError, match="has 'worker:alpha' already"):
        Evaluations(bench).extend(evaluation, ["worker:alpha"])
    added = Evaluations(bench).extend(evaluation, [name])
    (fitted,) = added.spec.fitted
    assert (fitted.planner, fitted.questions, fitted.seen) == (name, 3, (0, 1, 2))
    assert Evaluations(bench).run(evaluation).failure is None
    assert calls(workers) == requests
    row = rows_by_planner(bench, evaluation)[name]
    assert (row.questions, row.seen, row.calls.value) == (5, 3, 1)
    # What has learnt something else meanwhile is another planner.
    write_fitted(fit_on(bench, record, "baseline:routerdc:seed=1"), file)
    with pytest.raises(DataError, match="has changed since this evaluation began"):
        Evaluations(bench).run(evaluation)


def test_a_turn_that_a_later_round_repeats_is_counted_once(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    spec = SPEC.model_copy(update={"settings": Settings(rounds=3)})
    evaluation = begin(bench, 1, "baseline:trinity", spec=spec)
    assert Evaluations(bench).run(evaluation).failure is None
    row = rows_by_planner(bench, evaluation)["baseline:trinity"]
    # No verifier accepts: thinker, worker and verifier, then twice worker and verifier.
    assert (len(calls(workers)), row.calls.value) == (7, 7)
    assert row.shares == {"alpha": 3 / 7, "beta": 2 / 7, "gamma": 2 / 7}


def test_a_question_is_known_again_with_its_choices_in_another_order(bench: Workbench) -> None:
    items = tuple(
        Item(id=f"q{n}", input=f"{n}? of these", target=("A",), choices=("1", "2", "3", "4"))
        for n in range(4)
    )
    evaluations, data = Evaluations(bench), DataSet("choices", items)
    record = evaluations.add(data, ["worker:alpha", "worker:beta"], SPEC)
    evaluations.run(record.id)
    fitted = fit_on(bench, record, "baseline:smoothie", limit=2)
    other = [item.shuffled(seed=5) for item in items]
    assert [item.choices for item in other] != [item.shuffled(seed=0).choices for item in items]
    assert [fitted.saw(item.input) for item in other] == [True, True, False, False]


def test_masrouters_modes_are_learnt_from_its_groups_in_the_evaluation(bench: Workbench) -> None:
    groups = ("baseline:masrouter", "baseline:masrouter:seed=1", "baseline:masrouter:mode=chain")
    evaluation = begin(bench, 4, "worker:*", *groups)
    Evaluations(bench).run(evaluation)
    record = find_evaluation(bench.store, evaluation)
    trials = trials_of(bench.store, record, limit=3)
    assert Counter(trial.question for trial in trials) == {"0?": 2, "1?": 2, "2?": 2}
    assert all(trial.tokens for trial in trials)
    assert len({trial.mode for trial in trials}) > 1
    assert len(fit_on(bench, record, "baseline:masrouter", limit=3).parameters["modes"]) == 6


def test_a_worker_that_has_changed_is_not_fitted_on(url: str, workers: Sequence[SimulatedWorker]) -> None:
    with Closing(url, workers) as bench:
        evaluation = begin(bench, 2, "worker:*")
        Evaluations(bench).run(evaluation)
    others = (SimulatedWorker("alpha", answer="Answer: 1"), *workers[1:])
    with Closing(url, others) as bench:
        record = find_evaluation(bench.store, evaluation)
        with pytest.raises(DataError, match="The worker 'alpha' has changed since this evaluation"):
            fit_on(bench, record, "baseline:routerdc")


def test_what_cannot_be_fitted_is_refused(bench: Workbench, workers: Sequence[SimulatedWorker]) -> None:
    evaluation = begin(bench, 1, "worker:alpha")
    Evaluations(bench).run(evaluation)
    record = find_evaluation(bench.store, evaluation)
    with pytest.raises(DataError, match="fewer than two workers alone"):
        fit_on(bench, record, "baseline:routerdc")
    for planner in ("baseline:vote", "baseline:rules"):
        with pytest.raises(PlanError, match="learns nothing"):
            fit_on(bench, record, planner)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_sequential_evaluation_ends_once_it_is_decided_and_adds_nothing_when_resumed(
    url: str, workers: Sequence[SimulatedWorker], repeats: int
) -> None:
    workers[0].answer, workers[2].answer = knows(*range(120)), knows()
    with Closing(url, workers) as bench:
        spec = SPEC.model_copy(update={"sequential": True, "repeats": repeats})
        evaluation = begin(bench, 120, "worker:alpha", "worker:gamma", spec=spec)
        progress = Evaluations(bench).run(evaluation)
        assert progress.failure is None
        assert progress.done < progress.cells == 240 * repeats
        record = bench.store.evaluations.find(evaluation)
        assert record.reason is None
        table = table_of_evaluation(bench.store, record)
        alpha, gamma, _ = table.rows
        assert alpha.answers == gamma.answers == repeats * alpha.questions
        assert gamma.difference is not None
        assert gamma.difference.significant
        assert table.looks is not None
        assert table.looks.calls == 2 * repeats * (120 - table.looks.answered)
        words = f"Decided after {alpha.questions} of 120 questions: it saved about {table.looks.calls} calls."
        assert words in remarks(table)
    calls_before = len(calls(workers))
    with Closing(url, workers) as bench:
        assert Evaluations(bench).run(evaluation).done == progress.done
        assert len(calls(workers)) == calls_before


def test_a_sequential_evaluation_of_equal_planners_asks_everything(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    workers[0].answer = workers[2].answer = knows(*range(30))
    spec = SPEC.model_copy(update={"sequential": True})
    evaluation = begin(bench, 30, "worker:alpha", "worker:gamma", spec=spec)
    progress = Evaluations(bench).run(evaluation)
    assert (progress.done, progress.cells, progress.failure) == (60, 60, None)
