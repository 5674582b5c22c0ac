"""A team's tests in the terminal: kept from a session, listed, written to a file, asked and deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.studio.cli.command_line import Line

pytestmark = pytest.mark.slow


@pytest.fixture
def session(line: Line) -> str:
    return str(json.loads(line("run", "What is 6 * 7?", "--json").out)["session"])


def test_a_test_is_kept_asked_written_and_deleted(line: Line, session: str, tmp_path: Path) -> None:
    test = json.loads(line("evaluate", "keep", session, "--check", "number", "--author", "Ada", "--json").out)
    assert (test["data_set"], test["accepted"], test["scorer"]) == ("team", "42", "number")
    assert (test["origin"], test["author"]) == (session, "Ada")
    assert json.loads(line("evaluate", "tests", "--json").out) == {"sets": {"team": 1}}
    assert "What is 6 * 7?" in line("evaluate", "tests", "team").out
    evaluation = json.loads(line("evaluate", "run", "team", "-p", "worker:calculator", "--json").out)
    assert (evaluation["spec"]["data"], evaluation["planners"][0]["right"]) == ("team", 1)
    file = tmp_path / "team.jsonl"
    assert line("evaluate", "tests", "team", "-o", str(file)).code == 0
    again = json.loads(line("evaluate", "run", str(file), "-p", "worker:calculator", "--json").out)
    assert again["spec"]["digest"] == evaluation["spec"]["digest"]
    assert line("evaluate", "tests", "team", "-o", "-").out == file.read_text(encoding="utf-8")
    assert "No test is left" in line("evaluate", "tests", "team", "--delete", test["id"][:8]).out
    assert "No test yet" in line("evaluate", "tests").out


def test_it_is_named_that_a_test_asks_without_the_files_of_its_question(
    line: Line, session: str, tmp_path: Path
) -> None:
    assert line("evaluate", "keep", session).err == ""
    (tmp_path / "notes.txt").write_text("Seven.", encoding="utf-8")
    run = line("run", "What is 6 * 8?", "--file", str(tmp_path / "notes.txt"), "--json")
    result = line("evaluate", "keep", json.loads(run.out)["session"], "--accepted", "48")
    assert (result.code, "without its files" in result.err) == (0, True)


def test_a_test_outlives_its_session(line: Line, session: str) -> None:
    assert "kept" in line("evaluate", "keep", session, "--accepted", "forty-two", "--set", "Sums").out
    line("sessions", "delete", session, "--yes")
    (test,) = json.loads(line("evaluate", "tests", "Sums", "--json").out)["tests"]
    assert (test["question"], test["accepted"], test["origin"]) == ("What is 6 * 7?", "forty-two", session)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--accepted", " "), "The accepted answer is empty"),
        (("--accepted", "three", "--check", "number"), "No answer can be 'three' by the check 'number'"),
        (("--accepted", "x" * 20_001), "has 20,001 characters; the limit is 20,000"),
        (("--accepted", "(((", "--check", "mathematics"), "cannot be read as mathematics"),
        (("--set", "demo"), "'demo' is a set that everybody has"),
        (("--set", "GPQA"), "'GPQA' is a set that everybody has"),
        (("--set", "../x.jsonl"), "cannot be a set's name"),
        (("--run", "ffff"), "There is no run 'ffff'"),
    ],
)
def test_what_cannot_be_a_test_is_refused(
    line: Line, session: str, options: tuple[str, ...], reason: str
) -> None:
    result = line("evaluate", "keep", session, *options)
    assert result.code == 1
    assert reason in result.err
    assert "No test yet" in line("evaluate", "tests").out


def test_a_question_without_an_answer_is_refused(line: Line) -> None:
    session = json.loads(line("plan", "What is 6 * 7?", "--json").out)["session"]
    result = line("evaluate", "keep", session)
    assert (result.code, "No run has answered this question yet" in result.err) == (1, True)


def test_a_set_has_a_question_once(line: Line, session: str) -> None:
    assert line("evaluate", "keep", session).code == 0
    result = line("evaluate", "keep", session, "--accepted", "43")
    assert (result.code, "has this question already" in result.err) == (1, True)
    assert line("evaluate", "keep", session, "--set", "other").code == 0


def test_a_set_that_no_one_kept_is_refused_by_name(line: Line) -> None:
    for command in (("run", "nothing"), ("tests", "nothing"), ("tests", "nothing", "-o", "-")):
        result = line("evaluate", *command)
        assert (result.code, "'nothing'" in result.err) == (1, True)
    assert "names no file; leave --column out" in line("evaluate", "run", "x", "--column", "id=ID").err
