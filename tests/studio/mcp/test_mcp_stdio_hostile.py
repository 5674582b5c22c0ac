"""The server over stdin and stdout, to which a client writes what no client should, or leaves in a call."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from storage import SessionStore
from tests.support.processes.child_process import child

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

ROOT = Path(__file__).parents[3]
POOL = '[[worker]]\nkind = "simulated"\nname = "alpha"\nanswer = "from alpha"\nlatency = 0.2\n'
CLIENT = {"name": "stranger", "version": "1"}
LOOK = {"name": "list_workers", "arguments": {}}
ASK = {"name": "ask", "arguments": {"query": "Why?", "model": "worker:alpha"}}


def message(method: str, params: Any = None, *, id: int | None = None) -> bytes:
    named = {} if id is None else {"id": id}
    return json.dumps({"jsonrpc": "2.0", **named, "method": method, "params": params or {}}).encode()


def asking(query: bytes) -> bytes:
    """A call of `ask` with these bytes for the query."""
    return message("tools/call", ASK, id=5).replace(b"Why?", query)


def pinging(parameters: bytes) -> bytes:
    """A ping with these bytes as its parameters."""
    return message("ping", id=5).replace(b"{}", b"{" + parameters + b"}")


DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
HOSTILE = {
    "no JSON": b"hello",
    "an empty line": b"",
    "NUL": b"\x00\x00\x00",
    "no UTF-8": b"\xff\xfe\x00{",
    "UTF-16": message("ping", id=5).decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + message("ping", id=5),
    "carriage returns": b"\r\r\r",
    "a line separator": "\u2028".encode(),
    "no UTF-8 in a query": asking(b"\xff\xff"),
    "half a character in a query": asking(b"\\ud800"),
    "NUL in a query": asking(b"a\\u0000b"),
    "a query of 30 MB": asking(b"x" * 30_000_000),
    "NaN": b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":NaN}}',
    "a number of 5,000 digits": b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":'
    + b"9" * 5_000
    + b"}}",
    "200,000 levels": b"[" * 200_000,
    "50,000 levels in an argument": asking(b"Why?").replace(b'"Why?"', DEEP),
    "300,000 keys": pinging(b",".join(b'"%d":1' % at for at in range(300_000))),
    "a batch": b"[" + message("ping", id=5) + b"," + message("ping", id=6) + b"]",
    "two on one line": message("ping", id=5) + message("ping", id=6),
    "a text": b'"x"',
    "an id that is an object": b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    "an id that is null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "an unknown method": message("sys/exec", id=5),
    "an unknown tool": message("tools/call", {"name": "__class__", "arguments": {"__proto__": 1}}, id=5),
    "parameters that are a list": message("tools/call", [1], id=5),
    "a response to nothing": b'{"jsonrpc":"2.0","id":99,"result":{}}',
    "a cancellation of nothing": message("notifications/cancelled", {"requestId": 12345}),
    "a second initialization": message("initialize", {"protocolVersion": "1"}, id=5),
}


@contextmanager
def served(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command, which has been initialized."""
    (folder / "pool.toml").write_text(POOL, encoding="utf-8")
    command = [sys.executable, "-m", "conductor", "mcp", "--pool", "pool.toml", "--database", url(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with child(command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, encoding=None, **pipes) as process:
        parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
        write(process, message("initialize", parameters, id=1), message("notifications/initialized"))
        assert read(process)["id"] == 1
        yield process


def url(folder: Path) -> str:
    return f"sqlite:///{folder}/agents.db"


def write(process: subprocess.Popen[bytes], *lines: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n".join(lines) + b"\n")
    process.stdin.flush()


def read(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def left(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """The exit code and what was written to stderr, of a server whose client closes stdin."""
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("times", [1, 3])
def test_a_signal_ends_it_in_order_while_its_stdin_stays_open(
    tmp_path: Path, number: signal.Signals, times: int
) -> None:
    with served(tmp_path) as process:
        for _ in range(times):
            process.send_signal(number)
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_whatever_a_client_writes_the_next_call_is_answered(tmp_path: Path) -> None:
    with served(tmp_path) as process:
        for number, (what, line) in enumerate(HOSTILE.items(), start=1000):
            write(process, line, message("tools/call", LOOK, id=number))
            while (answer := read(process)).get("id") != number:
                pass
            assert "alpha" in json.dumps(answer["result"]), what
        assert left(process) == (0, b"")


def test_a_mark_before_a_line_and_half_a_letter_in_it_get_an_answer(tmp_path: Path) -> None:
    with served(tmp_path) as process:
        for what in ("a byte order mark", "half a character in a query"):
            write(process, HOSTILE[what])
            while (answer := read(process)).get("id") != 5:
                pass
            assert "result" in answer, what
        assert left(process) == (0, b"")


@pytest.mark.parametrize("is_running", [False, True])
def test_a_client_that_leaves_in_a_call_stops_its_run_and_nothing_is_complained_of(
    tmp_path: Path, *, is_running: bool
) -> None:
    with served(tmp_path) as process:
        write(process, message("tools/call", ASK, id=5))
        if is_running:
            write(process, message("tools/call", {"name": "list_sessions", "arguments": {}}, id=6))
            read(process)
        assert left(process) == (0, b"")
    with SessionStore.open(url(tmp_path)) as store:
        for session in store.sessions.listed():
            run = store.runs.latest(session.id)
            assert run is None or run.status in ("cancelled", "finished")
