"""Rules for failures that are given to `run`, and the edit that they make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.workflow.file import write_plan
from tests.studio.cli.command_line import Line
from tests.support.runs.workflow_cases import workflow_of

pytestmark = pytest.mark.slow

PAIR = workflow_of((), (0,)).with_instruction(0, "Do it, bad one.").with_worker(1, "beta")


@pytest.fixture
def failing(folder: Path) -> str:
    """The file of a workflow whose first step fails."""
    file = folder / "plan.json"
    text = write_plan(PAIR, query="why?", origin="human", workers=PAIR.workers(), label=None)
    file.write_text(text, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["--skip", "1"], ("", None)),
        (["--skip", "1=Nothing = known."], ("Nothing = known.", None)),
        (["--fallback", "1=beta", "--skip", "1=unused"], ("from beta", "beta")),
    ],
)
def test_a_rule_lets_the_run_go_on(
    line: Line, simulated: str, failing: str, rules: list[str], expected: tuple[str, str | None]
) -> None:
    output, stand_in = expected
    result = line("run", "--workflow", failing, *rules, "--pool", simulated, "--json")
    assert result.code == 0, result.err
    first, last = json.loads(result.out)["steps"]
    assert (first["output"], first["stand_in"], last["output"]) == (output, stand_in, "from beta")
    assert first["failure"] == "alpha was set to fail on this call."
    assert first["by_hand"] == (stand_in is None)


def test_a_step_is_called_again_as_often_as_its_rule_states(line: Line, simulated: str, failing: str) -> None:
    result = line(
        "run", "--workflow", failing, "--retry", "1=1", "--skip", "1", "--pool", simulated, "--json"
    )
    assert json.loads(result.out)["steps"][0]["retries"] == 1


def test_the_rules_are_one_edit_of_the_workflow_and_in_its_file(
    line: Line, simulated: str, failing: str
) -> None:
    rules = ["--retry", "1=1", "--fallback", "2=alpha", "--pause-before", "2"]
    result = line("run", "--workflow", failing, *rules, "--pool", simulated, "--json")
    session = json.loads(result.out)["session"]
    view = line("sessions", "show", session, "--json")
    note = "Gate before step 2; step 1: if it fails, 1 more call; "
    note += "step 2: if it fails, alpha answers in its place"
    assert note in view.out
    file = json.loads(line("export", session).out)
    assert file["steps"][0]["on_failure"] == {"retries": 1, "pause": 1.0, "fallback": None, "output": None}


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (["--retry", "x=1"], "--retry 'x=1' names no step"),
        (["--retry", "1"], "--retry '1' names no step"),
        (["--retry", "1=0"], "from 1 to 10, not '0'"),
        (["--retry", "1=99"], "from 1 to 10, not '99'"),
        (["--skip", "7"], "There is no step 7; this workflow has 2."),
        (["--fallback", "1=omega"], "has the fallback 'omega', which the pool does not have"),
        (["--fallback", "1=alpha"], "has its own worker 'alpha' as its fallback"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_the_reason(
    line: Line, simulated: str, failing: str, rules: list[str], reason: str
) -> None:
    result = line("run", "--workflow", failing, *rules, "--pool", simulated)
    assert result.code == 1
    assert reason in result.err
