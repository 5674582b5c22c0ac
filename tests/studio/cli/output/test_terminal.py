"""No stream gets a control character that a model wrote: a terminal shows its picture, a pipe gets U+FFFD."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import sys
from errno import ENOSPC
from pathlib import Path

import pytest
from rich.cells import cell_len

import studio.cli
from conductor.errors import FormatError, StorageError
from conductor.text.control_characters import escaped
from studio.cli.line import main
from studio.cli.output.terminal import amount, one_line, print_json, stream_text, table, written_to

PRINTING = ("print", "typer.echo", "sys.stdout.write", "sys.stderr.write")
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

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


@pytest.mark.parametrize(("text", "part"), [(PLAN, "look␛[2Jhere␇"), (BROKEN, r"'\x1b[31mnobody'")])
def test_a_terminal_shows_pictures_of_what_a_model_wrote_to_move_it(
    text: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    printed = "".join(parsed(text, tmp_path, capsys))
    assert UNSEEN.findall(printed) == []
    assert part in printed


def test_a_pipe_gets_a_replacement_for_each_of_these_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = parsed(PLAN, tmp_path, capsys)
    assert "look\ufffd[2Jhere\ufffd" in out


@pytest.mark.parametrize(
    ("text", "terminal", "pipe"),
    [
        ("one\n\ttwo", "one\n\ttwo", "one\n\ttwo"),
        ("one\r\ntwo\rthree", "one\ntwo␍three", "one\ntwo\ufffdthree"),
        ("\x00\x07\x1b\x1f\x7f", "\ufffd␇␛␟␡", "\ufffd" * 5),
        ("\x80\x85\x9b\x9f", "\ufffd" * 4, "\ufffd" * 4),
        ("\u2028\u2029\u202a\u202e\u2066\u2069", "\ufffd" * 6, "\ufffd" * 6),
        ("\ud800 \ud83d\ude00", "\ufffd 😀", "\ufffd 😀"),
        ("🏳\u200d🌈 שלום\u200f ß", "🏳\u200d🌈 שלום\u200f ß", "🏳\u200d🌈 שלום\u200f ß"),
    ],
)
def test_each_stream_gets_its_own_form(
    text: str, terminal: str, pipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stream_text(text) == pipe
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert stream_text(text) == terminal
    assert stream_text(text, sys.stderr) == pipe


@pytest.mark.parametrize("character", [chr(code) for code in (*range(0xA0), *range(0x2028, 0x202F), 0x2066)])
def test_json_has_escapes_and_loses_nothing(character: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": character})
    out = capsys.readouterr().out
    assert UNSEEN.findall(out) == []
    assert json.loads(out) == {"a": character}
    assert json.loads(escaped(json.dumps(character, ensure_ascii=False))) == character


@pytest.mark.parametrize("was_there", [0o666, 0o640, 0o600])
def test_a_file_that_is_written_over_becomes_its_users_alone(tmp_path: Path, was_there: int) -> None:
    file = tmp_path / "export.json"
    file.write_text("before", encoding="utf-8")
    file.chmod(was_there)
    with written_to(file) as out:
        out.write("after")
        assert file.read_text(encoding="utf-8") == "before"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text(encoding="utf-8") == "after"


@pytest.mark.parametrize("before", ["before", None])
@pytest.mark.parametrize("fault", [StorageError("damaged"), OSError(ENOSPC, "No space left on device")])
def test_a_file_that_cannot_be_written_to_its_end_stays_as_it_was(
    tmp_path: Path, before: str | None, fault: Exception
) -> None:
    file = tmp_path / "exports" / "export.json"
    file.parent.mkdir()
    if before is not None:
        file.write_text(before, encoding="utf-8")

    def write() -> None:
        with written_to(file) as out:
            out.write("half")
            raise fault

    with pytest.raises((StorageError, FormatError)):
        write()
    assert list(file.parent.iterdir()) == [file] * (before is not None)
    assert before is None or file.read_text(encoding="utf-8") == before


def test_a_device_is_written_to_and_stays_one() -> None:
    with written_to(Path(os.devnull)) as out:
        out.write("text")
    assert Path(os.devnull).is_char_device()


def test_no_command_prints_but_through_the_functions_for_it() -> None:
    folder = Path(studio.cli.__file__).parent
    calls = {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in PRINTING
    }
    assert calls == {"output/terminal.py"}


def test_columns_stand_under_one_another() -> None:
    text = table(("id", "title", "n"), [("1", "東京", "5"), ("22", "e\u0301te", "1,000")], right=(2,))
    assert text.splitlines() == ["id  title      n", "1   東京       5", "22  e\u0301te    1,000"]


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        ("one\ntwo\t three", 0, "one two three"),
        ("a\u2028b\x85c\x1fd", 0, "a b c d"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("x" * 1_000_000, 4, "xxx…"),
        ("", 5, ""),
    ],
)
def test_a_cell_is_one_line(text: str, limit: int, line: str) -> None:
    assert one_line(text, limit) == line


def test_a_column_is_as_wide_as_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_terminal, sign in ((False, "\ufffd"), (True, "␛")):
        monkeypatch.setattr(sys.stdout, "isatty", lambda it=is_terminal: it)
        lines = table(("a", "b"), [("\x1b", "1"), ("xx", "2")]).splitlines()
        assert lines == ["a   b", f"{sign}   1", "xx  2"]


@pytest.mark.parametrize("room", [20, 40, 80, 160])
def test_a_table_is_as_wide_as_the_terminal_and_loses_no_column(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(room))
    headings = ("planner", *(f"number {at}" for at in range(9)), "title")
    rows = [(f"worker:{at}", *("1,000",) * 9, "日本 " * 30) for at in range(3)]
    blocks = [block.splitlines() for block in table(headings, rows, right=range(1, 10)).split("\n\n")]
    assert max(cell_len(line) for block in blocks for line in block) <= room
    assert {tuple(line.split()[0] for line in block) for block in blocks} == {
        ("planner", "worker:0", "worker:1", "worker:2")
    }
    assert [name for name in headings if not any(name in block[0] for block in blocks)] == []
    assert len(blocks) == {20: 10, 40: 4, 80: 3, 160: 1}[room]


def test_an_unknown_number_is_no_zero() -> None:
    assert (amount(None), amount(0), amount(12_345)) == ("-", "0", "12,345")
