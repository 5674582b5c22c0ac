"""Several processes at one address, over one PostgreSQL store: real processes, killed and ended."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from storage import SessionStore
from storage.database.database import several_may_write
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.processes.api_processes import (
    SECONDS,
    ApiProcesses,
    durable_outputs,
    owners,
    serving_processes,
    two_steps,
)
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

MESSAGES = [{"role": "user", "content": "Why?"}]
STREAMS = 24


@pytest.fixture
def upstream() -> Iterator[Served]:
    """A worker whose answer takes some ten seconds."""
    with serving(FakeOpenAI(tokens_per_second=3)) as served:
        yield served


@pytest.fixture
def three(database: str, tmp_path: Path, upstream: Served) -> Iterator[ApiProcesses]:
    """Three processes at one port."""
    with serving_processes(database, tmp_path / "three", upstream.base_url, "--processes", "3") as served:
        yield served


def lives(process: int) -> bool:
    """Whether it runs; one that ended may still have to be waited for by init."""
    status = Path(f"/proc/{process}/status")
    return status.exists() and "State:\tZ" not in status.read_text(encoding="utf-8")


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=SECONDS).status_code == 200
    except httpx.TransportError:
        return False


def finished_in(served: ApiProcesses, database: str) -> set[int]:
    """The processes that have answered so far, after a few more questions."""

    def ask(_: int) -> None:
        served.ask("chat/completions", messages=MESSAGES, max_tokens=1)

    with ThreadPoolExecutor(STREAMS) as threads:
        list(threads.map(ask, range(9)))
    return set(owners(database, status="finished").values())


def test_a_killed_process_breaks_its_own_streams_and_no_others(three: ApiProcesses, database: str) -> None:
    until(lambda: len(finished_in(three, database)) == 3)
    first = finished_in(three, database)

    def read(_: int) -> str:
        try:
            return three.ask("chat/completions", messages=MESSAGES, stream=True).text
        except httpx.HTTPError:
            return ""

    with ThreadPoolExecutor(STREAMS) as threads:
        answers = [threads.submit(read, at) for at in range(STREAMS)]
        until(lambda: len(owners(database)) == STREAMS)
        streams = Counter(owners(database).values())
        assert streams.keys() == first
        killed, broken = streams.most_common()[0]
        os.kill(killed, signal.SIGKILL)
        # The other two see it: no one else has the store open.
        until(lambda: list(owners(database, status="interrupted").values()) == [killed] * broken)
        texts = [answer.result() for answer in answers]
    whole = [text for text in texts if text.endswith("data: [DONE]\n\n")]
    assert len(whole) == STREAMS - broken
    assert not any('"error"' in text for text in whole)
    line = f"process {killed} of the API ended (killed by SIGKILL); another one starts"
    assert line in three.log.read_text(encoding="utf-8")
    until(lambda: finished_in(three, database) - first)


def events_of(text: str) -> list[str]:
    """The events of a stream, byte by byte; comments, and what was cut off within, are left out."""
    return [event for event in text.split("\n\n")[:-1] if not event.startswith(":")]


def test_others_follow_a_killed_processs_responses_and_resume_them_without_calling_a_finished_step_again(
    three: ApiProcesses, database: str, upstream: Served
) -> None:
    until(lambda: len(finished_in(three, database)) == 3)
    upstream.log.clear()
    count = 12

    def answer(number: int) -> tuple[str, str]:
        """The id of a response, and its stream as far as it came."""
        came: list[str] = []
        request = {"model": "conductor", "input": f"Question {number}", "stream": True, "background": True}
        request["conductor"] = {"workflow": two_steps(number, worker="alpha")}
        with (
            suppress(httpx.HTTPError),
            httpx.stream(
                "POST", f"{three.url}/responses", json=request, headers=three.headers, timeout=SECONDS
            ) as stream,
        ):
            came.extend(stream.iter_text())
        return f"resp_{stream.headers['x-request-id']}", "".join(came)

    def get(id: str, **query: str) -> httpx.Response:
        return httpx.get(f"{three.url}/responses/{id}", params=query, headers=three.headers, timeout=SECONDS)

    def calls(step: str) -> Counter[int]:
        """How often the endpoint was sent that step of each question."""
        bodies = [str(entry.body) for entry in upstream.log.entries]
        return Counter(
            number for number in range(count) for body in bodies if f"subtask: {step} {number}." in body
        )

    with ThreadPoolExecutor(2 * count) as threads:
        answers = [threads.submit(answer, number) for number in range(count)]
        until(lambda: sum(calls("Second").values()) == count)
        until(lambda: durable_outputs(database) == count)
        runners = owners(database)
        killed, broken = Counter(runners.values()).most_common()[0]
        followed = {
            f"resp_{session}": threads.submit(get, f"resp_{session}", stream="true")
            for session, process in runners.items()
            if process == killed
        }
        os.kill(killed, signal.SIGKILL)
        streams = dict(answer.result() for answer in answers)
        lost = [id for id, text in streams.items() if "response.completed" not in text]
        assert set(lost) == set(followed)
        assert len(lost) == broken
        # Those that were not answered by the killed process itself.
        ends = [future.result().text for future in followed.values() if future.exception() is None]
        assert all("run_interrupted" in events_of(text)[-1] for text in ends)
    for id, text in streams.items():
        again = events_of(get(id, stream="true").text)
        if id in lost:
            assert again[: len(events_of(text))] == events_of(text)
            error = get(id).json()["error"]
            assert (get(id).json()["status"], error["code"]) == ("failed", "run_interrupted")
        else:
            assert again == events_of(text)
    for id in lost:
        resumed = httpx.post(f"{three.url}/responses/{id}/resume", headers=three.headers, timeout=SECONDS)
        assert (resumed.status_code, resumed.json()["status"]) == (200, "in_progress")
    until(lambda: all(get(id).json()["status"] == "completed" for id in lost))
    assert set(calls("First").values()) == {1}
    assert Counter(calls("Second").values()) == {1: count - broken, 2: broken}


@pytest.mark.skipif(not several_may_write(), reason="this SQLite may lose what several processes write")
def test_processes_of_one_machine_may_share_a_file(tmp_path: Path, upstream: Served) -> None:
    database = f"sqlite:///{tmp_path / 'conductor.db'}"
    with serving_processes(database, tmp_path / "one", upstream.base_url, "--processes", "2") as served:

        def ask(_: int) -> int:
            return served.ask("chat/completions", messages=MESSAGES, max_tokens=1).status_code

        with ThreadPoolExecutor(STREAMS) as threads:
            assert set(threads.map(ask, range(STREAMS))) == {200}
    with SessionStore.open(database) as store:
        runs = [store.runs.latest(session.id) for session in store.sessions.listed()]
        assert [run.status for run in runs if run] == ["finished"] * STREAMS
        assert len({run.owner for run in runs if run}) == 2


def test_sigterm_ends_the_answers_of_all_processes_in_openais_shape(
    three: ApiProcesses, database: str
) -> None:
    until(lambda: len(finished_in(three, database)) == 3)
    with ThreadPoolExecutor(STREAMS) as threads:
        answers = [
            threads.submit(three.ask, "chat/completions", messages=MESSAGES, stream=stream)
            for stream in [True, False] * (STREAMS // 2)
        ]
        until(lambda: len(owners(database)) == STREAMS)
        processes = set(owners(database).values())
        assert three.end() == 0
        assert all("server_stopping" in answer.result().text for answer in answers)
    assert len(processes) == 3
    assert not any(map(lives, processes))
    assert len(owners(database, status="cancelled")) == STREAMS
    assert "Traceback" not in three.log.read_text(encoding="utf-8")


def test_processes_end_where_their_parent_is_killed(three: ApiProcesses, database: str) -> None:
    until(lambda: len(finished_in(three, database)) == 3)
    processes = finished_in(three, database)
    three.process.kill()
    until(lambda: not any(map(lives, processes)))


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_app_and_the_api_have_processes_and_a_lost_one_comes_back(
    database: str, tmp_path: Path, upstream: Served, ending: signal.Signals
) -> None:
    options = ("--app-processes", "2", "--processes", "2", "--api-port", "0")
    with serving_processes(
        database, tmp_path / "both", upstream.base_url, *options, beside_app=True
    ) as served:
        assert served.api_url is not None
        beside = replace(served, url=served.api_url)
        until(lambda: len(finished_in(beside, database)) == 2)
        apps, apis = served.processes[:2], served.processes[2:]
        assert finished_in(beside, database) == set(apis)
        os.kill(apps[0], signal.SIGKILL)
        assert answers(served.urls[1])
        port = httpx.URL(served.urls[0]).port
        line = f"process {apps[0]} of the app at port {port} ended (killed by SIGKILL); another one starts"
        until(lambda: line in served.log.read_text(encoding="utf-8"))
        until(lambda: answers(served.urls[0]))
        processes = served.processes
        assert len(processes) == 4
        served.process.send_signal(ending)
        assert served.process.wait(SECONDS) == (-ending if ending == signal.SIGKILL else 0)
        until(lambda: not any(map(lives, processes)))
        assert "Traceback" not in served.log.read_text(encoding="utf-8")
