"""A fixed workflow is a planner: it is stored with the evaluation, and shares its calls with its variants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from conductor.errors import DataError, WorkflowError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.plan_sources import FixedPlan, WrittenPlans
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.messages import Request
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.edits import OtherWorker, WithoutAccess, WithoutEdge, WorkerReplaced
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import scored_cells, table_of_evaluation
from studio.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",), parallel=2)
CHAIN = Workflow.of(
    [
        Step(instruction="draft", worker="alpha"),
        Step(instruction="check", worker="beta", access=(0,)),
        Step(instruction="decide", worker="alpha", access=(0, 1)),
    ]
)
DATA = DataSet("numbers", tuple(Item(id=f"q{n}", input=f"{n}?", target=(str(n),)) for n in range(4)))


def _named(name: str) -> Callable[[Request], str]:
    """Answers with its name and the request's length, so that what it reads changes its answer."""
    return lambda request: (
        f"{name} {len(request.messages[-1].content)}\nAnswer: {request.query.split('?')[0]}"
    )


@pytest.fixture
def workers() -> tuple[SimulatedWorker, ...]:
    return tuple(SimulatedWorker(name, answer=_named(name)) for name in ("alpha", "beta", "gamma"))


@pytest.fixture
def bench(url: str, workers: Sequence[SimulatedWorker]) -> Iterator[Workbench]:
    pool = Pool(workers=tuple(workers))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    yield bench
    bench.close()


def _calls(workers: Sequence[SimulatedWorker]) -> int:
    return sum(len(worker.requests) for worker in workers)


def _session(bench: Workbench) -> str:
    session = bench.ask("What is it?").id
    bench.editing.edit(session, CHAIN, note="by hand")
    bench.editing.edit(session, CHAIN.with_access(2, (1,)), note="less access")
    return session


def test_a_sessions_workflow_is_a_planner_that_stays_when_the_session_changes(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    session = _session(bench)
    record = Evaluations(bench).add(DATA, [f"plan:{session[:8]}", f"plan:{session[:8]}@1"], SPEC)
    now, before = f"plan:{session[:8]}@2", f"plan:{session[:8]}@1"
    assert record.spec.planners == (now, before)
    assert record.spec.title_of(before) == "What is it?, revision 1"
    bench.editing.edit(session, CHAIN.with_worker(0, "gamma"), note="another worker")
    assert Evaluations(bench).run(record.id).failure is None
    rows = table_of_evaluation(bench.store, record).rows
    assert [(row.planner, row.right, row.steps.value, row.calls.value) for row in rows] == [
        (now, 4, 3, 3),
        (before, 4, 3, 3),
    ]
    # The drafts and checks are the same in both; each decides on its own.
    assert _calls(workers) == 4 * (3 + 1)
    cell = next(each for each in scored_cells(bench.store, record.id) if each.planner == now)
    head = bench.store.revisions.head(cell.session)
    assert head is not None
    assert (head.note, head.workflow) == ("What is it?, revision 2", CHAIN.with_access(2, (1,)))


def test_a_workflow_is_added_to_an_evaluation_and_reuses_what_was_called(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    session = _session(bench)
    first = Evaluations(bench).add(DATA, [f"plan:{session[:8]}@1"], SPEC)
    Evaluations(bench).run(first.id)
    calls_before = _calls(workers)
    file = FixedPlan.of("plan:flow.json", "flow.json", CHAIN.with_worker(2, "gamma"))
    added = Evaluations(bench).extend(first.id, [f"plan:{session[:8]}", file.name], given_plans=[file])
    assert added.spec.planners == (f"plan:{session[:8]}@1", f"plan:{session[:8]}@2", file.name)
    assert Evaluations(bench).run(first.id).failure is None
    # Each of the two decides on its own.
    assert _calls(workers) - calls_before == 4 * 2
    with pytest.raises(DataError, match=r"has 'plan:.*@2' already"):
        Evaluations(bench).extend(first.id, [f"plan:{session[:8]}"])
    missing = FixedPlan.of("plan:other.json", "other.json", CHAIN.with_worker(1, "delta"))
    with pytest.raises(WorkflowError, match="delta"):
        Evaluations(bench).extend(first.id, [missing.name], given_plans=[missing])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("plan:ffff", "There is no session 'ffff'"),
        ("plan:", "There is no session ''"),
        ("plan:{session}@7", "has no revision '7'; it has 1, 2"),
        ("plan:{empty}", "has no workflow yet"),
    ],
)
def test_an_unknown_session_or_revision_is_refused(bench: Workbench, name: str, reason: str) -> None:
    named = name.format(session=_session(bench), empty=bench.ask("Nothing yet").id)
    with pytest.raises(DataError, match=reason):
        Evaluations(bench).add(DATA, [named], SPEC)
    assert bench.store.evaluations.listed() == ()


