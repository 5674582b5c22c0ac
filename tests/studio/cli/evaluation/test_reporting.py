"""What an evaluation leaves for a CI service, and the example of a gate."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
import yaml

from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.items import Item
from conductor.evaluation.report.exports import as_junit
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult
from tests.studio.cli.command_line import Line

EXAMPLE = Path(__file__).parents[4] / "examples" / "ci" / "workflow-gate.yml"


def test_every_answer_is_a_case_whatever_it_holds() -> None:
    items = [
        Item(id="a", input="Which <tag>\x1b & \ufffe?", target=("one", "two")),
        Item(id="b", input="x " * 500, target=("y",)),
        Item(id="c", input="z", target=("z",)),
    ]
    scores = [
        Score(verdict="wrong", answer='"no"\n\0', reason="because"),
        Score(verdict="unanswered", outage="503"),
        Score(verdict="right", answer="z"),
    ]
    cells = [
        Cell(
            item=at, planner="p", repeat=at // 2, session=f"s{at}",
            result=CellResult(score=score, seconds=0.5 if at else None),
        )
        for at, score in enumerate(scores)
    ]  # fmt: skip
    (suite,) = fromstring(as_junit("evaluation", items, ["p"], cells))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    wrong, lost, right = suite
    assert wrong.get("name") == "a: Which <tag>\ufffd & \ufffd?"
    assert wrong[0].get("message") == "answered '\"no\"\\n\ufffd', right is 'one or two'"
    assert wrong[0].text == "because\nsession s0"
    assert (lost[0].tag, wrong.get("time"), lost.get("time")) == ("error", None, "0.500")
    assert (right.get("name"), len(right)) == ("c (2): z", 0)


@pytest.mark.slow
def test_the_example_of_a_gate_runs_as_it_is_written(
    line: Line, folder: Path, simulated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a workflow that is worse than before: the gate is closed, and each file names why."""
    (folder / "pool.toml").write_text(Path(simulated).read_text())
    rows = [{"id": at, "input": f"say {at}", "target": "from alpha", "scorer": "contains"} for at in range(8)]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name, worker in (("workflow", "beta"), ("before", "alpha")):
        assert line("run", "say it", "--planner", f"worker:{worker}").code == 0
        assert line("export", "last", "-o", f"{name}.json").code == 0
    summary = folder / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    (job,) = yaml.safe_load(EXAMPLE.read_text())["jobs"].values()
    (command,) = [step["run"] for step in job["steps"] if "evaluate run" in step.get("run", "")]
    result = line(*shlex.split(command)[1:], "--json")
    assert result.code == 1
    shape = json.loads(result.out)
    assert {each["verdict"] for each in shape["answers"] if each["planner"] == "plan:workflow.json"} == {
        "wrong"
    }
    assert {each["code"] for each in shape["gate"]} == {1, 5}
    (first, second) = fromstring((folder / "answers.xml").read_text())
    assert (first.get("failures"), second.get("failures")) == ("8", "0")
    text = summary.read_text()
    assert "| plan:before.json | 1.000 |" in text
    assert "- plan:workflow.json is below 80.0% right answers: 0.0%" in text
    assert "::error title=Evaluation" in result.err
    assert "::plan:before.json is better than plan:workflow.json by 100.0%25" in result.err
    passed = line("evaluate", "table", "last", "--fail-below", "0")
    assert (passed.code, passed.err) == (
        0,
        "conductor: plan:workflow.json, the first planner, passes the gate.\n",
    )
