"""The offline planner's rules give natural queries the shape a person would expect, and read at once."""

from __future__ import annotations

import pytest
from reading_work import patience, work

from conductor.events import PlanRejected, WorkflowPlanned
from conductor.planner.comparison import compared
from conductor.planner.conductor import PlanRequest
from conductor.planner.offline import OfflineConductor, rule_for
from conductor.planner.planner import MAX_QUERY, plan
from conductor.workers.pool import Pool, offline_pool
from conductor.workflow import MAX_STEPS, Topology, Workflow

FACT = ("fact", "single", ["facts"])
COMPARE_2 = ("comparison", "fan-out", ["facts", "facts", "text"])
COMPARE_3 = ("comparison", "fan-out", ["facts", "facts", "facts", "text"])
COMPARE_4 = ("comparison", "fan-out", ["facts", "facts", "facts", "facts", "text"])
SUM = ("calculation", "chain", ["mathematics", "checker"])
PROOF = ("proof", "chain", ["mathematics", "checker"])
HARD = ("hard problem", "planner-executor-verifier", ["mathematics", "mathematics", "checker"])
SUMMARY = ("summary", "single", ["text"])
NONE = ("none fits", "single", ["text"])


async def planned(query: str, *, pool: Pool | None = None, max_steps: int = 5) -> WorkflowPlanned:
    cards = tuple((pool or offline_pool()).cards.values())
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
        ("What is the capital of France?", FACT),
        ("Which countries use the euro?", FACT),
        ("Is Brazil in South America?", FACT),
        ("What do people speak in Peru?", FACT),
        ("Name the official languages of Switzerland", FACT),
        ("Show me the capital of Kenya.", FACT),
        ("When was the Battle of Hastings?", FACT),
        ("Compare the currencies of Japan, China, India, Brazil and Peru.", FACT),
        ("Compare the capitals of France and Germany.", COMPARE_2),
        ("What is the difference between Norway and Sweden?", COMPARE_2),
        ("How do France and Germany differ?", COMPARE_2),
        ("France vs. Germany", COMPARE_2),
        ("Python versus Rust: which is faster?", COMPARE_2),
        ("Which is larger, Brazil or Peru?", COMPARE_2),
        ("Compare Bosnia and Herzegovina with Croatia", COMPARE_2),
        ("Compare France, Germany and Italy", COMPARE_3),
        ("Compare the capitals and currencies of Norway, Sweden and Finland", COMPARE_3),
        ("Compare the currencies of Japan, China, India and Brazil.", COMPARE_4),
        ("2 + 2", SUM),
        ("What is 17 * 23?", SUM),
        ("Calculate 15% of 240", SUM),
        ("Solve x^2 - 5x + 6 = 0", SUM),
        ("Is 97 prime?", SUM),
        ("What is the greatest common divisor of 84 and 126?", SUM),
        ("How much is seven times eight?", SUM),
        ("What is the average of 3, 4 and 5?", SUM),
        ("What is 10 factorial?", SUM),
        ("5!", SUM),
        ("What is the difference between 17 and 5?", SUM),
        ("Compare 3/7 and 5/12.", SUM),
        ("Differentiate sin(x) * x", SUM),
        ("Prove that the sum of two even numbers is even.", PROOF),
        ("Show that the square root of 2 is irrational.", PROOF),
        ("x + y = 10 and x - y = 2", HARD),
        ("Solve 2x + 3 = 7 step by step", HARD),
        ("Maximize the area of a rectangle with perimeter 40.", HARD),
        ("A farmer has 17 sheep and buys 5 more. How many sheep does he have?", HARD),
        ("Summarise: the cat sat. The dog ran.", SUMMARY),
        ("Give me the key points of this text: it rains. It pours.", SUMMARY),
        ("The committee met on Monday. " * 300 + "Summarise this.", SUMMARY),
        ("Write a poem about France", NONE),
        ("What happened on 2024-05-06?", NONE),
        ("What is COVID-19?", NONE),
        ("Explain step by step how bread is made.", NONE),
        ("Compare prices", NONE),
        ("Hello!", NONE),
    ],
)
async def test_a_query_gets_its_rule_and_shape(query: str, expected: tuple[str, Topology, list[str]]) -> None:
    event = await planned(query)
    rule, topology, workers = expected
    workflow = workflow_in(event)
    assert event.report.reasoning.startswith(f"Rule: {rule}. ")
    assert workflow.topology == topology
    assert [step.worker for step in workflow.steps] == workers


