"""Unfinished answers where a server stops: each ends in order, and no further one starts."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from conductor.runs.request import RunRequest
from storage import SessionStore
from storage.records import RequestSession
from studio.access.auth import Principal
from studio.access.errors import ApiError
from studio.api.answers import response_run
from studio.api.answers.response_run import ResponseRuns
from studio.api.backend import Backend
from tests.studio.api.performers import Paced, Pensive
from tests.studio.api.stage import Stage, staged
from tests.support.runs.conductor_cases import plan_text
from tests.support.runs.waiting import until

ONE = plan_text((0, "Say.", "[]"))
WHY = {"model": "worker:alpha", "messages": [{"role": "user", "content": "Why?"}]}


@pytest.fixture
def own_stage(empty_store: Path, tmp_path: Path) -> Iterator[Stage]:
    """A server of the test's own, which it may stop."""
    file = shutil.copyfile(empty_store, tmp_path / "conductor.db")
    with staged(SessionStore.open(f"sqlite:///{file}")) as stage:
        yield stage


def is_answering(stage: Stage) -> bool:
    """Whether the worker has begun to answer."""
    store = stage.workbench.store
    runs = [run for session in store.sessions.named("") if (run := store.runs.latest(session)) is not None]
    live = [stage.workbench.background.live(run.id) for run in runs]
    return any(one is not None and one.state.steps and one.state.steps[0].text for one in live)


@pytest.mark.slow
def test_a_plain_request_is_answered_with_503_that_is_not_to_be_asked_again(own_stage: Stage) -> None:
    own_stage.plays(alpha := Paced("alpha", ["So.", "never"], gates={1: (never := Event())}))
    with ThreadPoolExecutor() as threads:
        future = threads.submit(httpx.post, f"{own_stage.base_url}/chat/completions", json=WHY, timeout=60)
        until(lambda: is_answering(own_stage) or future.done())
        assert not future.done()
        own_stage.server.should_exit = True
        answer = future.result()
    never.set()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "server_stopping")
    assert answer.headers["x-should-retry"] == "false"
    assert alpha.left.wait(60)
    own_stage.settle()
    store = own_stage.workbench.store
    used = store.sessions.total(store.sessions.listed(limit=1)[0].id)
    assert used.token_sum.most is None, "what a stopped call used is not known, and is counted so"


@pytest.mark.slow
@pytest.mark.usefixtures("open_at_once")
def test_a_stream_ends_with_the_error_while_its_plan_is_written(own_stage: Stage) -> None:
    own_stage.plays(Paced("alpha", ["So."]), plans=(conductor := Pensive()))
    request = {**WHY, "model": "conductor", "stream": True}
    with httpx.stream("POST", f"{own_stage.base_url}/chat/completions", json=request) as answer:
        assert conductor.thinking.wait(60)
        own_stage.server.should_exit = True
        text = "".join(answer.iter_text())
    assert json.loads(text.rsplit("data: ", 1)[1])["error"]["code"] == "server_stopping"
    assert text.endswith("\n\n")


@pytest.mark.slow
async def test_nothing_starts_on_a_server_that_stops(own_stage: Stage) -> None:
    own_stage.plays(Paced("alpha", ["So."]))
    runs = own_stage.api.state.runs
    before = own_stage.workbench.store.sessions.named("")
    await runs.stop()
    with pytest.raises(ApiError, match="is stopping") as refused:
        await runs.start(
            RunRequest(query="Why?"), RequestSession(), Principal(), pool=own_stage.workbench.pool
        )
    assert own_stage.workbench.store.sessions.named("") == before
    assert refused.value.status == 503
    assert not refused.value.headers, "nothing was started, so it may be asked again"


@pytest.mark.slow
async def test_a_run_that_begins_as_its_request_is_cancelled_is_stopped_before_the_server_has_settled(
    own_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, gate, begins = asyncio.Event(), Event(), response_run._begin
    loop = asyncio.get_running_loop()

    def held(*args: Any, **kwargs: Any) -> Any:
        loop.call_soon_threadsafe(entered.set)
        assert gate.wait(60)
        return begins(*args, **kwargs)

    monkeypatch.setattr(response_run, "_begin", held)
    own_stage.plays(Paced("alpha", ["never"], gates={0: (never := Event())}), plans=(ONE,))
    bench = own_stage.workbench
    runs = ResponseRuns(Backend(lambda: bench), own_stage.auth)  # type: ignore[arg-type]
    task = asyncio.create_task(
        runs.start(RunRequest(query="Why?"), RequestSession(), Principal(), pool=bench.pool)
    )
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    loop.call_later(0.05, gate.set)
    await runs.settle()
    assert not runs.busy
    (session,) = bench.store.sessions.named("")
    assert bench.activities.activity(session) is None, "nothing goes on in it"
    never.set()
