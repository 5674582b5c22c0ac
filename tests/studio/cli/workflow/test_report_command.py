"""`report`: a run as one HTML file, by its id or its session's."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.cli.line import main
from tests.studio.cli.command_line import Line


def ran(line: Line, folder: Path, pool: str) -> dict[str, str]:
    """A run of one step, as `run --json` prints it."""
    workflow = Workflow.of([Step(instruction="Say it.", worker="alpha")])
    (folder / "plan.json").write_text(
        write_plan(workflow, query="What <b>is</b> it?", origin="human", workers=(), label=None),
        encoding="utf-8",
    )
    result = line("run", "--workflow", "plan.json", "--pool", pool, "--json")
    shape: dict[str, str] = json.loads(result.out)
    return shape


@pytest.mark.slow
def test_a_run_is_reported_by_its_id_and_by_its_session(line: Line, folder: Path, simulated: str) -> None:
    shape = ran(line, folder, simulated)
    result = line("report", "--session", shape["session"][:8], "-o", "report.html", "--json")
    assert (result.code, result.err) == (0, "")
    about = json.loads(result.out)
    assert about["file"] == "report.html"
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "What &lt;b&gt;is&lt;/b&gt; it?" in html
    assert "from alpha" in html
    printed = line("report", about["run"][:8])
    assert printed.code == 0
    assert printed.out.startswith("<!doctype html>")


@pytest.mark.slow
def test_a_report_shows_the_conductors_reasoning_and_whether_its_plan_was_edited(
    line: Line, folder: Path, simulated: str
) -> None:
    first = json.loads(line("run", "What is 17 * 23?", "--json").out)
    html = line("report", first["run"]).out
    assert "The query is a calculation; one exact step is enough." in html
    assert '<bdi class="pill filled">offline planner</bdi>' in html
    assert "the plan was edited" not in html
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        head = store.revisions.head(first["session"])
        edited = head.workflow.with_instruction(0, "Compute 17 * 23.")
        store.revisions.add(first["session"], edited, origin="human", note="Step 1")
    again = json.loads(line("run", "--session", first["session"], "--json").out)
    assert "the plan was edited before this run" in line("report", again["run"]).out
    assert "reasoning</h2>" not in line("report", ran(line, folder, simulated)["run"]).out


@pytest.mark.slow
def test_a_report_is_utf_8_in_whatever_encoding_the_terminal_is(
    line: Line, folder: Path, simulated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = ran(line, folder, simulated)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", out)
        assert main(["report", shape["run"]]) == 0
    html = out.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]
    assert "from alpha" in html
    assert "\\x" not in html
    assert "·" in html


@pytest.mark.slow
def test_what_cannot_be_reported_is_refused(line: Line, folder: Path, simulated: str) -> None:
    shape = ran(line, folder, simulated)
    cases = [
        (("report",), 2, "give either RUN or --session ID"),
        (("report", "x", "--session", "y"), 2, "give either RUN or --session ID"),
        (("report", "x", "--json"), 2, "name one with --output"),
        (("report", "gone"), 1, "no run 'gone' in this store; `sessions show SESSION` shows which there are"),
        (("report", ""), 1, "'' is too short for a run's id"),
        (("report", "--session", "nobody"), 1, "no session 'nobody'"),
        (("report", "--session", shape["session"], "-o", "no/where.html"), 1, "cannot be written"),
    ]
    for arguments, code, why in cases:
        result = line(*arguments)
        assert (result.code, why in result.err) == (code, True), result.err
