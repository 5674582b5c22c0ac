"""Unfinished answers where a server stops: each ends in order, and no further one starts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx
import pytest
from performers import Paced, Pensive
from stage import Stage, staged

from conductor.runs.request import RunRequest
from storage import SessionStore
from storage.records import RequestSession
from studio.access.auth import Principal
from studio.access.errors import ApiError

WHY = {"model": "worker:alpha", "messages": [{"role": "user", "content": "Why?"}]}


@pytest.fixture
def own_stage(empty_store: Path, tmp_path: Path) -> Iterator[Stage]:
    """A server of the test's own, which it may stop."""
    file = shutil.copyfile(empty_store, tmp_path / "conductor.db")
    with staged(SessionStore.open(f"sqlite:///{file}")) as stage:
        yield stage


def begun(stage: Stage) -> bool:
    """Whether the worker has begun to answer."""
    store = stage.workbench.store
    runs = [run for session in store.sessions.named("") if (run := store.runs.latest(session)) is not None]
    live = [stage.workbench.background.live(run.id) for run in runs]
    return any(one is not None and one.state.steps and one.state.steps[0].text for one in live)


@pytest.mark.slow
def test_a_plain_request_is_answered_with_503_that_is_not_to_be_asked_again(own_stage: Stage) -> None:
    own_stage.plays(alpha := Paced("alpha", ["So.", "never"], gates={1: (never := Event())}))
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(httpx.post, f"{own_stage.base_url}/chat/completions", json=WHY, timeout=20)
        while not begun(own_stage):
            assert not asked.done()
        own_stage.server.should_exit = True
        answer = asked.result()
    never.set()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "server_stopping")
    assert answer.headers["x-should-retry"] == "false"
    assert alpha.left.wait(5)
    own_stage.settle()
    assert own_stage.auth.used[-1].total is None, "what a stopped call used is not known, and is counted so"


@pytest.mark.slow
def test_a_stream_ends_with_the_error_while_its_plan_is_written(own_stage: Stage) -> None:
    own_stage.plays(Paced("alpha", ["So."]), plans=(conductor := Pensive()))
    asked = {**WHY, "model": "conductor", "stream": True}
    with httpx.stream("POST", f"{own_stage.base_url}/chat/completions", json=asked) as answer:
        assert conductor.thinking.wait(5)
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
