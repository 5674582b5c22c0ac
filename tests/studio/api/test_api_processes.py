"""Several processes at one address, over one PostgreSQL store: real processes, killed and ended."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from api_processes import SECONDS, ApiProcesses, owners, serving_processes
from fake_openai import FakeOpenAI, Served, serving

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


def eventually(holds: Callable[[], object]) -> None:
    until = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < until, "it did not become so in time"
        time.sleep(0.1)


def lives(process: int) -> bool:
    """Whether it runs; one that ended may still have to be waited for by init."""
    status = Path(f"/proc/{process}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


def finished_in(served: ApiProcesses, database: str) -> set[int]:
    """The processes that have answered so far, after a few more questions."""

    def ask(_: int) -> None:
        served.ask("chat/completions", messages=MESSAGES, max_tokens=1)

    with ThreadPoolExecutor(STREAMS) as threads:
        list(threads.map(ask, range(9)))
    return set(owners(database, status="finished").values())


def test_a_killed_process_breaks_its_own_streams_and_no_others(three: ApiProcesses, database: str) -> None:
    eventually(lambda: len(finished_in(three, database)) == 3)
    first = finished_in(three, database)

    def read(_: int) -> str:
        try:
            return three.ask("chat/completions", messages=MESSAGES, stream=True).text
        except httpx.HTTPError:
            return ""

    with ThreadPoolExecutor(STREAMS) as threads:
        answers = [threads.submit(read, at) for at in range(STREAMS)]
        eventually(lambda: len(owners(database)) == STREAMS)
        streams = Counter(owners(database).values())
        assert streams.keys() == first
        killed, broken = streams.most_common()[0]
        os.kill(killed, signal.SIGKILL)
        # The other two see it: nobody else has the store open.
        eventually(lambda: list(owners(database, status="interrupted").values()) == [killed] * broken)
        texts = [answer.result() for answer in answers]
    whole = [text for text in texts if text.endswith("data: [DONE]\n\n")]
    assert len(whole) == STREAMS - broken
    assert not any('"error"' in text for text in whole)
    line = f"process {killed} of the API ended (killed by SIGKILL); another one starts"
    assert line in three.log.read_text()
    eventually(lambda: finished_in(three, database) - first)


def test_sigterm_ends_the_answers_of_all_processes_in_openais_shape(
    three: ApiProcesses, database: str
) -> None:
    eventually(lambda: len(finished_in(three, database)) == 3)
    with ThreadPoolExecutor(STREAMS) as threads:
        answers = [
            threads.submit(three.ask, "chat/completions", messages=MESSAGES, stream=stream)
            for stream in [True, False] * (STREAMS // 2)
        ]
        eventually(lambda: len(owners(database)) == STREAMS)
        processes = set(owners(database).values())
        assert three.end() == 0
        assert all("server_stopping" in answer.result().text for answer in answers)
    assert len(processes) == 3
    assert not any(map(lives, processes))
    assert len(owners(database, status="cancelled")) == STREAMS
    assert "Traceback" not in three.log.read_text()


def test_processes_end_where_their_parent_is_killed(three: ApiProcesses, database: str) -> None:
    eventually(lambda: len(finished_in(three, database)) == 3)
    processes = finished_in(three, database)
    three.process.kill()
    eventually(lambda: not any(map(lives, processes)))
