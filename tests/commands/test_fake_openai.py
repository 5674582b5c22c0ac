"""`fake-openai` serves until it is stopped, says where, and asks for the key that the environment holds."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from command_line import Line

ROOT = Path(__file__).parents[2]


@contextmanager
def started(*arguments: str, key: str = "") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the first line it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "conductor", "fake-openai", "--port", "0", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT), "CONDUCTOR_FAKE_KEY": key},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


@pytest.mark.slow
def test_it_answers_as_told_and_ends_on_ctrl_c() -> None:
    with started("--json", "--model", "alpha", "--tokens-per-second", "5000", key="sk-marked") as (
        process,
        line,
    ):
        told = json.loads(line)
        assert (told["models"], told["key"]) == (["alpha"], True)
        key = {"authorization": "Bearer sk-marked"}
        with httpx.Client(base_url=told["base_url"], headers=key) as client:
            body = {"model": "alpha", "messages": [{"role": "user", "content": "?"}]}
            answered = client.post("chat/completions", json=body)
            refused = client.post("chat/completions", json=body, headers={"authorization": "Bearer sk-other"})
            logged = client.get(told["base_url"].removesuffix("v1") + "log").json()["requests"]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert answered.json()["choices"][0]["message"]["content"].startswith("Simulated answer")
    assert refused.status_code == 401
    assert [(entry["status"], entry["authorization_sent"]) for entry in logged] == [(200, True), (401, True)]
    assert (process.returncode, out, err) == (0, "", "")


def test_a_person_is_told_where_it_is_and_that_it_is_simulated(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.fake_openai.server.FakeServer.run", lambda server: server.close())
    monkeypatch.delenv("CONDUCTOR_FAKE_KEY", raising=False)
    said = line("fake-openai", "--port", "0")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Simulated OpenAI endpoint at http://127.0.0.1:")
    assert "no key" in said.out
    monkeypatch.setenv("CONDUCTOR_FAKE_KEY", "sk-marked")
    keyed = line("fake-openai", "--port", "0")
    assert "the key in CONDUCTOR_FAKE_KEY" in keyed.out
    assert "sk-marked" not in keyed.out


def test_a_taken_port_is_one_sentence(line: Line) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = line("fake-openai", "--port", str(port))
    assert (said.code, said.out) == (1, "")
    assert f"127.0.0.1:{port} cannot be listened to" in said.err
    assert "--port" in said.err


@pytest.mark.parametrize(
    "arguments",
    [["--port", "70000"], ["--port", "x"], ["--tokens-per-second", "0"], ["--tokens-per-second", "fast"]],
)
def test_wrong_arguments_are_refused(line: Line, arguments: list[str]) -> None:
    said = line("fake-openai", *arguments)
    assert said.code == 2
    assert arguments[1] in said.err


def test_help_lists_every_misbehaviour(line: Line) -> None:
    said = line("fake-openai", "--help")
    assert said.code == 0
    for name in ("slow-first-token", "rate-limited-retry-after", "content-filter"):
        assert f"  {name} " in said.out
