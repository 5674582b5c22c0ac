"""`serve`: the app, in a process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from command_line import Line

ROOT = Path(__file__).parents[2]
# The server's place is taken by nobody: this process ends at once.
ANNOUNCED = """
import sys
from conductor.commands.announcement import announce_when_up

announce_when_up("up", host="127.0.0.1", port=int(sys.argv[1]), path="/")
"""


def serve(*arguments: str) -> subprocess.Popen[str]:
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "conductor", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )


@pytest.mark.slow
def test_programs_are_told_where_the_app_is_once_it_answers(folder: Path) -> None:
    with serve("--json", "--port", "0") as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        try:
            with urllib.request.urlopen(url) as page:
                assert page.status == 200
        finally:
            server.terminate()
        assert server.communicate(timeout=20)[0] == ""


@pytest.mark.slow
def test_nobody_waits_for_an_app_that_ended_before_it_answered(folder: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        announced = subprocess.run(
            [sys.executable, "-c", ANNOUNCED, str(silent.getsockname()[1])],
            env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=True, timeout=20,
        )  # fmt: skip
    assert (announced.stdout, announced.stderr) == (b"", b"")


@pytest.fixture
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the app would take the tests' place, the test fails."""

    def take_our_place(*_: object) -> None:
        pytest.fail("the app was started")

    monkeypatch.setattr("os.execve", take_our_place)


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize("options", [[], ["--json"], ["--host", "127.0.0.1"]])
def test_a_port_that_is_taken_is_said_before_the_app_starts(line: Line, options: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = line("serve", "--port", str(port), *options)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("conductor: The app cannot listen at ")
    assert f", port {port}: Address already in use. Choose another --port or --host.\n" in said.err


@pytest.mark.usefixtures("nothing_starts")
def test_an_address_that_is_not_of_this_machine_is_said_in_a_sentence(line: Line) -> None:
    said = line("serve", "--port", "0", "--host", "192.0.2.1")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("conductor: The app cannot listen at 192.0.2.1, port 0: ")
    assert said.err.count("\n") == 1
