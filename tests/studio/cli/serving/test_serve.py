"""`serve`: the app, or the API alone, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer import BadParameter

from conductor.errors import ServeError
from storage import SessionStore
from storage.database import database
from studio.cli.options import Configured
from studio.cli.serving.app_process import free_ports
from studio.cli.serving.on_ray import Replicas, replicas
from studio.cli.serving.serve import configure
from tests.studio.cli.command_line import Line
from tests.support.processes.child_process import child

ROOT = Path(__file__).parents[4]

STOPS = [
    [signal.SIGTERM],
    [signal.SIGINT],
    [signal.SIGINT, signal.SIGINT],
    [signal.SIGTERM, signal.SIGINT, signal.SIGTERM],
]
"""One after another: an impatient person or supervisor does not wait for the end."""


def serve(*arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
    return child(
        [sys.executable, "-m", "conductor", "serve", *arguments],
        stop=signal.SIGTERM,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def send(server: subprocess.Popen[str], numbers: list[signal.Signals]) -> None:
    """Send it these, the later ones while it ends."""
    for number in numbers:
        server.send_signal(number)
        time.sleep(0.15 * (len(numbers) > 1))


def address(server: subprocess.Popen[str]) -> dict[str, Any]:
    """What it prints once it answers; where it ends instead, its errors."""
    line = server.stdout.readline()
    assert line, server.stderr.read()
    printed: dict[str, Any] = json.loads(line)
    return printed


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("numbers", STOPS)
def test_json_gives_the_address_of_the_app_which_ends_in_order_at_a_signal(
    folder: Path, numbers: list[signal.Signals]
) -> None:
    with serve("--json", "--port", "0") as server:
        assert httpx.get(address(server)["url"]).status_code == 200
        send(server, numbers)
        out, log = server.communicate(timeout=60)
        assert (server.returncode, out) == (0, ""), log
        assert "Traceback" not in log
        assert "Aborted" not in log


@pytest.fixture
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the app would start, the test fails."""

    def start(*_: object, **__: object) -> None:
        pytest.fail("the app was started")

    monkeypatch.setattr("runpy.run_module", start)


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize("options", [[], ["--json"], ["--host", "127.0.0.1"]])
def test_a_port_that_is_taken_is_named_before_the_app_starts(line: Line, options: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        result = line("serve", "--port", str(port), *options)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("conductor: The app cannot listen at ")
    assert f", port {port}: Address already in use. Choose another --port or --host.\n" in result.err


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "studio.example.org"])
def test_an_app_without_a_password_is_not_served_to_other_machines(line: Line, host: str) -> None:
    result = line("serve", "--port", "0", "--host", host)
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        f"conductor: {host} can be reached by other machines, and the app has no password; set "
        "CONDUCTOR_PASSWORD or CONDUCTOR_OIDC_ISSUER, or leave --host out.\n"
    )


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize("options", [[], ["--host", "0.0.0.0"], ["--api-only"]])
def test_a_secrets_file_gives_no_password(line: Line, folder: Path, options: list[str]) -> None:
    (folder / ".streamlit").mkdir()
    secrets = folder / ".streamlit" / "secrets.toml"
    secrets.touch(mode=0o600)
    secrets.write_text('CONDUCTOR_PASSWORD = "correct horse battery"\n', encoding="utf-8")
    result = line("serve", "--port", "0", *options)
    assert (result.code, result.out) == (1, "")
    assert "from which only keys are read; set it in the environment" in result.err
    assert "correct horse" not in result.err


