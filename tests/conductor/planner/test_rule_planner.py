"""The rule planner gives a query one of three shapes, chooses workers by their cards, and reads at once."""

from __future__ import annotations

import pytest

from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import plan
from conductor.planner.rule_planner import OfflineConductor, rule_for
from conductor.runs.events import PlanRejected, WorkflowPlanned
from conductor.values.conversation import MAX_QUERY
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.pool.pool import Pool, orchard_pool
from conductor.workers.protocol import Worker
from conductor.workers.python_worker import PythonWorker
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Topology, Workflow
from tests.support.cases.reading_work import patience, work

SUM = ("calculation", "single", ["calculator"])
COMPARE_2 = ("comparison", "fan-out", ["alpha", "beta", "alpha"])
COMPARE_3 = ("comparison", "fan-out", ["alpha", "beta", "alpha", "beta"])
HARD = ("hard problem", "planner-executor-verifier", ["alpha", "beta", "alpha"])
ONE = ("one step", "single", ["alpha"])

MIXED = Pool(
    workers=(
        SimulatedWorker(name="alpha", strengths="short answers"),
        Calculator(),
        SimulatedWorker(name="beta", strengths="hard code, proofs"),
    )
)


async def planned(query: str, *, pool: Pool = MIXED, max_steps: int = 5) -> WorkflowPlanned:
    cards = tuple(worker.card for worker in pool.workers)
    request = PlanRequest(query=query, workers=cards, max_steps=max_steps)
    events = [event async for event in plan(request, conductor=OfflineConductor(), run="p")]
    end = events[-1]
    assert isinstance(end, WorkflowPlanned | PlanRejected)
    assert end.report.ok, end.report.problems
    assert isinstance(end, WorkflowPlanned)
    return end


def workflow_in(event: WorkflowPlanned) -> Workflow:
    assert event.report.workflow is not None
    return event.report.workflow


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("2 + 2", SUM),
        ("What is 17 * 23?", SUM),
        ("Calculate 15% of 240", SUM),
        ("How many km are 5 miles?", SUM),
        ("What day of the week was 4 July 1776?", SUM),
        ("What is 1 / 0?", SUM),
        ("Compare the capitals of France and Germany.", COMPARE_2),
        ("What is the difference between Norway and Sweden?", COMPARE_2),
        ("How do France and Germany differ?", COMPARE_2),
        ("Python versus Rust: which is faster?", COMPARE_2),
        ("Compare France, Japan and Brazil", COMPARE_3),
        ("Compare France, Germany and Italy by area, age and language", COMPARE_3),
        ("x + y = 10 and x - y = 2", HARD),
        ("Solve 2x + 3 = 7 step by step", HARD),
        ("Prove that the sum of two even numbers is even.", HARD),
        ("Plan a birthday party for ten children", HARD),
        ("A farmer has 17 sheep and buys 5 more. How many sheep does he have?", HARD),
        ("What is the capital of France?", ONE),
        ("Write a poem about France", ONE),
        ("What happened on 2024-05-06?", ONE),
        ("Compare prices", ONE),
        ("Hello!", ONE),
    ],
)
async def test_a_query_gets_its_rule_and_shape(query: str, expected: tuple[str, Topology, list[str]]) -> None:
    event = await planned(query)
    rule, topology, workers = expected
    workflow = workflow_in(event)
    assert event.report.reasoning.startswith(f"Rule: {rule}. ")
    assert (workflow.topology, [step.worker for step in workflow.steps]) == (topology, workers)


@pytest.mark.parametrize(
    ("query", "worker"),
    [
        ("Write code that sorts a list.", "beta"),
        ("Give a short answer: why is the sky blue?", "alpha"),
        ("Who wrote Faust?", "alpha"),
    ],
)
async def test_one_step_goes_to_the_worker_whose_strengths_share_most_words(query: str, worker: str) -> None:
    assert workflow_in(await planned(query)).steps[0].worker == worker


@pytest.mark.parametrize(
    ("query", "worker"), [("What is 3 + 4?", "solver"), ("Count the letters of 'harbour'.", "letters")]
)
async def test_without_a_calculator_a_calculation_goes_by_strengths_too(query: str, worker: str) -> None:
    assert workflow_in(await planned(query, pool=orchard_pool())).steps[0].worker == worker


async def test_one_step_repeats_a_short_question_and_refers_to_a_long_one() -> None:
    (short,) = workflow_in(await planned("Who wrote\n Faust?")).steps
    (long,) = workflow_in(await planned("Who wrote this: " + "la " * 200)).steps
    assert (short.instruction, long.instruction) == ("Who wrote Faust?", "Answer the question.")


@pytest.mark.parametrize(
    ("workers", "taking"),
    [
        ((Calculator(),), "calculator"),
        ((PythonWorker(), Calculator()), "calculator"),
        ((PythonWorker(), SimulatedWorker(name="alpha")), "alpha"),
        ((PythonWorker(),), "python"),
    ],
)
async def test_a_worker_that_computes_takes_steps_only_where_no_model_can(
    workers: tuple[Worker, ...], taking: str
) -> None:
    workflow = workflow_in(await planned("Compare France and Peru", pool=Pool(workers=workers)))
    assert {step.worker for step in workflow.steps} == {taking}


async def test_by_what_things_are_compared_is_sent_to_every_step_and_the_last_reads_all() -> None:
    workflow = workflow_in(await planned("Compare France and Germany by currency and area."))
    assert [step.instruction for step in workflow.steps] == [
        "Describe France by currency and area.",
        "Describe Germany by currency and area.",
        "Compare France and Germany by currency and area: merge the answers into one, point by point.",
    ]
    assert [step.access for step in workflow.steps] == [(), (), (0, 1)]


@pytest.mark.parametrize("max_steps", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("query", ["Compare France, Italy, Spain and Peru", "x + y = 3, x - y = 1", "2 + 2"])
async def test_a_plan_keeps_within_the_limit(query: str, max_steps: int) -> None:
    assert len(workflow_in(await planned(query, max_steps=max_steps))) <= max_steps


@pytest.mark.parametrize(
    "query",
    [
        "word " * 10_000,
        "9" * MAX_QUERY,
        "x=" * 25_000,
        "how do " * 7_000,
        "compare " + "of " * 16_000,
        "compare " + "a and b by " * 4_500,
        "compare " + "by " * 16_000,
        "1" + " " * 49_000 + "2",
        ", " * 25_000,
        'prove "]]]" \\ \' """ <think> model_id = [9]',
        "\ud800 + 2",
    ],
    ids=lambda query: query[:12].encode("ascii", "replace").decode(),
)
async def test_any_query_is_planned(query: str) -> None:
    with patience():
        await planned(query)


@pytest.mark.slow
@pytest.mark.parametrize("repeated", ["word ", "x=", "how do ", "compare ", "by ", ", ", "9", " ", "\n"])
def test_of_a_long_query_the_rules_read_no_more_than_of_a_short_one(repeated: str) -> None:
    def ruled(length: int) -> int:
        query = (repeated * length)[:length]
        return work(lambda: rule_for(query, max_steps=5), package="conductor.planner")

    ruled(MAX_QUERY)  # the first query pays for the grammar
    assert ruled(MAX_QUERY) < 1.1 * ruled(MAX_QUERY // 10)


def test_the_same_query_gives_the_same_ruling() -> None:
    assert rule_for("2 + 2", max_steps=5) == rule_for("  2 +\n 2 ", max_steps=5)
