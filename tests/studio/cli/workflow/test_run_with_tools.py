"""A run whose worker calls tools: its endpoint is sent the results, and a person reads what was called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.workers.tools.accepted_commands import ALLOWED
from conductor.workflow.file import write_plan
from storage import SessionStore, default_url
from tests.studio.api.answers.tool_cases import calls
from tests.studio.cli.command_line import Line
from tests.support.endpoints.fake_openai import FakeOpenAI, serving
from tests.support.runs.workflow_cases import workflow_of
from tests.support.tools.tool_servers import SAMPLE

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

POOL = """
[[worker]]
name = "alpha"
base_url = "{url}"
model = "simulated"
tools = ["sums", "sample"]
[[tools]]
name = "sums"
built_in = "calculator"
[[tools]]
name = "sample"
command = {command}
"""


def test_a_worker_calls_a_built_in_tool_and_one_of_a_process(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ALLOWED, "all")
    texts = [calls(("a", "sums__calculate", '{"expression": "17 * 23"}')), "It is 391."]
    plan = tmp_path / "plan.json"
    plan.write_text(
        write_plan(workflow_of(()), query="What is 17 * 23?", origin="human", workers=["alpha"], label=None)
    )
    with serving(FakeOpenAI(texts=texts)) as served:
        pool = tmp_path / "pool.toml"
        pool.write_text(POOL.format(url=served.base_url, command=json.dumps(list(SAMPLE))))
        result = line("run", str(plan), "--json", "--pool", str(pool))
        assert result.code == 0, result.err
        first, second = [entry.body for entry in served.log.entries if entry.body]
        offered = [tool["function"]["name"] for tool in first["tools"]]
        assert "sums__calculate" in offered
        assert any(name.startswith("sample__") for name in offered)
        assert second["messages"][-1] == {
            "role": "tool",
            "tool_call_id": "a",
            "content": "17 * 23 = 391\nAnswer: 391",
        }
        shape = json.loads(result.out)
        again = line("run", "--session", "last", "--json", "--pool", str(pool))
        assert len([entry for entry in served.log.entries if entry.body]) == 2
    assert shape["answer"] == "It is 391."
    [use] = shape["steps"][0]["tool_uses"]
    assert (use["tool"], use["arguments"]) == ("sums:calculate", '{"expression": "17 * 23"}')
    assert (use["allowed_by"], use["source"], use["sent"]) == ("reads", "server", None)
    assert json.loads(again.out)["steps"][0]["status"] == "reused"
    with SessionStore.open(default_url()) as store:
        [session] = store.sessions.listed()
        assert store.sessions.total(session.id).calls == 2
    report = tmp_path / "report.html"
    assert line("report", "last", "--output", str(report)).code == 0
    assert "1 tool call<" in report.read_text()


def test_a_command_that_was_not_accepted_fails_its_step_with_what_to_do(line: Line, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(write_plan(workflow_of(()), query="why?", origin="human", workers=["alpha"], label=None))
    with serving(FakeOpenAI()) as served:
        pool = tmp_path / "pool.toml"
        pool.write_text(POOL.format(url=served.base_url, command=json.dumps(list(SAMPLE))))
        result = line("run", str(plan), "--pool", str(pool))
        assert not served.log.entries
    assert result.code == 1
    assert "was not accepted on this machine, so it is not started" in result.err
    assert "doctor --accept-tools" in result.err
