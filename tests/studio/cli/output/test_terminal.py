"""A terminal gets no control character that a model wrote, a file gets the text as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from studio.cli.line import main
from studio.cli.output.terminal import amount, lines_of, one_line, table

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


def test_columns_stand_under_one_another() -> None:
    text = table(("id", "title", "n"), [("1", "東京", "5"), ("22", "e\u0301te", "1,000")], right=(2,))
    assert text.splitlines() == ["id  title      n", "1   東京       5", "22  e\u0301te    1,000"]


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        ("one\ntwo\t three", 0, "one two three"),
        ("\x1b[31mred\x07", 0, "[31mred"),
        ("right\u202eto left", 0, "right to left"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("x" * 1_000_000, 4, "xxx…"),
        ("", 5, ""),
    ],
)
def test_what_moves_a_cursor_is_not_shown(text: str, limit: int, line: str) -> None:
    assert one_line(text, limit) == line


def test_a_text_keeps_its_lines_alone() -> None:
    assert lines_of("one\n\ttwo\x1b[2J\r") == "one\n\ttwo [2J "


def test_an_unknown_number_is_no_zero() -> None:
    assert (amount(None), amount(0), amount(12_345)) == ("-", "0", "12,345")