def test_with_a_password_the_app_may_listen_anywhere(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_PASSWORD", "correct horse battery")
    started: list[str] = []
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr("runpy.run_module", lambda *_, **__: started.extend(sys.argv))
    line("serve", "--port", "0", "--host", "0.0.0.0")
    assert started[-2:] == ["--server.address", "0.0.0.0"]
    assert "correct horse" not in " ".join(started)


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize("options", [["--host", "0.0.0.0"], ["--host", "0.0.0.0", "--api-only"]])
def test_an_open_api_is_not_served_to_other_machines(
    line: Line, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("CONDUCTOR_API_OPEN", "")  # the command sets it
    result = line("serve", "--port", "0", "--api-open", *options)
    assert (result.code, result.out) == (1, "")
    assert "The API cannot be open where other machines may reach the server" in result.err


@pytest.mark.usefixtures("nothing_starts")
def test_a_short_password_is_refused(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_PASSWORD", "hunter2")
    result = line("serve", "--port", "0")
    assert result.code == 1
    assert "has 7 characters; choose a password of at least 12" in result.err


@pytest.mark.usefixtures("nothing_starts")
def test_an_address_that_is_not_of_this_machine_is_one_sentence(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONDUCTOR_PASSWORD", "correct horse battery")
    result = line("serve", "--port", "0", "--host", "192.0.2.1")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("conductor: The app cannot listen at 192.0.2.1, port 0: ")
    assert result.err.count("\n") == 1


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize(
    ("options", "number"),
    [
        (["--processes", "2", "--api-only"], 2),
        (["--processes", "2"], 3),
        (["--app-processes", "2"], 2),
        (["--app-processes", "2", "--processes", "2"], 4),
    ],
)
def test_several_processes_are_not_over_a_file_that_could_lose_writes(
    line: Line, monkeypatch: pytest.MonkeyPatch, options: list[str], number: int
) -> None:
    monkeypatch.setattr(database, "several_may_write", lambda: False)
    result = line("serve", "--port", "0", *options)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(
        f"conductor: {number} processes need a store that all of them may write to at once, and "
    )


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize(
    ("offset", "error"),
    [
        (0, "Address already in use. Choose another --port or --host."),
        (1, "Address already in use. Choose another --port or --host."),
        (None, "there is no such port. Choose another --port or --host."),
    ],
)
def test_each_port_of_several_processes_of_the_app_has_to_be_free(offset: int | None, error: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = 65535 if offset is None else listener.getsockname()[1] - offset
        with pytest.raises(ServeError, match=error):
            free_ports("127.0.0.1", port, number=2)


@pytest.mark.usefixtures("nothing_starts")
def test_the_api_alone_has_no_processes_of_the_app(line: Line) -> None:
    result = line("serve", "--api-only", "--app-processes", "2")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("conductor: --app-processes is for the app; ")


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            ["--replicas", "2"],
            "--replicas and --requests-per-replica are for a Ray cluster: name it with --ray.",
        ),
        (
            ["--ray", "h:1", "--processes", "2"],
            "--processes and --app-processes are for one machine; with --ray, set --replicas.",
        ),
        (
            ["--ray", "h:1", "--port", "0"],
            "All machines of a Ray cluster listen at one port: name it with --port.",
        ),
        (["--ray", "h:1", "--api-open"], "On a Ray cluster the API cannot be open: leave --api-open "),
        (["--ray", "h:1"], "A Ray cluster needs a store on PostgreSQL, which all of its machines reach; "),
        (
            ["--ray", "h:1", "--database", "postgresql://a:b@c/d"],
            "Ray shows the command line of each program ",
        ),
    ],
)
def test_what_cannot_be_deployed_on_a_cluster_is_refused_before_it_is_asked(
    line: Line, monkeypatch: pytest.MonkeyPatch, options: list[str], error: str
) -> None:
    for name in ("CONDUCTOR_API_OPEN", "CONDUCTOR_DATABASE_URL"):
        # The command sets it for what it starts.
        monkeypatch.setenv(name, "")
    result = line("serve", *options)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"conductor: {error}")
    assert "a:b" not in result.err


@pytest.mark.parametrize(("text", "expected"), [("4", Replicas(4, 4)), ("1-8", Replicas(1, 8))])
def test_a_number_of_replicas_is_one_or_two(text: str, expected: Replicas) -> None:
    assert replicas(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0-3", "3-1", "-3", "1-", "many", "1-2-3"])
def test_what_is_no_number_of_replicas_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadParameter, match="1-8 for one to eight"):
        replicas(text)


def test_a_pool_is_named_for_processes_in_other_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for named, expected in (("orchard", "orchard"), ("pool.toml", str(Path.cwd() / "pool.toml"))):
        monkeypatch.setenv("CONDUCTOR_POOL", "")
        configure(Configured(pool=Path(named)))
        assert os.environ["CONDUCTOR_POOL"] == expected


# -- the API alone ---------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("numbers", STOPS)
def test_the_api_alone_answers_with_a_token_and_ends_in_order(
    folder: Path, numbers: list[signal.Signals]
) -> None:
    with serve("--api-only", "--port", "0", "--json", "--app-url", "http://app/") as server:
        result = address(server)
        token = folder / "data" / "api-token"
        assert result["token_file"] == str(token)
        assert token.stat().st_mode & 0o777 == 0o600
        request = {"model": "conductor", "messages": [{"role": "user", "content": "What is 17*23?"}]}
        asking = f"{result['url']}/chat/completions"
        assert httpx.post(asking, json=request).status_code == 401
        secret = token.read_text(encoding="utf-8")
        key = {"authorization": f"Bearer {secret}"}
        answer = httpx.post(asking, json=request, headers=key)
        assert "391" in answer.json()["choices"][0]["message"]["content"]
        assert answer.json()["conductor"]["url"].startswith("http://app/?session=")
        root = result["url"].removesuffix("/v1")
        for nowhere in (f"{root}/", f"{result['url']}/nowhere"):
            assert httpx.get(nowhere).json()["error"]["code"] == "unknown_url"
        send(server, numbers)
        log = server.communicate(timeout=60)[1]
        assert server.returncode == 0, log
        assert "Traceback" not in log
    with SessionStore.open(f"sqlite:///{folder / 'data' / 'conductor.db'}") as store:
        assert [session.origin for session in store.sessions.listed()] == ["api"]


@pytest.mark.thorough
@pytest.mark.slow
def test_the_log_is_json_lines_without_the_question_or_the_token(folder: Path) -> None:
    with serve("--api-only", "--port", "0", "--json", "--log-json") as server:
        url = address(server)["url"]
        token = (folder / "data" / "api-token").read_text(encoding="utf-8")
        key = {"authorization": f"Bearer {token}"}
        body = {"model": "conductor", "messages": [{"role": "user", "content": "What is 17*23?"}]}
        answer = httpx.post(f"{url}/chat/completions", json=body, headers=key).json()
        metrics = httpx.get(f"{url.removesuffix('/v1')}/metrics", headers=key).text
        assert 'conductor_runs_total{outcome="finished"} 1.0' in metrics
        server.send_signal(signal.SIGTERM)
        log = server.communicate(timeout=60)[1]
    lines = [json.loads(line) for line in log.splitlines()]
    session = answer["conductor"]["session"]
    assert [line["event"] for line in lines if line.get("session") == session][:2] == [
        "plan began",
        "plan ended",
    ]
    (request,) = [line for line in lines if line["event"] == "request"]
    assert (request["route"], request["status"], request["session"]) == ("/v1/chat/completions", 200, session)
    assert "17*23" not in log
    assert token not in log


@pytest.mark.slow
def test_a_port_that_is_taken_is_one_sentence_of_the_api(line: Line) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        result = line("serve", "--api-only", "--port", str(listener.getsockname()[1]))
    assert result.code == 1
    assert "cannot listen" in result.err
