"""Whatever a model or a person wrote, no command hands a control character to a terminal or a pipe.

JSON and exported files have the texts as they were.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conductor.text.control_characters import visible
from conductor.text.json_text import portable
from tests.studio.cli.command_line import Line

HOSTILE = "a\x00b\x1b[31m\x07\x08\x7f\x9b2J\u202ec\u2066d\u2028e"
STORED = portable(HOSTILE)
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
OWN_MOVES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
"""How the program itself moves a terminal's cursor."""

COMMANDS: tuple[Sequence[str], ...] = (
    ("sessions", "list"),
    ("sessions", "search", "Why"),
    ("sessions", "show", "SESSION"),
    ("sessions", "notes", "SESSION"),
    ("sessions", "tag", "SESSION"),
    ("sessions", "export", "SESSION"),
    ("sessions", "rename", "SESSION", f"t{HOSTILE}"),
    ("run", "--session", "SESSION"),
    ("run", "--session", "SESSION", "--all"),
    ("run", "--session", "SESSION", "--all", "--events"),
    ("run", "--session", "SESSION", "--only", "1"),
    ("run", "--workflow", "workflow.json", "--pause-before", "2"),
    ("plan", f"Why {HOSTILE}?"),
    ("parse", "completion.txt", "--workers", "alpha"),
    ("report", "--session", "SESSION"),
    ("export", "SESSION"),
    ("evaluate", "keep", "SESSION", "--set", "s", "--accepted", HOSTILE),
    ("evaluate", "tests"),
    ("doctor",),
)


@pytest.fixture
def session(line: Line, folder: Path) -> str:
    """A session with these characters in all that is shown of it; the pool's worker answers with them."""
    table = {"name": "alpha", "strengths": HOSTILE, "answer": HOSTILE}
    lines = [f"{name} = {json.dumps(text)}" for name, text in table.items()]
    (folder / "pool.toml").write_text(
        "\n".join(["[[worker]]", 'kind = "simulated"', *lines]).replace("\x7f", "\\u007f"), encoding="utf-8"
    )
    steps = [
        {"instruction": f"draft {HOSTILE}", "worker": "alpha"},
        {"instruction": f"end {HOSTILE}", "worker": "alpha", "access": [0]},
    ]
    document = {"format": "conductor-workflow", "version": 1, "query": f"Why {HOSTILE}?", "steps": steps}
    (folder / "workflow.json").write_text(json.dumps(document), encoding="utf-8")
    plan = f"model_id = [0]\nsubtasks = [{HOSTILE!r}]\naccess_list = [[]]\n"
    (folder / "completion.txt").write_text(plan, encoding="utf-8")
    result = line("run", "--workflow", "workflow.json", "--json")
    assert result.code == 0, result.err
    shape = json.loads(result.out)
    assert shape["answer"] == STORED
    for name, text in (("tag", HOSTILE), ("note", HOSTILE), ("rename", f"t {HOSTILE}")):
        assert line("sessions", name, shape["session"], text).code == 0
    return str(shape["session"])


@pytest.mark.slow
@pytest.mark.parametrize("is_terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: ascii(" ".join(words)))
def test_no_command_prints_a_control_character(
    line: Line, session: str, command: Sequence[str], is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    result = line(*(session if word == "SESSION" else word for word in command))
    assert result.code in {0, 3, 4}, result.err
    printed = result.out + result.err
    assert "b\x1b" not in printed
    if is_terminal and command[0] == "run":
        # What works right now is drawn again below the lines.
        printed = OWN_MOVES.sub("", printed)
    assert UNSEEN.findall(printed) == []


@pytest.mark.slow
@pytest.mark.parametrize(("is_terminal", "sign"), [(False, "\ufffd"), (True, "␛")])
def test_an_answer_is_shown_as_far_as_a_stream_takes_it(
    line: Line, session: str, is_terminal: bool, sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    out = line("run", "--session", session).out
    assert out == f"{visible(HOSTILE, pictures=is_terminal)}\n"
    assert f"b{sign}[31m" in out


@pytest.mark.slow
def test_json_and_exported_files_have_the_texts_as_they_were(line: Line, session: str, folder: Path) -> None:
    shape = json.loads(line("run", "--session", session, "--json").out)
    # What was shown, stored and sent is one text, so nothing is called again.
    assert [step["status"] for step in shape["steps"]] == ["reused", "reused"]
    assert (shape["answer"], shape["steps"][0]["output"]) == (STORED, STORED)
    assert json.loads(line("export", session).out)["steps"][0]["instruction"] == f"draft {STORED}"
    assert json.loads(line("sessions", "notes", session, "--json").out)["notes"][0]["text"] == STORED
    events = [
        json.loads(each) for each in line("run", "--session", session, "--all", "--events").out.splitlines()
    ]
    assert events[-1]["answer"] == STORED
    (folder / "piped.jsonl").write_text(line("sessions", "export", session).out, encoding="utf-8")
    (folder / "piped.html").write_text(line("report", "--session", session).out, encoding="utf-8")
    assert line("report", "--session", session, "--output", "page.html").code == 0
    assert "\x1b[31m" in (folder / "page.html").read_text(encoding="utf-8")
    for file in ("piped.jsonl", "piped.html", "page.html"):
        copy = json.loads(line("sessions", "import", file, "--json").out)["imported"][0]
        again = json.loads(line("sessions", "show", copy, "--json").out)
        assert again["answer"] == STORED
