"""`examples/library`: each program runs as it is, on workers of this machine, in a few lines."""

from __future__ import annotations

import ast
import json
import re
import runpy
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from conductor import Step, Workflow, write_plan

FOLDER = Path(__file__).parents[2] / "examples" / "library"
POOL = 'workers = "built-in"\n\n[[worker]]\nkind = "simulated"\nname = "writer"\n'
PROGRAMS = {
    "plan_question": (2, r"<Workflow of \d: .*>\n"),
    "own_worker": (6, r"4 words\n"),
    "edit_edge": (4, r"<RunState .*: finished, 3 of 3 steps finished, 2 reused, answer=.*>\n"),
    "evaluate_questions": (9, r"<Scores: planned 20 of 20 right, alone 20 of 20 right>\n"),
    "batch_budget": (11, r"Counter\({'finished': \d+, 'over_budget': \d+}\)\n"),
    "stream_answer": (3, r"\nplanning_started\n.*\nstep_finished\n.*\nrun_finished\n"),
    "load_plan": (3, r"<RunState .*: finished, 1 of 1 steps finished, .*>\n"),
    "web_service": (12, r""),
}
"""The most lines of code of each, and what it prints."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a pool whose workers are on this machine, and with a workflow."""
    (tmp_path / "pool.toml").write_text(POOL, encoding="utf-8")
    workflow = Workflow.of([Step(instruction="Compare both.", worker="writer")])
    (tmp_path / "workflow.json").write_text(
        write_plan(workflow, query=None, origin="human", workers=("writer",), label=None), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)


def lines_of(program: str) -> list[str]:
    """The lines of code, without the text at the head."""
    text = (FOLDER / f"{program}.py").read_text(encoding="utf-8")
    head = ast.parse(text).body[0].end_lineno or 0
    return [line for line in text.splitlines()[head:] if line.strip()]


def test_every_program_is_tried() -> None:
    assert sorted(PROGRAMS) == sorted(file.stem for file in FOLDER.glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_short_and_prints_its_answer(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    most, printed = PROGRAMS[program]
    assert len(lines_of(program)) <= most
    runpy.run_path(str(FOLDER / f"{program}.py"))
    assert re.fullmatch(printed, capsys.readouterr().out, re.DOTALL)


@pytest.mark.slow
def test_the_service_answers_with_the_events_of_a_run() -> None:
    app = runpy.run_path(str(FOLDER / "web_service.py"))["app"]
    with TestClient(app) as client:
        events = [json.loads(line) for line in client.get("/ask?query=What is 17 * 23?").iter_lines()]
    assert (events[0]["type"], events[-1]["type"]) == ("planning_started", "run_finished")
    assert "391" in events[-1]["answer"]
