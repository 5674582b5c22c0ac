"""The server as a client of the SDK meets it: a real child process that speaks over stdin and stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from conductor.values.output import SIMULATED_LABEL

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

ROOT = Path(__file__).parents[3]
POOL = """
[[worker]]
kind = "simulated"
name = "alpha"
answer = "from alpha"

[[worker]]
kind = "simulated"
name = "beta"
answer = "from beta"
fail_on = "bad"
"""


@pytest.fixture
def server(tmp_path: Path) -> StdioServerParameters:
    """How a client starts the server: the command, in a folder of its own."""
    pool = tmp_path / "pool.toml"
    pool.write_text(POOL, encoding="utf-8")
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "conductor", "mcp", "--pool", str(pool), "--database", f"sqlite:///{tmp_path}/agents.db"],
        env={"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )


@asynccontextmanager
async def connected(server: StdioServerParameters, mode: str) -> AsyncIterator[Client]:
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        yield client


def workflow(*workers: str) -> dict[str, Any]:
    """Steps; each sees all before it."""
    steps = [
        {"instruction": f"Do part {at}.", "worker": name, "access": list(range(at))}
        for at, name in enumerate(workers)
    ]
    return {"format": "conductor-workflow", "version": 1, "query": "What is it?", "steps": steps}


BAD = {"instruction": "Do the bad part.", "worker": "beta"}


def structured(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_agent_asks_plans_runs_lists_and_looks_at_a_step(
    server: StdioServerParameters, mode: str
) -> None:
    async with connected(server, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) >= {"ask", "plan", "run_workflow", "list_workers", "list_sessions", "show_step"}
        assert all(tool.output_schema is not None for tool in tools.values())

        answer = structured(await client.call_tool("ask", {"query": "Why?", "model": "worker:alpha"}))
        assert answer["answer"] == "from alpha"

        planned = structured(await client.call_tool("plan", {"query": "Compare two things."}))
        assert planned["steps"]
        assert planned["workflow"]["query"] == "Compare two things."
        again = structured(await client.call_tool("run_workflow", {"session": planned["session"]}))
        assert again["session"] == planned["session"]
        assert again["answer"] in ("from alpha", "from beta")

        ran = structured(await client.call_tool("run_workflow", {"workflow": workflow("alpha", "beta")}))
        assert (ran["answer"], [step["status"] for step in ran["steps"]]) == ("from beta", ["finished"] * 2)

        listed = structured(await client.call_tool("list_sessions", {"limit": 2}))
        assert (len(listed["sessions"]), listed["sessions"][0]["id"]) == (2, ran["session"])
        assert listed["further"] is not None

        view = structured(await client.call_tool("show_step", {"session": ran["session"], "step": 1}))
        assert view["seen"] == [{"step": 0, "round": None, "worker": "alpha", "response": "from alpha"}]
        assert "from alpha" in view["messages"][0]["content"]
        assert (view["output"], view["label"]) == ("from beta", SIMULATED_LABEL)

        whole = structured(await client.call_tool("show_session", {"session": ran["session"]}))
        assert [(run["answer"], run["label"]) for run in whole["runs"]] == [("from beta", SIMULATED_LABEL)]


@pytest.mark.thorough
async def test_progress_is_reported_as_steps_begin_and_end(server: StdioServerParameters) -> None:
    reported: list[tuple[float, float | None, str | None]] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    async with connected(server, "auto") as client:
        arguments = {"workflow": workflow("alpha", "beta")}
        structured(await client.call_tool("run_workflow", arguments, progress_callback=report))
    assert [(progress, total) for progress, total, _ in reported] == [(0.5, 2), (1, 2), (1.5, 2), (2, 2)]
    assert [str(message).partition(",")[0] for *_, message in reported] == [
        "[1/2] alpha works",
        "[1/2] alpha is done",
        "[2/2] beta works",
        "[2/2] beta is done",
    ]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("ask", {"query": "   "}, "query"),
    ("ask", {"query": "Why?", "model": "worker:no-one"}, "worker:no-one"),
    ("ask", {"query": "Why?", "workers": ["gamma"]}, "no worker 'gamma'"),
    ("ask", {"query": "Why?", "budget": {"tokens": 0}}, "budget.tokens"),
    ("plan", {"query": "Why?", "model": "worker:alpha"}, "nothing is planned"),
    ("run_workflow", {}, "one of the two"),
    ("run_workflow", {"session": "0" * 32}, "There is no session"),
    ("run_workflow", {"workflow": workflow("gamma")}, "gamma"),
    ("run_workflow", {"workflow": workflow("alpha") | {"steps": [BAD]}}, "The run failed."),
    ("run_workflow", {"workflow": workflow("alpha"), "budget": {"calls": 0}}, "budget.calls"),
    ("run_workflow", {"workflow": {"steps": []}, "query": "Why?"}, "The file is not a workflow"),
    ("run_workflow", {"workflow": {**workflow("alpha"), "query": None}}, "names no query"),
    ("show_session", {"session": "nothing"}, "There is no session"),
    ("show_step", {"session": "nothing", "step": 0}, "There is no session"),
    ("show_step", {"session": "nothing", "step": -1}, "step"),
    ("compare_runs", {"old": "nothing", "new": "nothing"}, "nothing"),
    ("evaluate", {}, "one of the two"),
    ("evaluate", {"evaluation": "nothing"}, "There is no evaluation"),
    ("evaluate", {"evaluation": "nothing", "rounds": 2}, "give its id alone"),
    ("evaluate", {"questions": [{"input": "Why?", "target": []}]}, "Question 1 is no question"),
    (
        "evaluate",
        {"questions": [{"input": "Why?", "target": ["x"]}], "planners": ["worker:no-one"]},
        "no-one",
    ),
]
"""A tool, what it is given, and words of the error."""


@pytest.mark.thorough
async def test_what_cannot_be_done_is_an_error_of_the_call_that_names_why(
    server: StdioServerParameters,
) -> None:
    named = []
    async with connected(server, "auto") as client:
        for tool, arguments, words in REFUSED:
            result = await client.call_tool(tool, arguments)
            texts = json.dumps([content.model_dump() for content in result.content])
            named.append((tool, arguments, words if result.is_error and words in texts else texts))
    assert named == REFUSED


@pytest.mark.thorough
async def test_a_run_that_meets_its_budget_is_an_error_that_names_the_limit(
    server: StdioServerParameters,
) -> None:
    async with connected(server, "auto") as client:
        arguments = {"workflow": workflow("alpha", "beta"), "budget": {"calls": 1}}
        result = await client.call_tool("run_workflow", arguments)
        (content,) = result.content
        assert result.is_error
        assert "The run was stopped at its budget" in content.text
        session = content.text.rpartition("(session ")[2].rstrip(")")
        view = structured(await client.call_tool("show_session", {"session": session}))
        assert [run["status"] for run in view["runs"]] == ["over_budget"]


@pytest.mark.thorough
async def test_a_run_that_waits_at_a_gate_names_how_to_go_on_and_goes_on(
    server: StdioServerParameters,
) -> None:
    gated = workflow("alpha", "beta")
    gated["steps"][1]["gate"] = True
    async with connected(server, "auto") as client:
        waits = await client.call_tool("run_workflow", {"workflow": gated})
        (content,) = waits.content
        assert waits.is_error
        assert "is waiting before step 2" in content.text
        session = content.text.partition("(session ")[2].partition(";")[0]
        went_on = structured(await client.call_tool("run_workflow", {"session": session}))
    assert [step["status"] for step in went_on["steps"]] == ["reused", "finished"]


async def test_two_runs_are_compared_step_by_step(server: StdioServerParameters) -> None:
    async with connected(server, "auto") as client:
        runs = [
            structured(await client.call_tool("run_workflow", {"workflow": workflow(*workers)}))["run"]
            for workers in (("alpha", "beta"), ("alpha", "alpha", "beta"))
        ]
        compared = structured(await client.call_tool("compare_runs", {"old": runs[0], "new": runs[1]}))
    assert compared["same_answer"] is True
    assert [compared[side]["label"] for side in ("old", "new")] == [SIMULATED_LABEL] * 2
    assert {(step["old"], step["new"]): step["same_output"] for step in compared["steps"]} == {
        (0, 0): True,
        (1, 1): False,
        (None, 2): None,
    }
    assert compared["steps"][1]["changes"] == ["worker"]
    assert compared["steps"][2]["changes"] == ["added"]


async def test_planners_are_evaluated_and_an_evaluation_goes_on_by_its_id(
    server: StdioServerParameters,
) -> None:
    reported: list[float] = []

    async def report(progress: float, _: float | None, __: str | None) -> None:
        reported.append(progress)

    questions = [{"input": f"Question {number}?", "target": ["from alpha"]} for number in range(3)]
    planners = ["worker:alpha", "worker:beta"]
    async with connected(server, "auto") as client:
        arguments = {"questions": questions, "planners": planners}
        evaluation = structured(await client.call_tool("evaluate", arguments, progress_callback=report))
        again = structured(await client.call_tool("evaluate", {"evaluation": evaluation["evaluation"]}))
    assert [(each["planner"], each["right"], each["questions"]) for each in evaluation["planners"]] == [
        ("worker:alpha", 3, 3),
        ("worker:beta", 0, 3),
        ("perfect router", 3, 3),
    ]
    assert evaluation["stopped"] is None
    assert again == evaluation
    assert reported == sorted(set(reported))
    assert set(reported) <= set(range(7))
