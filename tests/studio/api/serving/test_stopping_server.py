"""A server that is stopped with SIGTERM while it answers, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from storage import SessionStore
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.processes.api_processes import url_of
from tests.support.processes.child_process import child

ROOT = Path(__file__).parents[4]
SECONDS = 180
ALONE, BESIDE_APP = ["--api-only"], ["--host", "127.0.0.1"]
POOL = """
[[worker]]
name = "alpha"
base_url = "{url}"
model = "simulated"
"""


@pytest.fixture
def upstream() -> Iterator[Served]:
    """A worker that writes a word in two seconds, so that no answer is whole before its server stops."""
    with serving(FakeOpenAI(tokens_per_second=0.5)) as served:
        yield served


class Process:
    """`serve` on a store and a pool of its own; `url` ends with /v1."""

    def __init__(self, process: subprocess.Popen[str], url: str, token: str) -> None:
        self._process = process
        self._headers = {"authorization": f"Bearer {token}"}
        self.url = url

    def ask(self, path: str, **request: Any) -> httpx.Response:
        """Ask and read the whole answer."""
        request = {"model": "worker:alpha", **request}
        return httpx.post(f"{self.url}/{path}", json=request, headers=self._headers, timeout=SECONDS)

    def stop(self) -> None:
        """Ask it to end, as `docker stop` and systemd do."""
        self._process.send_signal(signal.SIGTERM)

    def ended(self) -> int:
        """Its exit code."""
        return self._process.wait(SECONDS)


@contextmanager
def served(folder: Path, upstream: Served, options: list[str]) -> Iterator[Process]:
    (folder / "pool.toml").write_text(POOL.format(url=upstream.base_url), encoding="utf-8")
    url = f"sqlite:///{folder / 'conductor.db'}"
    with SessionStore.open(url) as store:
        _, token = store.tokens.create("test")
    settings = {"CONDUCTOR_DATABASE_URL": url, "CONDUCTOR_POOL": str(folder / "pool.toml")}
    command = [sys.executable, "-m", "conductor", "serve", "--port", "0", "--json", *options]
    environment = {**os.environ, **settings, "PYTHONPATH": str(ROOT), "STREAMLIT_SERVER_HEADLESS": "true"}
    with (
        (folder / "log").open("w", encoding="utf-8") as log,
        child(command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=folder) as process,
    ):
        root = url_of(process, folder / "log").removesuffix("/v1")
        yield Process(process, f"{root}/v1", token)


OPEN_AT_ONCE = {"conductor": {"events": True}}
"""A stream with the run's events does not wait with its head."""


@pytest.mark.slow
@pytest.mark.parametrize("options", [ALONE, BESIDE_APP])
@pytest.mark.thorough
def test_answers_under_way_end_in_openais_shape_before_the_server_does(
    tmp_path: Path, upstream: Served, options: list[str]
) -> None:
    messages = [{"role": "user", "content": "Why?"}]
    requests: list[tuple[str, dict[str, Any]]] = [
        ("chat/completions", {"messages": messages}),
        ("responses", {"input": "Why?"}),
        ("chat/completions", {"messages": messages, "stream": True}),
        ("responses", {"input": "Why?", "stream": True}),
        ("chat/completions", {"messages": messages, "stream": True, **OPEN_AT_ONCE}),
        ("responses", {"input": "Why?", "stream": True, **OPEN_AT_ONCE}),
    ]
    with served(tmp_path, upstream, options) as server, ThreadPoolExecutor(len(requests)) as threads:
        answers = [threads.submit(server.ask, path, **how) for path, how in requests]
        assert upstream.log.wait_for(lambda entries: len(entries) >= len(requests), seconds=SECONDS)
        server.stop()
        *before_the_head, stream, events = (answer.result() for answer in answers)
        assert server.ended() in (0, -signal.SIGTERM)
    for plain in before_the_head:
        assert plain.status_code == 503
        assert plain.json()["error"]["code"] == "server_stopping"
        assert plain.headers["x-should-retry"] == "false"
        assert plain.headers["content-type"] == "application/json"
    assert json.loads(last_of(stream))["error"]["code"] == "server_stopping"
    failed = json.loads(last_of(events))
    assert (failed["type"], failed["response"]["error"]["code"]) == ("response.failed", "server_stopping")
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")
    with SessionStore.open(f"sqlite:///{tmp_path / 'conductor.db'}") as store:
        ends = [store.runs.latest(session.id) for session in store.sessions.listed()]
    assert [run and run.status for run in ends] == ["cancelled"] * len(requests)


def last_of(stream: httpx.Response) -> str:
    """The data of the last piece of a stream that ended in order."""
    assert stream.status_code == 200
    return stream.text.rstrip().rsplit("data: ", 1)[1]
