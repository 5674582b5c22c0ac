"""A worker judges the answers of an evaluation; what it cannot judge is unknown, and asked again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from errno import ENOSPC

import pytest

from conductor.errors import DataError, PoolError
from conductor.evaluation.evaluation_table import PlannerRow
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec, JudgeSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.scoring import UNJUDGED
from studio.evaluation.outlook import EvaluationOutlook, outlook
from studio.evaluation.results import scored_cells, table_of_evaluation
from studio.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

PLANNERS = ("worker:good", "worker:bad", "worker:copy")


def compares(request: Request) -> str:
    """A judge that believes an answer which holds the word "yes"."""
    answer = request.messages[0].content.rsplit(" begin\n", 1)[1]
    return f"Compared.\nVERDICT: {'right' if 'yes' in answer else 'wrong'}"


@pytest.fixture
def judge() -> SimulatedWorker:
    return SimulatedWorker("judge", answer=compares)


@pytest.fixture
def bench(url: str, judge: SimulatedWorker) -> Iterator[Workbench]:
    answers = {"good": "yes", "bad": "no", "copy": "yes"}
    workers = tuple(SimulatedWorker(name, answer=answer) for name, answer in answers.items())
    pool = Pool(workers=(*workers, judge))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    yield bench
    bench.close()


def data(count: int) -> DataSet:
    return DataSet("asked", tuple(_item(at) for at in range(count)))


def _item(at: int) -> Item:
    return Item(id=f"q{at}", input=f"Is {at} a number?", target=("yes",), scorer="judge")


def spec(judge: str | None = "judge", **settings: object) -> EvaluationSpec:
    return EvaluationSpec(
        data="",
        digest="",
        planners=PLANNERS,
        parallel=1,
        judge=None if judge is None else JudgeSpec(worker=judge),
        settings=Settings.model_validate(settings),
    )


def rows(bench: Workbench, evaluation: str) -> dict[str, PlannerRow]:
    table = table_of_evaluation(bench.store, bench.store.evaluations.find(evaluation))
    assert table.judge == "judge"
    return {row.planner: row for row in table.rows}


def test_equal_answers_are_judged_once_and_the_table_names_what_verdicts_took(bench, judge):
    record = Evaluations(bench).add(data(4), PLANNERS, spec())
    progress = Evaluations(bench).run(record.id)
    assert (progress.done, progress.failure) == (12, None)
    assert len(judge.requests) == 8, "the answer of copy is that of good"
    table = rows(bench, record.id)
    right = {planner: row.right for planner, row in table.items() if not row.computed}
    assert right == {"worker:good": 4, "worker:bad": 0, "worker:copy": 4}
    assert table["worker:good"].judging_tokens is not None
    assert table["worker:copy"].judging_tokens is None
    assert table["worker:good"].tokens == table["worker:copy"].tokens, "a judge's tokens are no planner's"
    cells = scored_cells(bench.store, record.id)
    assert sum(len(cell.result.judging) for cell in cells) == 8
    assert sum(cell.result.paid for cell in cells) == 12 + 8


def test_a_judge_without_verdicts_ends_the_evaluation_and_a_resumed_one_judges_what_is_left(bench, judge):
    judge.answer = "I would rather not say."
    record = Evaluations(bench).add(data(4), PLANNERS, spec())
    progress = Evaluations(bench).run(record.id)
    assert progress.failure == (
        f"The judge judge gave no verdict on {UNJUDGED} answers one after another: "
        "the judge's last line is no verdict: 'I would rather not say.'"
    )
    assert rows(bench, record.id)["worker:good"].questions == 0, "what is not judged is not wrong"
    judge.answer = compares
    answers = len(bench.pool["good"].requests)
    progress = Evaluations(bench).run(record.id)
    assert (progress.done, progress.failure) == (12, None)
    assert len(bench.pool["good"].requests) == 4
    assert answers == 2, "a question that was answered is not answered again"
    table = rows(bench, record.id)
    assert (table["worker:good"].right, table["worker:good"].questions) == (4, 4)
    assert table["worker:good"].verdicts.get("unjudged", 0) == 0
    first = scored_cells(bench.store, record.id)[0].result
    assert len(first.judging) == 2, "the call without a verdict was paid, too"


def test_what_could_not_be_scored_is_in_no_figure_and_a_resumed_evaluation_scores_it(bench, monkeypatch):
    item = Item(id="q", input="Write f.", target=("assert PROGRAM == 'yes'",), scorer="code")
    settings = spec(judge=None).model_copy(update={"allow_code": True, "planners": PLANNERS[:2]})
    record = Evaluations(bench).add(DataSet("asked", (item,)), PLANNERS[:2], settings)

    def full(**_: object) -> None:
        raise OSError(ENOSPC, "no space left")

    with monkeypatch.context() as failing:
        failing.setattr(tempfile, "gettempdir", full)
        assert Evaluations(bench).run(record.id).failure is None
    cells = scored_cells(bench.store, record.id)
    assert [(cell.result.score.verdict, "no space left" in cell.result.score.reason) for cell in cells] == [
        ("unjudged", True)
    ] * 2
    row = table_of_evaluation(bench.store, record).rows[0]
    assert (row.questions, row.accuracy, row.verdicts["unjudged"]) == (0, None, 1)
    Evaluations(bench).run(record.id)
    verdicts = {cell.planner: cell.result.score.verdict for cell in scored_cells(bench.store, record.id)}
    assert verdicts == {"worker:good": "right", "worker:bad": "wrong"}
    assert len(bench.pool["good"].requests) == 1, "it is not answered again"


def test_a_budget_that_a_verdict_would_cross_leaves_the_cell_for_later(bench, judge):
    record = Evaluations(bench).add(data(4), PLANNERS, spec(budget=Budget(tokens=400)))
    progress = Evaluations(bench).run(record.id)
    assert progress.failure is not None
    assert progress.failure.startswith("The budget is spent: ")
    assert 0 < progress.done < 12
    assert all(cell.result.score.is_known for cell in scored_cells(bench.store, record.id))


@pytest.mark.parametrize(
    ("named", "items", "error", "message"),
    [
        (None, data(1), DataError, "name the worker that judges with --judge"),
        ("nobody", data(1), PoolError, "nobody"),
        ("vote", data(1), DataError, "'vote' calls no model and judges nothing"),
        (
            "judge",
            DataSet("sums", (Item(id="1", input="1+1?", target=("2",)),)),
            DataError,
            "No question is scored by a judge",
        ),
    ],
)
def test_a_judge_that_is_missing_unknown_or_needless_is_refused(bench, named, items, error, message):
    with pytest.raises(error, match=message):
        Evaluations(bench).add(items, PLANNERS, spec(named))
    assert bench.store.evaluations.listed() == ()


@pytest.mark.parametrize(("changed", "comparable"), [(None, True), ("good", False)])
def test_tables_by_another_judge_cannot_be_compared(
    bench: Workbench, changed: str | None, comparable: bool
) -> None:
    one = Evaluations(bench).add(data(1), PLANNERS, spec()).spec
    other = Evaluations(bench).add(data(1), PLANNERS, spec(changed or "judge")).spec
    assert one.differences(other) == (() if comparable else ("the judge",))


def test_a_forecast_counts_the_judges_calls_and_what_they_take_once_it_was_measured(bench):
    def forecast(judge: str | None) -> EvaluationOutlook:
        return outlook(bench, data(2).items, PLANNERS, Settings(), judge=judge)

    before, without = forecast("judge"), forecast(None)
    assert (before.judged, before.calls, before.unmeasured) == (6, without.calls + 6, True)
    assert before.tokens == without.tokens
    record = Evaluations(bench).add(data(2), PLANNERS, spec())
    Evaluations(bench).run(record.id)
    after, without = forecast("judge"), forecast(None)
    assert not after.unmeasured
    tokens = [call.total for cell in scored_cells(bench.store, record.id) for call in cell.result.judging]
    assert after.tokens - without.tokens == round(6 * sum(tokens) / len(tokens))