@pytest.mark.parametrize(
    ("query", "things"),
    [
        ("Compare the capitals of France and Germany.", ["France", "Germany"]),
        ("Compare and contrast photosynthesis with respiration.", ["photosynthesis", "respiration"]),
        ("Compare France, Germany, and Italy by area", ["France", "Germany", "Italy"]),
        ("Compare the Isle of Man and Jersey", ["Isle of Man", "Jersey"]),
        ("compare Trinidad and Tobago to Barbados", ["Trinidad and Tobago", "Barbados"]),
        ("Should I learn Python vs Rust?", ["Python", "Rust"]),
        ("Tell me: France versus Germany. Be brief.", ["France", "Germany"]),
        ("Which is larger, Brazil or Peru?", ["Brazil", "Peru"]),
        ("What is the difference between x^2 and x^3?", []),
        ("What is the capital of France?", []),
    ],
)
def test_what_a_query_compares_is_found(query: str, things: list[str]) -> None:
    assert compared(query) == things


async def test_each_thing_compared_is_a_step_of_its_own_and_the_last_reads_all() -> None:
    workflow = workflow_in(await planned("Compare France, Germany and Italy"))
    for step, country in zip(workflow.steps, ("France", "Germany", "Italy"), strict=False):
        assert country in step.instruction
        assert step.access == ()
    assert workflow.steps[-1].access == (0, 1, 2)


@pytest.mark.parametrize("max_steps", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "query", ["Compare France, Italy, Spain and Peru", "x + y = 3, x - y = 1", "prove 1=1"]
)
async def test_a_plan_keeps_within_the_limit(query: str, max_steps: int) -> None:
    assert len(workflow_in(await planned(query, max_steps=max_steps))) <= max_steps


async def test_a_calculation_that_may_take_one_step_is_still_calculated() -> None:
    workflow = workflow_in(await planned("What is 17 * 23?", max_steps=1))
    assert [step.worker for step in workflow.steps] == ["mathematics"]


async def test_a_comparison_may_be_as_wide_as_the_limit_allows() -> None:
    countries = ", ".join(f"Country{chr(97 + i)}" for i in range(20))
    workflow = workflow_in(await planned(f"Compare {countries}", max_steps=MAX_STEPS))
    assert len(workflow) == 21


async def test_in_a_pool_without_experts_the_workers_take_turns(pool: Pool) -> None:
    workflow = workflow_in(await planned("Compare France, Germany and Italy", pool=pool))
    assert [step.worker for step in workflow.steps] == ["alpha", "beta", "gamma", "alpha"]


@pytest.mark.parametrize(
    "query",
    [
        "word " * 10_000,
        "compare " + "word " * 9_000,
        "9" * MAX_QUERY,
        "x=" * 25_000,
        "how do " * 7_000,
        "compare " + "of " * 16_000,
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
@pytest.mark.parametrize("repeated", ["word ", "x=", "how do ", "compare ", ", ", "9", " ", "\n"])
def test_of_a_long_query_the_rules_read_no_more_than_of_a_short_one(repeated: str) -> None:
    def ruled(length: int) -> int:
        query = (repeated * length)[:length]
        return work(lambda: rule_for(query, max_steps=5), package="conductor.planner")

    ruled(MAX_QUERY)  # the first query pays for the table of countries
    assert ruled(MAX_QUERY) < 1.1 * ruled(MAX_QUERY // 10)


def test_the_same_query_gives_the_same_ruling() -> None:
    assert rule_for("2 + 2", max_steps=5) == rule_for("  2 +\n 2 ", max_steps=5)
