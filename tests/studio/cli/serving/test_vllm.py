"""`vllm` serves until it is interrupted, prints the lines of a pool file, and names what is missing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.studio.cli.command_line import Line
from tests.support.endpoints.fake_vllm import fake_vllm, free_port
from tests.support.processes.child_process import child

KEY = "sk-marked"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the person who runs the tests is not ours to use."""
    monkeypatch.delenv("CONDUCTOR_KEY", raising=False)
    monkeypatch.delenv("VLLM_API_KEY", raising=False)


@pytest.fixture
def record(folder: Path) -> Path:
    """Where the fake server writes what it was given."""
    return folder / "record.json"


@pytest.fixture
def site(folder: Path) -> str:
    """A folder that holds the fake vLLM."""
    return fake_vllm(folder / "site")


@pytest.fixture
def beside_vllm(site: str, record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This interpreter, when it starts another, has the fake vLLM."""
    monkeypatch.setenv("PYTHONPATH", site)
    monkeypatch.setenv("RECORD", str(record))


@pytest.fixture
def start(site: str, record: Path) -> Iterator[Start]:
    """Starts the command in its own process beside the fake vLLM."""

    def started(*arguments: str, **variables: str) -> subprocess.Popen[str]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("CONDUCTOR_")},
            **{"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[4]), site]), "RECORD": str(record)},
            **variables,
        }
        # Asked to end, not killed: it has a server to end.
        command = child(
            [sys.executable, "-m", "conductor", "vllm", *arguments],
            stop=signal.SIGTERM,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return processes.enter_context(command)

    with ExitStack() as processes:
        yield started


def until_ready(process: subprocess.Popen[str]) -> str:
    """The pool lines, which are the command's output up to the worker's last line."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("context"):
            return "".join(lines)
    raise AssertionError(process.stderr.read())


def server_record(record: Path) -> dict[str, Any]:
    """The arguments and the environment that the server got."""
    content: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    return content


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_serves_prints_the_pool_and_ends_cleanly(
    start: Start, record: Path, ending: signal.Signals
) -> None:
    port = str(free_port())
    sized = ("--gpu", "24", "--reasoning-parser", "qwen3", "--tool-call-parser", "hermes")
    process = start("--model", "org/model-7b", "--port", port, *sized, "--", "--seed", "7", CONDUCTOR_KEY=KEY)
    document = tomllib.loads(until_ready(process))
    assert document["conductor"] == {
        "base_url": f"http://127.0.0.1:{port}/v1",
        "model": "conductor",
        "api_key_env": "CONDUCTOR_KEY",
    }
    assert document["worker"][0]["name"] == "model-7b"
    process.send_signal(ending)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "ready; the lines for pool.toml follow; Ctrl+C ends the server" in err
    assert err.endswith("stopped\n")
    server = server_record(record)
    assert server["arguments"][-2:] == ["--seed", "7"]
    arguments = " ".join(server["arguments"])
    for flags in (
        "--generation-config vllm",
        "--max-model-len 16384",
        "--reasoning-parser qwen3",
        "--tool-call-parser hermes",
    ):
        assert flags in arguments
    assert server["environment"]["VLLM_API_KEY"] == KEY
    with pytest.raises(ProcessLookupError):
        os.kill(server["pid"], 0)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_named_variable_holds_the_key_which_is_shown_nowhere(
    beside_vllm: None, record: Path, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    port = str(free_port())
    result = line(
        *("vllm", "--model", "m", "--port", port, "--api-key-env", "MY_API_KEY"),
        *("--", "--fake", "leak", "--fake", "end"),
    )
    assert 'api_key_env = "MY_API_KEY"' in result.out
    assert "the key is ***" in result.err
    assert KEY not in result.out + result.err + " ".join(server_record(record)["arguments"])


@pytest.mark.slow
def test_a_program_reads_one_json_object(beside_vllm: None, line: Line) -> None:
    port = free_port()
    result = line(
        *("vllm", "--model", "m", "--port", str(port), "--max-model-len", "2048", "--json"),
        *("--", "--fake", "end"),
    )
    shape = json.loads(result.out)
    assert {**shape, "pool": ""} == {
        "base_url": f"http://127.0.0.1:{port}/v1",
        "model": "conductor",
        "api_key_env": None,
        "context": 2048,
        "pool": "",
    }
    assert tomllib.loads(shape["pool"])["worker"][0]["context"] == 2048
    assert "no API key, as CONDUCTOR_KEY is not set" in result.err
    assert result.code == 1, "a server that ends by itself is no success"


@pytest.mark.thorough
@pytest.mark.slow
def test_a_server_that_dies_is_one_error_below_its_log(beside_vllm: None, line: Line) -> None:
    result = line("vllm", "--model", "m", "--port", str(free_port()), "--", "--fake", "die")
    assert (result.code, result.out) == (1, "")
    log, _, error = result.err.rpartition("conductor: ")
    assert error.startswith("The vLLM server ended with exit code 1 before it was ready; its log above")
    assert "ValueError: 99 GiB are needed, 80 GiB are there." in log


@pytest.mark.thorough
@pytest.mark.slow
def test_an_interrupt_before_it_is_ready_is_no_success(start: Start) -> None:
    process = start("--model", "m", "--port", str(free_port()), "--", "--fake", "never")
    assert any("Starting to load model" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.slow
def test_missing_vllm_is_one_sentence_with_the_command_that_installs_it(line: Line) -> None:
    result = line("vllm", "--model", "org/model-7b")
    assert (result.code, result.out) == (1, "")
    assert f"install it with: {sys.executable} -m pip install vllm" in result.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--model", "m", "--host", "0.0.0.0"], "0.0.0.0 can be reached by other machines"),
        (["--model", "m", "--api-key-env", "MY_API_KEY"], "MY_API_KEY is not set; put the API key in it"),
        (["--model", "m", "--", "--api-key", "sk-1"], "everyone who lists processes"),
        (["--model", "m", "--", "--port=1"], "--port is set by our own option"),
        (["--model", "m", "--python", "/nowhere/python"], "/nowhere/python cannot be run"),
    ],
)
def test_what_must_not_be_served_is_refused_at_once(line: Line, arguments: list[str], reason: str) -> None:
    result = line("vllm", *arguments)
    assert (result.code, result.out) == (1, "")
    assert reason in result.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Missing option '--model'"),
        (["--model", "m", "stray"], "unknown argument 'stray'; flags for vLLM come after --"),
        (["--model", "m", "--port", "70000"], "Input should be less than or equal to 65535"),
        (["--model", "m", "--gpu", "40"], "there are defaults for 24 and 80 GB"),
        (["--model", "m", "--tool-call-parser", "--x"], "write the name of one of vLLM's parsers"),
        (["--model", "m", "--api-key-env", "sk-proj-1"], "write the name of a variable, like CONDUCTOR_KEY"),
    ],
)
def test_wrong_arguments_are_refused(line: Line, arguments: list[str], reason: str) -> None:
    result = line("vllm", *arguments)
    assert result.code == 2
    assert reason in result.err
    assert "sk-proj" not in result.err
