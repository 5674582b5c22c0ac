"""A server is waited for, its end is reported, and it leaves no process behind; each is a real process."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from conductor.errors import ServeError
from conductor.vllm.server import Server
from tests.support.endpoints.fake_vllm import SERVER, fake_vllm, free_port
from tests.support.processes.child_process import lives
from tests.support.runs.waiting import until

pytestmark = pytest.mark.slow

KEY = "sk-marked"

Make = Callable[..., Server]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Where the server writes what it was given."""
    return tmp_path / "record.json"


@pytest.fixture
def make(tmp_path: Path, record: Path) -> Make:
    """A server of the fake vLLM that behaves as named."""
    site = fake_vllm(tmp_path / "site")

    def server_of(
        *fakes: str,
        key: str | None = KEY,
        grace: float = 20.0,
        show: Callable[[str], None] = lambda _: None,
    ) -> Server:
        port = free_port()
        behaviour = [word for fake in fakes for word in ("--fake", fake)]
        command = [sys.executable, "-m", SERVER, "--served-model-name", "conductor", *behaviour]
        environment = {**os.environ, "PYTHONPATH": site, "RECORD": str(record)}
        return Server(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            environment=environment if key is None else {**environment, "VLLM_API_KEY": key},
            url=f"http://127.0.0.1:{port}",
            key=key,
            grace=grace,
            show=show,
        )

    return server_of


def ready(server: Server, model: str = "conductor") -> int | None:
    return server.wait_until_ready(model, every=0.02)


def ready_and_interrupted(server: Server) -> None:
    """Wait until the server is ready; an interrupt follows a tenth of a second later."""
    ready(server)
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()


def until_gone(pid: int) -> None:
    """Wait for a process that was killed, which takes it a moment; a living one would fail the test."""
    until(lambda: not lives(pid), what=f"the process {pid} is gone")


def test_a_server_that_is_unhealthy_at_first_is_waited_for(make: Make) -> None:
    with make("slow") as server:
        assert ready(server) == 4096


def test_a_server_that_ends_at_its_start_is_an_error_below_its_log_without_the_key(make: Make) -> None:
    lines: list[str] = []
    with pytest.raises(ServeError) as error, make("leak", "die", show=lines.append) as server:
        ready(server)
    assert str(error.value) == (
        "The vLLM server ended with exit code 1 before it was ready; its log above gives the reason."
    )
    assert lines[-1] == "RuntimeError: Engine core initialization failed. See root cause above."
    assert any("the key is ***" in line for line in lines)
    assert KEY not in "".join(lines)


def test_a_server_that_ends_later_is_not_taken_for_a_success(make: Make) -> None:
    lines: list[str] = []
    with make("end", show=lines.append) as server:
        ready(server)
        with pytest.raises(ServeError, match="exit code 3 by itself"):
            server.join()
    assert lines[-1].endswith("the engine is dead")


def test_a_server_that_was_killed_states_by_which_signal(make: Make, record: Path) -> None:
    with make() as server:
        ready(server)
        os.kill(json.loads(record.read_text(encoding="utf-8"))["pid"], signal.SIGKILL)
        with pytest.raises(ServeError, match="was killed by SIGKILL"):
            server.join()


def test_a_server_is_ready_when_healthy_and_ended_in_order_with_its_log(make: Make, record: Path) -> None:
    lines: list[str] = []
    with make("controls", show=lines.append) as server:
        assert ready(server) == 4096
    assert "(APIServer pid=7) INFO 11-21 13:30:14 [model.py:733] go ]0;title 2J" in lines
    assert lines[-1].endswith("shutdown")
    assert not lives(json.loads(record.read_text(encoding="utf-8"))["pid"])


def test_an_interrupt_while_waiting_ends_it_too(
    make: Make, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = threading.Event()

    def sleep(seconds: float) -> None:
        """Not in the middle of a request, whose socket would be left to the collector, which warns of it."""
        time.sleep(seconds)
        if loads.is_set():
            loads.clear()
            signal.raise_signal(signal.SIGINT)

    def show(line: str) -> None:
        if "Starting to load model" in line:
            loads.set()

    monkeypatch.setattr("conductor.vllm.server.time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    with pytest.raises(KeyboardInterrupt), make("never", show=show) as server:
        ready(server)
    assert not lives(json.loads(record.read_text(encoding="utf-8"))["pid"])


def test_a_child_that_ignores_interrupts_ends_with_it(
    make: Make, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.vllm.server._CHILDREN_SECONDS", 0.1)
    with make("child") as server:
        ready(server)
        child = int(record.with_name("child").read_text(encoding="utf-8"))
        assert lives(child)
    until_gone(child)


def test_a_server_that_ignores_interrupts_is_ended_after_its_grace(make: Make, record: Path) -> None:
    with make("stubborn", grace=0.2) as server:
        ready(server)
    assert not lives(json.loads(record.read_text(encoding="utf-8"))["pid"])


def test_a_second_interrupt_skips_the_grace(make: Make, record: Path) -> None:
    with make("stubborn", grace=600.0) as server:
        ready_and_interrupted(server)
    assert not lives(json.loads(record.read_text(encoding="utf-8"))["pid"])


def test_a_signal_that_ends_the_program_in_the_grace_leaves_no_server_behind(
    make: Make, record: Path
) -> None:
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    with pytest.raises(SystemExit), make("stubborn", grace=600.0) as server:
        ready_and_interrupted(server)
    assert not lives(json.loads(record.read_text(encoding="utf-8"))["pid"])


def test_a_taken_port_is_stated_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = Server(
            [str(tmp_path / "python")], environment={}, url=f"http://127.0.0.1:{port}", show=print
        )
        with pytest.raises(ServeError, match=f"Port {port} of 127.0.0.1 is taken; choose another by --port"):
            server.__enter__()


@pytest.mark.parametrize(
    ("fakes", "model", "message"),
    [
        ((), "other", "serves conductor instead of other; check the flags after the --"),
        (("mute",), "conductor", "is healthy, but lists no models: KeyError"),
    ],
)
def test_a_server_of_something_else_is_not_ready(
    make: Make, fakes: tuple[str, ...], model: str, message: str
) -> None:
    with pytest.raises(ServeError, match=message), make(*fakes) as server:
        ready(server, model)


def test_an_interpreter_that_is_gone_is_named(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    server = Server([str(tmp_path / "python")], environment=os.environ, url=url, show=print)
    with pytest.raises(ServeError, match="python cannot be run: No such file"):
        server.__enter__()
