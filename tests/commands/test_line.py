"""The command line itself: which commands there are, and what of the program each of them loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Line

COMMANDS = ("plan", "run", "parse", "export", "sessions", "serve", "doctor", "vllm", "fake-openai")


@pytest.mark.parametrize("arguments", [["--help"], ["-h", "sessions"]])
def test_the_help_names_every_command(line: Line, arguments: list[str]) -> None:
    said = line(*arguments)
    assert said.code == 0
    listed = {row.split()[0] for row in said.out.splitlines() if row.startswith("    ")}
    assert set(COMMANDS) <= listed


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_tells_what_it_takes(line: Line, command: str) -> None:
    said = line(command, "--help")
    assert said.code == 0
    assert said.out.startswith(f"usage: python -m conductor {command} ")


@pytest.mark.parametrize(("arguments", "reason"), [([], "COMMAND"), (["plant"], "invalid choice: 'plant'")])
def test_what_is_no_command_is_refused(line: Line, arguments: list[str], reason: str) -> None:
    said = line(*arguments)
    assert said.code == 2
    assert reason in said.err


@pytest.mark.slow
def test_a_reader_who_goes_away_is_no_fault(folder: Path) -> None:
    root = Path(__file__).parents[2]
    shown = subprocess.run(
        f"{sys.executable} -m conductor sessions list --json | true",
        shell=True, cwd=folder, env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}, capture_output=True,
        check=True,
    )  # fmt: skip
    assert b"Traceback" not in shown.stderr
    assert b"BrokenPipe" not in shown.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_that_finds_no_room_is_told_in_a_sentence(folder: Path) -> None:
    root = Path(__file__).parents[2]
    shown = subprocess.run(
        f"{sys.executable} -m conductor run 'What is 2 + 2?' --json > /dev/full",
        shell=True, cwd=folder, env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}, capture_output=True,
        check=False,
    )  # fmt: skip
    assert shown.returncode == 1
    assert b"conductor: the output cannot be written: No space left on device." in shown.stderr
    assert b"Traceback" not in shown.stderr
    assert b"Exception ignored" not in shown.stderr