def test_a_workflow_with_a_worker_that_the_pool_does_not_have_is_refused(bench: Workbench) -> None:
    plan = FixedPlan.of("plan:flow.json", "flow.json", CHAIN.with_worker(1, "delta"))
    with pytest.raises(WorkflowError, match="delta"):
        Evaluations(bench).add(DATA, [plan.name], SPEC, given_plans=[plan])


def test_variants_call_only_what_is_downstream_of_their_edit(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    plan = FixedPlan.of("plan:flow.json", "flow.json", CHAIN)
    edge, swap = WithoutEdge(read=0, reader=1), OtherWorker(step=2, worker="gamma")
    variants = [plan, plan.with_edits(edge), plan.with_edits(swap), plan.with_edits(edge, swap)]
    record = Evaluations(bench).add(DATA, [each.name for each in variants], SPEC, given_plans=variants)
    assert Evaluations(bench).run(record.id).failure is None
    # 3 as it is, 2 without the edge, 1 with the swap; with both 1, as the swapped step read another text.
    assert _calls(workers) == 4 * (3 + 2 + 1 + 1)
    outputs = {
        output.fingerprint
        for cell in scored_cells(bench.store, record.id)
        for output in bench.store.runs.outputs(cell.session)
    }
    assert len(outputs) == _calls(workers)


def test_the_plans_of_a_planner_are_run_again_without_a_call_and_edited_with_few(
    bench: Workbench, workers: Sequence[SimulatedWorker]
) -> None:
    first = Evaluations(bench).add(DATA, ["baseline:moa:layers=2"], SPEC)
    Evaluations(bench).run(first.id)
    calls_before = _calls(workers)
    assert calls_before == 4 * (3 + 1)
    plans = WrittenPlans.of(first.id, "baseline:moa:layers=2")
    none, swap = (
        plans.with_edits(WithoutAccess()),
        plans.with_edits(WorkerReplaced(worker="beta", by="gamma")),
    )
    again = Evaluations(bench).add(
        DATA, [plans.name, none.name, swap.name], SPEC, given_plans=[plans, none, swap]
    )
    assert Evaluations(bench).run(again.id).failure is None
    rows = table_of_evaluation(bench.store, again).rows
    assert [row.questions for row in rows] == [4, 4, 4]
    # Without access the aggregator is sent the question alone; with the swap there is a second sample of
    # gamma, and the aggregator reads another answer.
    assert _calls(workers) - calls_before == 4 * (1 + 2)
    assert rows[0].workers == {"alpha": 8, "beta": 4, "gamma": 4}
    # Of both proposals of gamma one had an output that was there; a run by itself calls each.
    assert rows[2].workers == {"alpha": 8, "gamma": 8}
    assert rows[2].calls.value == 4


def test_a_plan_that_was_not_valid_has_none_and_plans_that_are_gone_end_it(bench: Workbench) -> None:
    first = Evaluations(bench).add(DATA, ["worker:alpha"], SPEC)
    store = bench.store.evaluations
    for item in range(2):
        store.begin_cell(
            first.id, item=item, planner="worker:alpha", repeat=0, query=f"{item}?",
            settings=SPEC.settings, pool_label=None,
        )  # fmt: skip
    plans = WrittenPlans.of(first.id, "worker:alpha")
    spec = SPEC.model_copy(update={"parallel": 1})
    again = Evaluations(bench).add(DATA, [plans.name], spec, given_plans=[plans])
    progress = Evaluations(bench).run(again.id)
    assert progress.failure is not None
    assert "The plan that worker:alpha wrote for question 3 is gone" in progress.failure
    assert [cell.result.score.verdict for cell in scored_cells(bench.store, again.id)] == ["no plan"] * 2
