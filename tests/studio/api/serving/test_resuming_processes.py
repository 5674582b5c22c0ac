"""Servers that share a store: where one is killed, another goes on with its runs from finished steps."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from storage import SessionStore
from storage.records import RunRecord
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.processes.api_processes import SECONDS, ApiProcesses, serving_processes, two_steps
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

COUNT = 6


@pytest.fixture
def upstream() -> Iterator[Served]:
    """A worker whose answer takes some three seconds."""
    with serving(FakeOpenAI(tokens_per_second=10)) as served:
        yield served


@pytest.fixture(autouse=True)
def on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers go on with runs, as they do where nothing is set."""
    monkeypatch.delenv("CONDUCTOR_RESUME")


def ask(server: ApiProcesses, number: int, **more: Any) -> httpx.Response:
    request = {"model": "conductor", "input": f"Question {number}", **more}
    request["conductor"] = {"workflow": two_steps(number, worker="alpha")}
    return httpx.post(f"{server.url}/responses", json=request, headers=server.headers, timeout=SECONDS)


def calls(upstream: Served, step: str, *, count: int = COUNT) -> Counter[int]:
    """How often the endpoint was sent that step of each question."""
    bodies = [str(entry.body) for entry in upstream.log.entries]
    return Counter(
        number for number in range(count) for body in bodies if f"subtask: {step} {number}." in body
    )


def newest(store: SessionStore) -> list[RunRecord]:
    """The newest run of each session."""
    runs = [store.runs.latest(session.id) for session in store.sessions.listed()]
    return [run for run in runs if run is not None]


def finished_first_steps(store: SessionStore) -> int:
    return sum(len(store.runs.outputs(session.id)) for session in store.sessions.listed())


def test_what_a_killed_server_ran_goes_on_in_another_one(url: str, tmp_path: Path, upstream: Served) -> None:
    with (
        serving_processes(url, tmp_path / "one", upstream.base_url) as one,
        serving_processes(url, tmp_path / "two", upstream.base_url) as two,
        SessionStore.open(url) as store,
        ThreadPoolExecutor(3) as threads,
    ):
        for number in range(COUNT - 1):
            assert ask(one, number, background=True).json()["status"] == "in_progress"
        # A client that waits loses its connection, not its response.
        waiting = threads.submit(lambda: ask(one, COUNT - 1))
        chat = threads.submit(
            lambda: one.ask("chat/completions", messages=[{"role": "user", "content": "?"}])
        )
        until(lambda: sum(calls(upstream, "Second").values()) == COUNT)
        until(lambda: finished_first_steps(store) == COUNT and len(newest(store)) == COUNT + 1)
        (of_chat,) = (run.session for run in newest(store) if not store.requests.response(run.session))
        ids = [f"resp_{run.session}" for run in newest(store) if run.session != of_chat]

        def read_stream() -> str:
            return httpx.get(
                f"{two.url}/responses/{ids[0]}?stream=true", headers=one.headers, timeout=SECONDS
            ).text

        follower = threads.submit(read_stream)
        killed_at = time.time()
        os.kill(one.process.pid, signal.SIGKILL)

        def statuses() -> set[str]:
            every = [
                httpx.get(f"{two.url}/responses/{id}", headers=one.headers, timeout=SECONDS) for id in ids
            ]
            return {answer.json()["status"] for answer in every}

        seen: set[str] = set()
        until(lambda: seen.update(now := statuses()) or now == {"completed"}, every=0.2)
        assert seen <= {"in_progress", "completed"}
        runs = {run.session: run for run in newest(store)}
        assert runs[of_chat].status == "interrupted"
        for id in ids:
            run = runs[id.removeprefix("resp_")]
            assert (run.status, run.owner.split("-")[0]) == ("finished", str(two.process.pid))
            state = store.runs.state(run.id)
            assert [step.reused for step in state.steps] == [True, False]
            assert state.scope.resumption == 1
        assert "run_interrupted" in follower.result()
        assert "response.completed" in read_stream()
        body = httpx.get(f"{two.url}/responses/{ids[0]}", headers=one.headers).json()
        assert body["conductor"]["resumptions"] == 1
        assert body["conductor"]["calls"] == 3
        delay = max(runs[id.removeprefix("resp_")].started_at for id in ids) - killed_at
        print(f"all went on {delay:.1f} s after the kill")
        for request in (waiting, chat):
            with suppress(httpx.HTTPError):
                request.result()
    assert set(calls(upstream, "First").values()) == {1}
    assert set(calls(upstream, "Second").values()) == {2}


def test_a_server_that_starts_again_goes_on_with_its_own_runs(tmp_path: Path, upstream: Served) -> None:
    url = f"sqlite:///{tmp_path / 'conductor.db'}"
    with serving_processes(url, tmp_path / "one", upstream.base_url) as one:
        id = ask(one, 0, background=True).json()["id"]
        until(lambda: calls(upstream, "Second"))
        with SessionStore.open(url) as store:
            until(lambda: finished_first_steps(store))
        os.kill(one.process.pid, signal.SIGKILL)
        one.process.wait(SECONDS)
    with serving_processes(url, tmp_path / "again", upstream.base_url) as again:

        def status() -> str:
            answer = httpx.get(f"{again.url}/responses/{id}", headers=one.headers, timeout=SECONDS)
            return str(answer.json()["status"])

        until(lambda: status() == "completed", every=0.2)
    assert calls(upstream, "First") == {0: 1}
    assert calls(upstream, "Second") == {0: 2}


def test_a_server_that_is_set_not_to_leaves_runs_as_they_are(
    tmp_path: Path, upstream: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONDUCTOR_RESUME", "off")
    url = f"sqlite:///{tmp_path / 'conductor.db'}"
    with serving_processes(url, tmp_path / "one", upstream.base_url) as one:
        id = ask(one, 0, background=True).json()["id"]
        until(lambda: calls(upstream, "Second"))
        os.kill(one.process.pid, signal.SIGKILL)
        one.process.wait(SECONDS)
    with serving_processes(url, tmp_path / "again", upstream.base_url) as again:
        answer = httpx.get(f"{again.url}/responses/{id}", headers=one.headers, timeout=SECONDS).json()
        assert (answer["status"], answer["error"]["code"]) == ("failed", "run_interrupted")
        resumed = httpx.post(f"{again.url}/responses/{id}/resume", headers=one.headers, timeout=SECONDS)
        assert resumed.json()["status"] == "in_progress"
