"""A client that leaves stops its run and the calls upstream, wherever the run is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from threading import Event
from urllib.parse import urlsplit

import httpx
import pytest

from conductor.errors import PoolError, StorageError
from studio.api.backend import Backend
from tests.studio.api.performers import Paced, Pensive
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.runs.conductor_cases import plan_text

ONE = plan_text((0, "answer", "[]"))


@pytest.fixture(scope="module")
def slow_upstream() -> Iterator[Served]:
    """A simulated endpoint that writes two words a second."""
    with serving(FakeOpenAI(tokens_per_second=2)) as served:
        yield served


def leave_stream(stage: Stage, name: str, upstream: Served) -> str:
    with stage.client() as client:
        stream = client.chat.completions.create(
            model=name, messages=[{"role": "user", "content": "Why?"}], stream=True
        )
        session = ""
        for chunk in stream:
            session = chunk.id.removeprefix("chatcmpl-")
            if chunk.choices[0].delta.content:
                break
        stream.close()
    assert upstream.log.entries
    return session


def leave_response(stage: Stage, name: str, upstream: Served) -> str:
    with stage.client() as client:
        stream = client.responses.create(model=name, input="Why?", stream=True)
        session = ""
        for event in stream:
            if event.type == "response.created":
                session = event.response.id.removeprefix("resp_")
            if event.type == "response.output_text.delta":
                break
        stream.close()
    assert upstream.log.entries
    return session


def give_up_waiting(stage: Stage, name: str, upstream: Served) -> str:
    body = json.dumps({"model": name, "messages": [{"role": "user", "content": "Why?"}]})
    here, headers = urlsplit(stage.base_url), {"content-type": "application/json"}
    with closing(HTTPConnection(here.hostname or "", here.port)) as connection:
        connection.request("POST", f"{here.path}/chat/completions", body, headers)
        assert upstream.log.wait_for(bool, seconds=60), "its patience ends while the worker answers"
    return stage.workbench.store.sessions.listed(limit=1)[0].id


@pytest.mark.slow
@pytest.mark.parametrize("leave", [leave_stream, leave_response, give_up_waiting])
@pytest.mark.parametrize("name", ["conductor", "worker:alpha"])
def test_the_run_and_its_upstream_calls_are_stopped(
    stage: Stage, slow_upstream: Served, leave: Callable[[Stage, str, Served], str], name: str
) -> None:
    slow_upstream.fake.forget()
    stage.plays(model("alpha", slow_upstream.base_url), plans=(ONE,))
    session = leave(stage, name, slow_upstream)
    assert slow_upstream.settled().outcome == "disconnected"
    stage.settle()
    run = stage.workbench.store.runs.latest(session)
    assert run.status == "cancelled"
    used = stage.workbench.store.sessions.total(session)
    assert used.token_sum.most is None, "what a stopped call used is not known, and is not left out"


@pytest.mark.usefixtures("open_at_once")
def test_planning_is_stopped(stage: Stage) -> None:
    conductor = Pensive()
    stage.plays(Paced("alpha", ["So."]), plans=conductor)
    request = {"model": "conductor", "messages": [{"role": "user", "content": "Why?"}], "stream": True}
    with httpx.stream("POST", f"{stage.base_url}/chat/completions", json=request) as answer:
        session = answer.headers["x-request-id"]
        assert conductor.thinking.wait(60)
    assert conductor.left.wait(60)
    stage.settle()
    assert stage.workbench.store.runs.latest(session) is None
    assert stage.workbench.activities.going(session) is None, "nothing of it is kept in memory"
    used = stage.workbench.store.sessions.total(session)
    assert used.token_sum.most is None, "what the stopped call used is not known, and is not left out"


@pytest.mark.usefixtures("open_at_once")
def test_what_was_left_is_put_away_also_where_it_cannot_be_counted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def locked(*_: object, **__: object) -> None:
        raise StorageError("The store is locked.")

    conductor = Pensive()
    stage.plays(Paced("alpha", ["So."]), plans=conductor)
    monkeypatch.setattr(stage.auth, "record_usage", locked)
    messages = [{"role": "user", "content": "Why?"}]
    request = {"model": "conductor", "messages": messages, "stream": True, "store": False}
    with httpx.stream("POST", f"{stage.base_url}/chat/completions", json=request) as answer:
        session = answer.headers["x-request-id"]
        assert conductor.thinking.wait(60)
    assert conductor.left.wait(60)
    stage.settle(requests=0)
    assert stage.workbench.store.sessions.named(session) == ()
    assert "The store is locked." in caplog.text


@pytest.mark.parametrize("moment", range(6))
def test_no_moment_is_missed_between_planning_and_running(stage: Stage, moment: int) -> None:
    alpha = Paced("alpha", ["So", "."], gates={1: (never := Event())})
    stage.plays(alpha, plans=(ONE,))
    request = {"model": "conductor", "messages": [{"role": "user", "content": "Why?"}], "stream": True}
    try:
        with httpx.stream("POST", f"{stage.base_url}/chat/completions", json=request) as answer:
            session = answer.headers["x-request-id"]
            # Not by what the network gives at once: pieces that need not wait are sent together.
            pieces = (line for line in answer.iter_lines() if line)
            for _ in range(moment):
                next(pieces)
        stage.settle()
        run = stage.workbench.store.runs.latest(session)
        assert run is None or run.status == "cancelled"
        assert not stage.workbench.activities.busy(session)
    finally:
        never.set()


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
def test_nothing_goes_on_where_the_pool_is_lost_while_a_request_comes_in(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async def lost(_: object) -> None:
        raise PoolError("The pool file cannot be read.")

    stage.plays(Paced("slow", ("So.",), gates={0: Event()}))
    before = stage.workbench.store.sessions.named("")
    monkeypatch.setattr(Backend, "pool", lost)
    request = {"model": "worker:slow", "messages": [{"role": "user", "content": "Why?"}], "input": "Why?"}
    request.pop("input" if path.startswith("chat") else "messages")
    answer = httpx.post(f"{stage.base_url}/{path}", json=request)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "pool_unusable")
    assert stage.workbench.store.sessions.named("") == before
