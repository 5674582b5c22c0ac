"""A client that leaves stops its run and the calls upstream, wherever the run is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Event

import httpx
import openai
import pytest
from conductor_cases import plan_text
from fake_openai import FakeOpenAI, Served, serving
from performers import Paced, Pensive
from stage import Stage, model

from conductor.errors import PoolError, StorageError
from studio.api.backend import Backend

ONE = plan_text((0, "answer", "[]"))
AT_ONCE = 1.0
"""Seconds within which all is over."""


@pytest.fixture(scope="module")
def slow_upstream() -> Iterator[Served]:
    """A simulated endpoint that says ten words a second."""
    with serving(FakeOpenAI(tokens_per_second=10)) as served:
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
    with stage.client(timeout=0.4) as client, pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(model=name, messages=[{"role": "user", "content": "Why?"}])
    assert upstream.log.entries
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
    left_at = time.monotonic()
    entry = slow_upstream.settled(within=5)
    assert entry.outcome == "disconnected"
    assert entry.ended_at is not None
    assert entry.ended_at - left_at < AT_ONCE
    stage.settle()
    run = stage.workbench.store.runs.latest(session)
    assert run.status == "cancelled"
    assert stage.auth.used[-1].total is None, "what a stopped call used is not known, and is not left out"


def test_planning_is_stopped(stage: Stage) -> None:
    conductor = Pensive()
    stage.plays(Paced("alpha", ["So."]), plans=conductor)
    asked = {"model": "conductor", "messages": [{"role": "user", "content": "Why?"}], "stream": True}
    with httpx.stream("POST", f"{stage.base_url}/chat/completions", json=asked) as answer:
        session = answer.headers["x-request-id"]
        assert conductor.thinking.wait(5)
    assert conductor.left.wait(5)
    stage.settle()
    assert stage.workbench.store.runs.latest(session) is None
    assert stage.workbench.activities.going(session) is None, "nothing of it is kept in memory"
    assert stage.auth.used[-1].total is None, "what the stopped call used is not known, and is not left out"


def test_what_was_left_is_put_away_also_where_it_cannot_be_counted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def locked(*_: object) -> None:
        raise StorageError("The store is locked.")

    conductor = Pensive()
    stage.plays(Paced("alpha", ["So."]), plans=conductor)
    monkeypatch.setattr(stage.auth, "record_usage", locked)
    messages = [{"role": "user", "content": "Why?"}]
    asked = {"model": "conductor", "messages": messages, "stream": True, "store": False}
    with httpx.stream("POST", f"{stage.base_url}/chat/completions", json=asked) as answer:
        session = answer.headers["x-request-id"]
        assert conductor.thinking.wait(5)
    assert conductor.left.wait(5)
    stage.settle(requests=0)
    assert stage.workbench.store.sessions.named(session) == ()
    assert "The store is locked." in caplog.text


@pytest.mark.parametrize("moment", range(6))
def test_no_moment_is_missed_between_planning_and_running(stage: Stage, moment: int) -> None:
    alpha = Paced("alpha", ["So", "."], gates={1: (never := Event())})
    stage.plays(alpha, plans=(ONE,))
    asked = {"model": "conductor", "messages": [{"role": "user", "content": "Why?"}], "stream": True}
    try:
        with httpx.stream("POST", f"{stage.base_url}/chat/completions", json=asked) as answer:
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
    asked = {"model": "worker:slow", "messages": [{"role": "user", "content": "Why?"}], "input": "Why?"}
    asked.pop("input" if path.startswith("chat") else "messages")
    answer = httpx.post(f"{stage.base_url}/{path}", json=asked)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "pool_unusable")
    assert stage.workbench.store.sessions.named("") == before
