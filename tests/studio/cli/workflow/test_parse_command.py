"""`parse` reads a completion from a file or stdin and reports it, as lines or as exactly one JSON shape."""

from __future__ import annotations

import io
import json
import os
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.studio.cli.command_line import Line

GOOD = "So:\nmodel_id: [0, 1]\nsubtasks = ['plan', 'do']\naccess_list = [[], ['all']]"


def spoken(folder: Path, text: str) -> str:
    (folder / "result.txt").write_text(text, encoding="utf-8")
    return "result.txt"


def test_json_has_exactly_the_published_shape(line: Line, folder: Path) -> None:
    result = line("parse", spoken(folder, GOOD), "--workers", "a,b", "--json")
    shape = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    [repair] = shape.pop("repairs")
    assert (repair["kind"], set(repair)) == ("colon-label", {"kind", "detail", "span"})
    assert repair["span"][0] == GOOD.index(": [")
    assert shape == {
        "ok": True,
        "workflow": {
            "steps": [
                {"instruction": "plan", "worker": "a", "worker_index": 0, "access": []},
                {"instruction": "do", "worker": "b", "worker_index": 1, "access": [0]},
            ]
        },
        "return_previous": False,
        "errors": [],
        "candidates": 1,
    }


def test_a_bad_plan_exits_with_1_and_its_reasons(line: Line, folder: Path) -> None:
    result = line("parse", spoken(folder, GOOD), "--workers", "a", "--json")
    shape = json.loads(result.out)
    assert (result.code, shape["ok"], shape["workflow"]) == (1, False, None)
    [error] = shape["errors"]
    assert error["step"] == 1
    assert error["message"].startswith("Step 2 asks for worker 1")


def test_three_empty_lists_return_the_previous_answer_in_a_later_round(line: Line, folder: Path) -> None:
    file = spoken(folder, "model_id = []\nsubtasks = []\naccess_list = []")
    assert line("parse", file, "--workers", "a", "--json").code == 1
    result = line("parse", file, "--workers", "a", "--round", "2", "--json")
    shape = json.loads(result.out)
    assert (result.code, shape["return_previous"], shape["workflow"]) == (0, True, None)
    assert "returns the previous answer" in line("parse", file, "--workers", "a", "--round", "2").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--dialect", "binary"], 0),
        (["--dialect", "position"], 1),
        (["--max-steps", "1"], 1),
        (["--dialect", "nonsense"], 2),
        (["--max-steps", "0"], 2),
    ],
)
def test_dialect_and_limit_are_arguments(line: Line, folder: Path, arguments: list[str], code: int) -> None:
    assert line("parse", spoken(folder, GOOD), "--workers", "a,b", *arguments).code == code


def test_a_person_reads_the_steps_the_repairs_and_the_reasons(line: Line, folder: Path) -> None:
    good = line("parse", spoken(folder, GOOD), "--workers", "a,b")
    assert "chain, 2 steps\n  ○ 1. a: plan\n  ● 2. b: do (sees 1)\n" in good.out
    assert "repaired, colon-label: " in good.out
    bad = line("parse", spoken(folder, "nothing"), "--workers", "a,b")
    assert (bad.code, bad.out) == (1, "")
    assert bad.err.startswith("conductor: There is no plan in the text")


def test_plans_that_do_not_count_are_listed(line: Line, folder: Path) -> None:
    plans = [GOOD.replace("do", "draft"), GOOD, GOOD.replace("1", "9")]
    result = line("parse", spoken(folder, "\n\n".join(plans)), "--workers", "a,b")
    assert (result.code, result.err) == (0, "")
    assert "2. b: do (sees 1)" in result.out
    assert "plan 1 of 3 does not count: chain, 2 steps, valid, but not the last\n" in result.out
    assert "plan 3 of 3 does not count: Step 2 asks for worker 9" in result.out
    neither = line("parse", spoken(folder, "\n\n".join(plans)), "--workers", "c")
    assert "plan 2 of 3 does not count: Step 2 asks for worker 1" in neither.out
    assert neither.err.startswith("conductor: Step 2 asks for worker 9")


@pytest.mark.parametrize("arguments", [["-"], []])
def test_a_completion_may_come_from_stdin(
    line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    with Path(spoken(folder, GOOD)).open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert json.loads(line("parse", *arguments, "--workers", "a,b", "--json").out)["ok"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none.txt", "none.txt cannot be read: No such file or directory."),
        (".", ". cannot be read: Is a directory."),
        (
            "/dev/zero",
            "/dev/zero has more than 5,000,000 bytes, the most for a completion; choose another file.",
        ),
        ("bytes.txt", "bytes.txt is not text in UTF-8; save it as such."),
    ],
)
def test_a_file_that_cannot_be_read_is_named(line: Line, folder: Path, name: str, reason: str) -> None:
    (folder / "bytes.txt").write_bytes(b"\xff\xfe")
    result = line("parse", name, "--workers", "a")
    assert (result.code, result.out, result.err) == (1, "", f"conductor: {reason}\n")


def test_stdin_in_another_encoding_is_named(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(GOOD.encode("utf-16"))))
    result = line("parse", "-", "--workers", "a,b")
    assert (result.code, result.err) == (1, "conductor: stdin is not text in UTF-8; save it as such.\n")


@pytest.mark.parametrize("workers", ["", "a,,b", ","])
def test_workers_without_a_name_are_refused(line: Line, workers: str) -> None:
    result = line("parse", "--workers", workers)
    assert result.code == 2
    assert "none of them empty" in result.err


def test_any_text_can_be_printed_on_any_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
    file = spoken(folder, GOOD.replace("'plan'", "'\\ud800 caf\u00e9'"))
    # The program takes a copy, which must not outlive it here.
    monkeypatch.setattr("conductor.own_settings._environment", os.environ)
    monkeypatch.setattr("sys.argv", ["conductor", "parse", file, "--workers", "a,b"])
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("conductor", run_name="__main__")
    out.flush()
    err.flush()
    assert (stop.value.code, err.buffer.getvalue()) == (0, b"")  # type: ignore[attr-defined]
    assert b"1. a: \\ufffd caf\\xe9" in out.buffer.getvalue()  # type: ignore[attr-defined]
