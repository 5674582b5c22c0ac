"""Trials on data: a forecast that holds, calls made once, measured combinations, plans tried again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from conductor.errors import DataError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.plan_sources import FixedPlan, WrittenPlans
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.trials import cheapest_variant, evaluation_trials
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.values.messages import Request
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.edits import edit_words
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.evaluation_run import HOPELESS
from studio.evaluation.results import scored_cells
from studio.evaluation.trials import VariantKinds, plan_variants_of, trial_forecast, variants_of
from studio.workbench import Workbench

pytestmark = pytest.mark.thorough

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",), parallel=1, margin=0.5)
PLAN = FixedPlan.of(
    "plan:flow.json",
    "flow.json",
    Workflow.of(
        [
            Step(instruction="draft", worker="alpha"),
            Step(instruction="check", worker="beta", access=(0,)),
            Step(instruction="decide", worker="alpha", access=(0, 1)),
        ]
    ),
)


def _data(count: int) -> DataSet:
    return DataSet("numbers", tuple(Item(id=f"q{n}", input=f"{n}?", target=(str(n),)) for n in range(count)))


def _named(name: str) -> Callable[[Request], str]:
    """Answers with the whole request, so that each different request has a different answer."""

    def answer(request: Request) -> str:
        content = " ".join(message.content for message in request.messages)
        return f"{name} {hash(content)}\nAnswer: {request.query.split('?')[0]}"

    return answer


@pytest.fixture
def workers() -> tuple[SimulatedWorker, ...]:
    return tuple(SimulatedWorker(name, answer=_named(name)) for name in ("alpha", "beta"))


@pytest.fixture
def bench(url: str, workers: Sequence[SimulatedWorker]) -> Iterator[Workbench]:
    pool = Pool(workers=tuple(workers))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    yield bench
    bench.close()


def _calls(workers: Sequence[SimulatedWorker]) -> int:
    return sum(len(worker.requests) for worker in workers)


@pytest.mark.slow
def test_a_trial_makes_the_calls_of_its_forecast_and_measures_the_combination_that_it_suggests(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    data = _data(8)
    plans = variants_of(PLAN, bench.pool.names, VariantKinds())
    assert [edit_words(plan.edits) for plan in plans] == [
        "as it is", "without 1 → 2", "without 1 → 3", "without 2 → 3", "without step 1", "without step 2",
        "without step 3", "step 1 by beta", "step 2 by alpha", "step 3 by beta",
    ]  # fmt: skip
    whole = trial_forecast(bench, data.items, plans)
    assert (whole.questions, whole.held_out) == (8, 0)
    forecast = trial_forecast(bench, data.items, plans, searches=True)
    assert (forecast.questions, forecast.held_out, forecast.variants) == (4, 4, 10)
    confirming = 4 * 2 * 3
    assert forecast.new + forecast.reused == 4 * (7 * 3 + 3 * 2) + confirming
    record = Evaluations(bench).add(data, [plan.name for plan in plans], SPEC, given_plans=plans)
    singles = Evaluations(bench)
    progress = singles.run(record.id)
    assert progress.failure is None
    spec = bench.store.evaluations.find(record.id).spec
    cells = scored_cells(bench.store, record.id)
    search = cheapest_variant(evaluation_trials(spec, cells), PLAN.workflow)
    assert search.next is None
    best = search.best
    assert best is not None
    assert not best.single
    assert best.planner in {cell.planner for cell in cells}
    # One step answers these questions as well as three.
    assert len(PLAN.with_edits(*best.edits).edited) == 1
    combined = [cell for cell in cells if len(spec.given[spec.planners.index(cell.planner)].edits) > 1]
    searching = forecast.new - confirming + sum(cell.result.paid for cell in combined)
    held = [cell for cell in cells if spec.holds_out(cell.item)]
    assert {cell.planner for cell in held} == {spec.planners[0], spec.confirmed} == {PLAN.name, best.planner}
    confirmation = evaluation_trials(spec, cells).confirmation
    assert confirmation is not None
    assert (confirmation.planner, confirmation.not_worse) == (spec.confirmed, True)
    # What is confirmed was counted as a combination already, where it called anything.
    paid = sum(cell.result.paid for cell in held if cell not in combined)
    assert paid <= confirming
    assert _calls(workers) == searching + paid
    outputs = {output.fingerprint for cell in cells for output in bench.store.runs.outputs(cell.session)}
    assert len(outputs) == _calls(workers)
    # Nothing is left to do: neither a cell nor a combination.
    assert Evaluations(bench).run(record.id).done == progress.done
    assert len(outputs) == _calls(workers)


@pytest.mark.slow
def test_a_trial_ends_where_its_budget_is_spent_and_goes_on_with_another(bench: Workbench) -> None:
    plans = variants_of(PLAN, bench.pool.names, VariantKinds(workers=False))
    settings = SPEC.settings.model_copy(update={"budget": Budget(calls=14)})
    spec = SPEC.model_copy(update={"settings": settings})
    record = Evaluations(bench).add(_data(8), [plan.name for plan in plans], spec, given_plans=plans)
    progress = Evaluations(bench).run(record.id)
    assert progress.failure is not None
    assert len(bench.store.evaluations.find(record.id).spec.planners) == len(plans)
    assert Evaluations(bench).run(record.id, budget=Budget(calls=1000)).failure is None
    assert len(bench.store.evaluations.find(record.id).spec.planners) > len(plans)


@pytest.mark.slow
def test_a_variant_that_answers_nothing_is_shown_as_such_and_ends_no_trial(bench: Workbench) -> None:
    vote = Step(instruction="Vote.", worker="vote", access=(0,))
    plan = FixedPlan.of("plan:vote.json", "vote.json", Workflow.of([PLAN.workflow.steps[0], vote]))
    plans = variants_of(plan, (), VariantKinds(steps=False))
    record = Evaluations(bench).add(
        _data(2 * (HOPELESS + 1)), [each.name for each in plans], SPEC, given_plans=plans
    )
    assert Evaluations(bench).run(record.id).failure is None
    (row,) = evaluation_trials(record.spec, scored_cells(bench.store, record.id)).rows
    assert row.accuracy is not None
    assert (row.accuracy.difference, row.accuracy.questions) == (-1, HOPELESS + 1)


@pytest.mark.slow
def test_the_plans_of_a_planner_are_tried_with_less_access_and_other_workers(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    settings = SPEC.model_copy(update={"margin": None})
    first = Evaluations(bench).add(_data(4), ["baseline:moa:layers=2", "worker:alpha"], settings)
    Evaluations(bench).run(first.id)
    calls_before = _calls(workers)
    base = WrittenPlans.of(first.id, "baseline:moa:layers=2")
    plans = plan_variants_of(base, bench.pool.names, VariantKinds())
    items = bench.store.evaluations.items(first.id)
    forecast = trial_forecast(bench, items, plans)
    record = Evaluations(bench).add_on(first, plans, margin=0.5)
    assert record.spec.digest == first.spec.digest
    assert Evaluations(bench).run(record.id).failure is None
    assert _calls(workers) - calls_before == forecast.new
    rows = evaluation_trials(
        bench.store.evaluations.find(record.id).spec, scored_cells(bench.store, record.id)
    ).rows
    assert [edit_words(row.edits) for row in rows] == [
        "without any access", "without the final step's access", "without edges that repeat a longer way",
        "beta for alpha", "alpha for beta",
    ]  # fmt: skip
    assert all(row.accuracy is not None and row.accuracy.questions == 4 for row in rows)
    rounds = first.spec.model_copy(update={"settings": SPEC.settings.model_copy(update={"rounds": 2})})
    with pytest.raises(DataError, match="several rounds"):
        Evaluations(bench).add_on(first.model_copy(update={"spec": rounds}), plans)


@pytest.mark.slow
def test_a_workflow_without_a_variant_is_refused(bench: Workbench) -> None:
    single = FixedPlan.of("plan:one.json", "one", Workflow.of(PLAN.workflow.steps[:1]))
    with pytest.raises(DataError, match="nothing to try"):
        variants_of(single, ("alpha",), VariantKinds())
    many = FixedPlan.of("plan:many.json", "many", Workflow.of([Step(instruction="it", worker="w0")] * 11))
    with pytest.raises(DataError, match="at most 200"):
        variants_of(many, [f"w{n}" for n in range(21)], VariantKinds())
