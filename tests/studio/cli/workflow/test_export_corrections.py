"""`export corrections`: pairs and supervised rows as JSON Lines, and what gives none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conductor.planner.parsing.parse import parse
from studio.composition import open_workbench
from tests.studio.cli.command_line import Line
from tests.support.processes.child_process import child

pytestmark = pytest.mark.slow


def corrected(folder: Path, *, thumbs: Any = None, sessions: int = 1) -> list[str]:
    """Sessions whose offline plan was given to another worker and run, in the default store."""
    bench = open_workbench(pool=None, database=f"sqlite:///{folder}/data/conductor.db")
    ids = []
    for at in range(sessions):
        session = bench.ask(f"Compare France and Japan by {at} things").id
        bench.planning.plan(session)
        head = bench.store.revisions.head(session)
        bench.editing.edit(session, head.workflow.with_worker(1, "calculator"), note="Exactly", head=head)
        if sessions == 1:
            bench.running.start(session)
            bench.activities.wait(session)
            bench.store.corrections.rate(bench.store.runs.of_session(session)[0].id, thumbs)
        ids.append(session)
    bench.close()
    return ids


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_pairs_are_written_with_their_origin(line: Line, folder: Path) -> None:
    (session,) = corrected(folder, thumbs="up")
    result = line("export", "corrections", "--format", "jsonl")
    (row,) = rows(result.out)
    assert (result.code, result.err) == (0, "conductor: 1 correction written.\n")
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert "Compare France and Japan by 0 things" in row["prompt"][1]["content"]
    about = row["metadata"]
    assert (about["session"], about["prompt_sent"]) == (session, False)
    assert about["pool"]["label"] == "simulated, no model is called"
    assert about["planner"] == {"name": "offline planner", "kind": "offline"}
    assert about["answers"]["edited"]["thumbs"] == "up"
    assert about["answers"]["edited"]["answer"]
    chosen, rejected = (
        parse(row[name][0]["content"], workers=about["pool"]["workers"]).workflow
        for name in ("chosen", "rejected")
    )
    assert (chosen.steps[1].worker, rejected.steps[1].worker) == ("calculator", "smol")


def test_supervised_rows_go_bare_to_a_file(line: Line, folder: Path) -> None:
    corrected(folder)
    result = line("export", "corrections", "rows.jsonl", "--kind", "supervised", "--bare", "--json")
    assert json.loads(result.out) == {"file": "rows.jsonl", "rows": 1, "left_out": {}}
    (row,) = rows((folder / "rows.jsonl").read_text(encoding="utf-8"))
    assert row.keys() == {"prompt", "completion"}


@pytest.mark.parametrize(
    ("thumbs", "choice", "count"),
    [("up", "up", 1), ("up", "down", 0), ("up", "any", 1), (None, "up", 0), (None, "any", 1)],
)
def test_thumbs_choose_among_the_rows(
    line: Line, folder: Path, thumbs: str | None, choice: str, count: int
) -> None:
    corrected(folder, thumbs=thumbs)
    result = line("export", "corrections", "--thumbs", choice)
    assert len(rows(result.out)) == count
    if not count:
        assert result.err == (
            "conductor: none of 1 correction gives a row.\n"
            f"conductor: 1 left out: its answer has no thumbs {choice}.\n"
        )


def test_an_empty_store_names_what_makes_a_correction(line: Line) -> None:
    result = line("export", "corrections")
    assert (result.code, result.out) == (0, "")
    assert "no correction yet; edit a workflow that a Conductor planned" in result.err


def test_a_file_that_cannot_be_written_is_named(line: Line, folder: Path) -> None:
    corrected(folder)
    result = line("export", "corrections", "none/rows.jsonl")
    assert (result.code, result.out) == (1, "")
    assert result.err == "conductor: none/rows.jsonl cannot be written: No such file or directory.\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["corrections", "--json"], "--json sums up what was written to FILE"),
        (["corrections", "a", "-o", "b"], "name one FILE"),
        (["abc", "--bare"], 'go with "export corrections"'),
        (["corrections", "--kind", "best"], "Invalid value for '--kind': 'best' is not one of"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(line: Line, arguments: list[str], reason: str) -> None:
    result = line("export", *arguments)
    assert result.code == 2
    assert reason in result.err


@pytest.mark.thorough
@pytest.mark.slow
def test_a_reader_who_goes_away_ends_it_without_a_traceback(folder: Path) -> None:
    corrected(folder, sessions=40)
    command = [sys.executable, "-m", "conductor", "export", "corrections"]
    with child(
        command, cwd=folder, env={"PYTHONPATH": str(Path(__file__).parents[4])},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout.readline().startswith('{"prompt"')
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 1


def test_judged_plans_are_rows_without_pairs(line: Line, folder: Path) -> None:
    (session,) = corrected(folder, thumbs="down")
    result = line("export", "corrections", "--kind", "judged")
    (row,) = rows(result.out)
    assert (row["label"], row["metadata"]["edited"], row["metadata"]["session"]) == (False, True, session)
    assert "calculator" in row["metadata"]["pool"]["workers"]
    assert rows(line("export", "corrections", "--kind", "judged", "--thumbs", "up").out) == []
