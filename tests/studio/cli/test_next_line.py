"""A command that makes something prints, as the last line of stderr, its id and what goes on with it."""

from __future__ import annotations

import json
import re
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests.studio.cli.command_line import Line

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def pool(line: Line, simulated: str, folder: Path) -> None:
    """A pool, questions, and a session that ran."""
    (folder / "pool.toml").write_text(Path(simulated).read_text())
    rows = [{"id": at, "input": f"say {at}", "target": "from alpha"} for at in range(2)]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert line("run", "say it", "--planner", "worker:alpha").code == 0
    assert line("sessions", "export", "last", "-o", "s.jsonl").code == 0


@pytest.mark.parametrize(
    ("arguments", "last"),
    [
        (("plan", "say more"), r"session \w{8}; next: python -m conductor run --session \w{8}"),
        (("run", "say more"), r"session \w{8}; change it: python -m conductor edit \w{8}"),
        (("sessions", "fork", "last"), r"session \w{8}; next: python -m conductor run --session \w{8}"),
        (("sessions", "import", "s.jsonl"), r"session \w{8}; next: python -m conductor run --session \w{8}"),
        (
            ("find-step", "last", "--answer", "no", "--worker", "beta"),
            r"session \w{8}; next: python -m conductor sessions show \w{8} --step N",
        ),
        (
            ("evaluate", "run", "q.jsonl", "-p", "plan:last"),
            r"evaluation \w+; next: python -m conductor evaluate table \w+",
        ),
    ],
)
def test_the_last_line_names_what_was_made(line: Line, arguments: tuple[str, ...], last: str) -> None:
    result = line(*arguments)
    assert result.code == 0, result.err
    assert re.fullmatch(f"conductor: {last}", result.err.splitlines()[-1])
    quiet = line(*arguments, "-q")
    assert (quiet.code, quiet.err) == (0, "")
    assert "; next:" not in line(*arguments, "--json").err


def test_a_file_of_sessions_is_not_overwritten_unasked(line: Line, folder: Path) -> None:
    before = (folder / "s.jsonl").read_bytes()
    result = line("sessions", "export", "--all", "-o", "s.jsonl")
    assert (result.code, (folder / "s.jsonl").read_bytes()) == (1, before)
    assert "s.jsonl exists and was not overwritten" in result.err
    assert line("sessions", "export", "--all", "-o", "s.jsonl", "--force").code == 0


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("q.jsonl", ("evaluate", "run", "-", "-p", "worker:alpha")),
        ("plan.json", ("evaluate", "run", "q.jsonl", "-p", "plan:-")),
        ("plan.json", ("evaluate", "trials", "-", "q.jsonl", "--workers", "--forecast")),
        ("q.jsonl", ("evaluate", "trials", "last", "-", "--workers", "--forecast")),
    ],
)
def test_questions_and_workflows_are_read_from_stdin(
    line: Line, monkeypatch: pytest.MonkeyPatch, source: str, arguments: tuple[str, ...]
) -> None:
    assert line("export", "last", "-o", "plan.json").code == 0
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(Path(source).read_bytes())))
    result = line(*arguments)
    assert result.code == 0, result.err
