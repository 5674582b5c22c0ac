"""The plan check finds steps without a tool that their instruction demands, and those with one of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from conductor.workflow.lint import Finding, check
from conductor.workflow.model import Step, Workflow
from tests.conductor.workflow.lint.fine_plans import FINE

TOOLS = {"reader": ("files:read_*", "web:search"), "coder": ("python", "db:query_sql"), "thinker": ()}
SEARCH = "Search the web for the newest figures and cite the sources."


def problems(
    instruction: str,
    worker: str = "thinker",
    tools: Sequence[str] | None = None,
    pool: Mapping[str, Sequence[str]] | None = TOOLS,
) -> tuple[Finding, ...]:
    step = Step(instruction=instruction, worker=worker, tools=None if tools is None else tuple(tools))
    return check(Workflow.of([step]), max_steps=5, workers=[*TOOLS], tools=pool)


@pytest.mark.parametrize(
    ("instruction", "kind", "other"),
    [
        (SEARCH, "search", "reader"),
        ("Look up the population of Oslo in 2024.", "search", "reader"),
        ("First, search online for two reviews.", "search", "reader"),
        ("Think about it. Then look it up on Wikipedia and answer.", "search", "reader"),
        ("Fetch https://example.org/a and summarise it.", "fetch a page", "reader"),
        ("Query the sales database and add up the totals.", "query a database", "coder"),
        ("Execute the SQL and report the rows.", "query a database", "coder"),
        ("Run the code and report what it prints.", "run code", "coder"),
    ],
)
def test_a_step_that_is_asked_to_act_without_a_tool_for_it_is_found(
    instruction: str, kind: str, other: str
) -> None:
    [finding] = problems(instruction)
    assert (finding.rule, finding.step, finding.severity) == ("lacks-a-tool", 0, "warning")
    assert finding.sentence == f"Step 1 has no tool that can {kind}, as its instruction demands."
    assert [fix.label for fix in finding.fixes] == [f"Give step 1 to {other}"]
    assert problems(instruction, other) == (), "its worker has one"
    assert problems(instruction, pool={"reader": ("files:read_*",)}) == (), "no tool of the pool can do it"


@pytest.mark.parametrize("tools", [[], ["files:read_*"]])
def test_a_step_that_names_fewer_tools_than_it_needs_may_have_them_again(tools: list[str]) -> None:
    [finding] = problems(SEARCH, "reader", tools)
    [fix] = finding.fixes
    assert fix.label == "Let step 1 call web:search"
    assert fix.workflow.steps[0].tools == tuple(sorted({*tools, "web:search"}))
    assert check(fix.workflow, max_steps=5, workers=[*TOOLS], tools=TOOLS) == ()


@pytest.mark.parametrize(
    "instruction",
    [
        "Search for a counterexample with small numbers.",
        "Look up the value in the table above.",
        "Look up each word in the dictionary provided.",
        "Explain how a program would search the web.",
        "Without searching the web, name the capital of Mongolia.",
        "Search the web? Do not use any tools, answer from memory.",
        "Look up the date from memory.",
        'Translate "Search the web for news." into German.',
        "Write a SQL query for this database.",
        "Write code that computes it, and do not run the code.",
        "Find the roots of the equation.",
        "Run through the argument once more.",
        "Read the question and plan the answer.",
        "Search the given passage for the date.",
    ],
)
def test_what_only_sounds_like_an_order_to_act_is_not_found(instruction: str) -> None:
    assert problems(instruction) == ()


@pytest.mark.parametrize("workflow", FINE.values(), ids=FINE)
def test_nothing_is_found_in_a_fine_plan_beside_a_pool_with_tools(workflow: Workflow) -> None:
    tools = dict.fromkeys(workflow.workers(), ()) | TOOLS
    assert check(workflow, max_steps=8, tools=tools) == ()


def test_a_pool_without_tools_is_no_reason_for_an_alarm() -> None:
    assert problems(SEARCH, pool=None) == problems(SEARCH, pool={}) == ()
    assert problems(SEARCH, "a worker that is not in the pool") == ()


@pytest.mark.parametrize(
    ("worker", "tools", "sentence", "labels"),
    [
        (
            "reader",
            ["files:write", "web:search"],
            "Step 1 names the tools files:write, and reader has files:read_*, web:search: it would fail.",
            ["Let step 1 call only web:search"],
        ),
        (
            "reader",
            ["python"],
            "Step 1 names the tools python, and reader has files:read_*, web:search: it would fail.",
            ["Give step 1 to coder", "Let step 1 call all tools of reader"],
        ),
        (
            "thinker",
            ["python"],
            "Step 1 names the tools python, and thinker has no tools: it would fail.",
            ["Give step 1 to coder", "Let step 1 call no tool"],
        ),
    ],
)
def test_a_name_of_a_tool_that_the_worker_does_not_have_is_found(
    worker: str, tools: list[str], sentence: str, labels: list[str]
) -> None:
    [finding] = problems("Do it.", worker, tools)
    assert (finding.rule, finding.sentence) == ("tool-of-another", sentence)
    assert [fix.label for fix in finding.fixes] == labels
    for fix in finding.fixes:
        assert check(fix.workflow, max_steps=5, workers=[*TOOLS], tools=TOOLS) == ()


@pytest.mark.parametrize("tools", [None, (), ("files:read_text",), ("web",), ("web:search", "files")])
def test_fewer_tools_of_its_worker_are_no_finding(tools: Sequence[str] | None) -> None:
    assert problems("Do it.", "reader", tools) == ()
