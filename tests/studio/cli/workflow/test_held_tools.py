"""A run on the command line whose worker calls a tool that may act: it waits, is decided, and acts once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.workers.tools.accepted_commands import ALLOWED
from conductor.workflow.file import write_plan
from tests.studio.cli.command_line import ROOT, Line
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.processes.child_process import child
from tests.support.processes.terminal import in_terminal
from tests.support.runs.waiting import until
from tests.support.runs.workflow_cases import workflow_of
from tests.support.tools.writing_model import lines_of, write_next, writing_pool

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


@pytest.fixture
def served(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """An endpoint whose model calls the tool that writes; the pool file and the plan are in the folder."""
    monkeypatch.setenv(ALLOWED, "all")
    (folder / "plan.json").write_text(
        write_plan(workflow_of(()), query="Note it.", origin="human", workers=["alpha"], label=None)
    )
    with serving(FakeOpenAI()) as served:
        (folder / "pool.toml").write_text(writing_pool(served))
        yield served


def test_it_waits_with_the_exact_arguments_and_goes_on_where_they_are_allowed(
    line: Line, folder: Path, served: Served
) -> None:
    write_next(served, folder / "log")
    waiting = line("run", "plan.json")
    assert (waiting.code, lines_of(folder / "log")) == (4, [])
    assert f'waiting for a yes: step 1 calls sample:append with {{"path": "{folder}/log"' in waiting.err
    assert "--continue --allow-tools" in waiting.err
    again = line("run", "--session", "last", "--continue", "--allow-tools", "--json")
    shape = json.loads(again.out)
    assert (again.code, shape["answer"], lines_of(folder / "log")) == (0, "It is noted.", ["one"])
    assert len([entry for entry in served.log.entries if entry.body]) == 2


def test_a_program_reads_what_waits_and_a_refusal_has_its_reason(
    line: Line, folder: Path, served: Served
) -> None:
    write_next(served, folder / "log")
    waiting = line("run", "plan.json", "--json")
    [call] = json.loads(waiting.out)["waits_with"]
    assert (call["step"], call["at"], call["id"], call["tool"], call["why"]) == (
        0,
        0,
        "w1",
        "sample:append",
        "acts",
    )
    again = line("run", "--session", "last", "--continue", "--refuse-tools", "not there")
    assert (again.code, lines_of(folder / "log")) == (0, [])
    body = [entry.body for entry in served.log.entries if entry.body][-1]
    assert body["messages"][-1]["content"] == "Error: A person refused this call: not there"


def test_a_run_that_allows_its_tools_waits_for_no_yes(line: Line, folder: Path, served: Served) -> None:
    write_next(served, folder / "log")
    assert line("run", "plan.json", "--allow-tools").code == 0
    assert lines_of(folder / "log") == ["one"]
    write_next(served, folder / "log")
    again = line("run", "--session", "last", "--all", "--recorded", "--json")
    [use] = json.loads(again.out)["steps"][0]["tool_uses"]
    assert (again.code, use["source"], lines_of(folder / "log")) == (0, "record", ["one"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--allow-tools", "--refuse-tools", "no", "--continue"), "choose one of --allow-tools and"),
        (("--refuse-tools", "no"), "give --continue, too"),
        (("--recorded", "--continue"), "leave --allow-tools and --continue out"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    line: Line, options: tuple[str, ...], reason: str
) -> None:
    result = line("run", "--session", "last", *options)
    assert result.code == 2
    assert reason in " ".join(result.err.replace("│", " ").split())


def test_a_person_at_a_terminal_changes_the_arguments(folder: Path, served: Served) -> None:
    write_next(served, folder / "log")
    variables = {ALLOWED: "all"}
    with in_terminal("run", "plan.json", folder=folder, variables=variables) as terminal:
        terminal.shows("[l]ater:")
        terminal.type("e\n")
        terminal.shows("Arguments, as JSON:")
        terminal.type("[1]\n")
        terminal.shows("that is not a JSON object")
        terminal.type("e\n")
        other = json.dumps({"path": str(folder / "log"), "text": "two"})
        terminal.type(f"{other}\n")
        assert terminal.end() == 0, terminal.text
        assert "It is noted." in terminal.text
    assert lines_of(folder / "log") == ["two"]


def test_a_call_that_was_under_way_when_the_program_was_killed_is_not_made_again(
    line: Line, folder: Path, served: Served
) -> None:
    write_next(served, folder / "log", seconds=300)
    command = [sys.executable, "-m", "conductor", "run", "plan.json", "--allow-tools"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), ALLOWED: "all"}
    with child(command, cwd=folder, env=environment) as process:
        until(lambda: lines_of(folder / "log") == ["one"], what="the tool has written")
        process.kill()
        process.wait(timeout=60)
    waiting = line("run", "--session", "last")
    assert (waiting.code, lines_of(folder / "log")) == (4, ["one"])
    assert "it was under way when the program ended, and may have acted already" in waiting.err
    again = line("run", "--session", "last", "--continue", "--refuse-tools", "It was done.")
    assert (again.code, lines_of(folder / "log")) == (0, ["one"])
    assert len([entry for entry in served.log.entries if entry.body]) == 2
