"""A terminal is given no control character of a model's; a file is given the text as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conductor.commands.line import main

PLAN = """model_id = ["a"]
subtasks = ["look\\x1b[2Jhere\\x07"]
access_list = [[]]
"""
BROKEN = """model_id = ["\x1b[31mnobody"]
subtasks = ["look"]
access_list = [[]]
"""


def parsed(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    file = folder / "completion.txt"
    file.write_text(text, encoding="utf-8")
    main(["parse", str(file), "--workers", "a"])
    return capsys.readouterr()


@pytest.mark.parametrize("text", [PLAN, BROKEN])
def test_a_terminal_is_not_moved_by_what_a_model_wrote(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    out, err = parsed(text, tmp_path, capsys)
    assert "".join(letter for letter in out + err if not letter.isprintable() and letter != "\n") == ""
    assert "look [2Jhere" in out or "[31mnobody" in err


def test_a_file_gets_what_a_model_wrote_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = parsed(PLAN, tmp_path, capsys)
    assert "look\x1b[2Jhere\x07" in out
