"""The offline planner's rules give natural queries the shape a person would expect, and read at once."""

from __future__ import annotations

import pytest
from reading_work import patience, work

from conductor.planner.planner import MAX_QUERY, plan
from conductor.planner.protocol import PlanRequest
from conductor.planner.rule_comparison import Comparison, comparison_in
from conductor.planner.rule_planner import OfflineConductor, rule_for
from conductor.runs.events import PlanRejected, WorkflowPlanned
from conductor.workers.pool.pool import Pool, offline_pool
from conductor.workflow.model import MAX_STEPS, Topology, Workflow

FACT = ("fact", "single", ["facts"])
COMPARE_2 = ("comparison", "fan-out", ["facts", "facts", "text"])
COMPARE_3 = ("comparison", "fan-out", ["facts", "facts", "facts", "text"])
COMPARE_4 = ("comparison", "fan-out", ["facts", "facts", "facts", "facts", "text"])
SUM = ("calculation", "chain", ["mathematics", "checker"])
SUM_IN_WORDS = ("calculation in words", "single", ["mathematics"])
PROOF = ("proof", "chain", ["mathematics", "checker"])
HARD = ("hard problem", "planner-executor-verifier", ["mathematics", "mathematics", "checker"])
SUMMARY = ("summary", "single", ["text"])
NONE = ("none fits", "single", ["text"])


async def planned(query: str, *, pool: Pool | None = None, max_steps: int = 5) -> WorkflowPlanned:
    cards = tuple(worker.card for worker in (pool or offline_pool()).workers)
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


@pytest.mark.slow
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
        ("Which is larger, Brazil or Peru?", FACT),
        ("Compare Bosnia and Herzegovina with Croatia", COMPARE_2),
        ("Compare France, Germany and Italy", COMPARE_3),
        ("Compare France, Germany and Italy by area, age and language", COMPARE_3),
        ("Compare France and Germany by population and area", COMPARE_2),
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
        ("What is the difference between 17 and 5?", SUM_IN_WORDS),
        ("Compare 3/7 and 5/12.", SUM),
        ("Differentiate sin(x) * x", SUM),
        ("Prove that the sum of two even numbers is even.", PROOF),
        ("Show that the square root of 2 is irrational.", PROOF),
        ("x + y = 10 and x - y = 2", HARD),
        ("Solve 2x + 3 = 7 step by step", HARD),
        ("Maximize the area of a rectangle with perimeter 40.", HARD),
        ("A farmer has 17 sheep and buys 5 more. How many sheep does he have?", SUM_IN_WORDS),
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
        ("Compare the Isle of Man and Jersey", ["Isle of Man", "Jersey"]),
        ("compare Trinidad and Tobago to Barbados", ["Trinidad and Tobago", "Barbados"]),
        ("Should I learn Python vs Rust?", ["Python", "Rust"]),
        ("Tell me: France versus Germany. Be brief.", ["France", "Germany"]),
        ("Which is larger, Brazil or Peru?", ["Brazil", "Peru"]),
        ("How does France differ from Germany?", ["France", "Germany"]),
        ("Compare books by Tolstoy and Dostoevsky", ["Tolstoy", "Dostoevsky"]),
        ("Compare Stand By Me and Rain Man", ["Stand By Me", "Rain Man"]),
        ("Compare cats in Rome and dogs in Paris", ["cats in Rome", "dogs in Paris"]),
        ("Compare Endgame and Waiting for Godot", ["Endgame", "Waiting for Godot"]),
        ("Compare wages in France and Germany", ["wages in France", "Germany"]),
        ("Compare cats and dogs side by side", ["cats", "dogs"]),
        ("Compare population and area", ["population", "area"]),
        ("I walked by the sea. Compare France and Germany.", ["France", "Germany"]),
    ],
)
def test_what_a_query_compares_is_found(query: str, things: list[str]) -> None:
    assert comparison_in(query) == Comparison(tuple(things))


@pytest.mark.parametrize(
    "query", ["What is the difference between x^2 and x^3?", "What is the capital of France?", "Compare this"]
)
def test_a_query_that_compares_no_two_things_compares_nothing(query: str) -> None:
    assert comparison_in(query) is None


@pytest.mark.parametrize(
    ("query", "criteria"),
    [
        ("Compare France and Germany by population and area.", "by population and area"),
        ("Compare France and Germany by population, area, and capital", "by population, area, and capital"),
        ("Compare France with Germany by size and by age", "by size and by age"),
        ("Compare the capitals of France and Germany by size or age", "by size or age"),
        ("Compare books by France and Germany by length and price", "by length and price"),
        ("COMPARE France AND Germany BY AREA AND AGE", "BY AREA AND AGE"),
        ("Compare France and Germany side by side, by area and age", "by area and age"),
        ("Compare France and Germany in terms of population and area", "in terms of population and area"),
        ("Compare France to Germany with respect to area and age", "with respect to area and age"),
        ("compare and contrast France and Germany regarding cost and care", "regarding cost and care"),
        ("Compare France and Germany according to area and age", "according to area and age"),
        ("Compare France and Germany based on area and age", "based on area and age"),
        ("Compare France and Germany as to area and age", "as to area and age"),
        ("Compare France and Germany in speed and reliability", "in speed and reliability"),
        ("Compare France and Germany on price and taste.", "on price and taste"),
        ("Compare France and Germany (population and area)", "(population and area)"),
        (
            "How do France and Germany compare in terms of population and area?",
            "in terms of population and area",
        ),
        ("How does France compare to Germany with regard to area and age?", "with regard to area and age"),
        ("How does France differ from Germany by area and age?", "by area and age"),
        ("Differences between France and Germany in area and age", "in area and age"),
        ("What is the difference in speed and cost between France and Germany?", "in speed and cost"),
        ("France vs Germany by population and area", "by population and area"),
        ("France versus Germany, regarding area and age", "regarding area and age"),
        ("Which is larger by area and population, France or Germany?", "by area and population"),
        ("Which is larger, France or Germany, by area and population?", "by area and population"),
        ("By population and area, compare France and Germany.", "by population and area"),
        ("With respect to area and age, how do France and Germany compare?", "with respect to area and age"),
        ("Compare by population and area: France and Germany", "by population and area"),
        ("Compare, by population and area, France and Germany", "by population and area"),
    ],
)
def test_by_what_things_are_compared_is_no_further_thing(query: str, criteria: str) -> None:
    assert comparison_in(query) == Comparison(("France", "Germany"), criteria)


async def test_by_what_things_are_compared_is_said_to_every_step() -> None:
    workflow = workflow_in(await planned("Compare France and Germany by currency and area."))
    assert [step.instruction for step in workflow.steps] == [
        "France: state the facts that the comparison by currency and area needs.",
        "Germany: state the facts that the comparison by currency and area needs.",
        "Compare France and Germany by currency and area: merge the answers into one, point by point.",
    ]


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
        "compare " + "a and b by " * 4_500,
        "compare " + "by " * 16_000,
        "by " * 16_000 + ", compare",
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

    ruled(MAX_QUERY)  # the first query pays for the table of countries
    assert ruled(MAX_QUERY) < 1.1 * ruled(MAX_QUERY // 10)


def test_the_same_query_gives_the_same_ruling() -> None:
    assert rule_for("2 + 2", max_steps=5) == rule_for("  2 +\n 2 ", max_steps=5)
