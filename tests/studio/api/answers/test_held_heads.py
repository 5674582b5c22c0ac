"""A stream that fails before its answer gets the error of the same request without a stream."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from conductor.errors import StorageError, WorkerError
from conductor.workers.simulated import SimulatedWorker
from studio.api.answers import streaming
from tests.studio.api.performers import Paced, Pensive
from tests.studio.api.stage import Stage
from tests.support.runs.conductor_cases import BROKEN, plan_text
from tests.support.runs.waiting import until
from tests.support.runs.worker_cases import Raising

ONE, TWO = plan_text((0, "answer", "[]")), plan_text((0, "draft", "[]"), (1, "answer", "[0]"))
ASKS: dict[str, dict[str, Any]] = {
    "chat/completions": {"messages": [{"role": "user", "content": "Why?"}]},
    "responses": {"input": "Why?"},
}


def failing(name: str, *pieces: str) -> Raising:
    return Raising(WorkerError(f"{name} is out of order."), name=name, pieces=pieces)


FAILURES: dict[str, tuple[list[Any], str, dict[str, Any], int, str]] = {
    "a worker alone": ([failing("alpha")], "no plan", {"model": "worker:alpha"}, 502, "run_failed"),
    "a final step": (
        [SimulatedWorker(name="alpha", answer="So."), failing("beta")],
        TWO,
        {"model": "conductor"},
        502,
        "run_failed",
    ),
    "a step before it": (
        [failing("alpha", "half "), SimulatedWorker(name="beta", answer="So.")],
        TWO,
        {"model": "conductor"},
        502,
        "run_failed",
    ),
    "an invalid plan": (
        [SimulatedWorker(name="alpha", answer="So.")],
        BROKEN,
        {"model": "conductor"},
        502,
        "no_workflow",
    ),
    "an answer of white space": (
        [SimulatedWorker(name="alpha", answer=" ")],
        ONE,
        {"model": "conductor"},
        502,
        "no_answer",
    ),
    "a budget": (
        [SimulatedWorker(name="alpha", answer="So.")],
        ONE,
        {"model": "conductor", "conductor": {"budget": {"calls": 1}}},
        400,
        "budget_exceeded",
    ),
}
AGENTS = {
    "OpenAI/Python 3.54.0": False,
    "python-httpx/0.28": False,
    "ai-sdk-openai/4.0.118 ai-sdk/provider-utils/4.0.9 runtime/node.js/v20": True,
    "ai-sdk-openai-compatible/3.0.92 runtime/node.js/v20": True,
    "codex_exec/0.171.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.171.0)": True,
    "opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14": True,
    "QwenCode/0.15.10 (linux; x64)": True,
    "ai/6.0.326 ai-sdk/provider-utils/4.0.23 runtime/node.js/v20": True,
}
"""User agents, and whether the client repeats each status but 400."""


def plays(stage: Stage, failure: str) -> dict[str, Any]:
    workers, plan, body, _, _ = FAILURES[failure]
    stage.plays(*workers, plans=(plan,) * 8)
    return body


@pytest.mark.parametrize("path", ASKS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_before_the_answer_is_the_error_of_the_whole_request(
    stage: Stage, path: str, failure: str
) -> None:
    body = {**plays(stage, failure), **ASKS[path]}
    whole = httpx.post(f"{stage.base_url}/{path}", json=body)
    streamed = httpx.post(f"{stage.base_url}/{path}", json={**body, "stream": True})
    _, _, _, status, code = FAILURES[failure]
    for answer in (whole, streamed):
        assert (answer.status_code, answer.headers["x-should-retry"]) == (status, "false")
        assert answer.headers["content-type"] == "application/json"
    assert streamed.json() == whole.json()
    error = whole.json()["error"]
    assert (error["code"], error["type"]) == (code, "run_error" if status == 502 else "invalid_request_error")
    session = streamed.headers["x-request-id"]
    if path == "responses":
        stored = httpx.get(f"{stage.base_url}/responses/resp_{session}").json()
        assert (stored["status"], stored["error"]["code"]) == ("failed", code)
    assert stage.workbench.store.sessions.find(session)


@pytest.mark.parametrize(("agent", "repeats"), AGENTS.items())
@pytest.mark.parametrize("path", ASKS)
def test_a_client_that_reads_no_header_gets_the_status_that_it_does_not_repeat(
    stage: Stage, path: str, agent: str, repeats: bool
) -> None:
    for streams in (False, True):
        body = {**plays(stage, "a worker alone"), **ASKS[path], "stream": streams}
        headers = {"user-agent": agent}
        answer = httpx.post(f"{stage.base_url}/{path}", json=body, headers=headers)
        assert answer.status_code == (400 if repeats else 502)
        error = answer.json()["error"]
        assert (error["code"], error["type"]) == ("run_failed", "run_error")
        assert "alpha is out of order." in error["message"]


def test_a_failure_that_may_be_repeated_has_one_status_for_all(stage: Stage) -> None:
    for agent in AGENTS:
        plays(stage, "a worker alone")
        stage.faults.append(StorageError("The store is locked."))
        body = {"model": "worker:alpha", **ASKS["responses"], "stream": True}
        headers = {"user-agent": agent}
        answer = httpx.post(f"{stage.base_url}/responses", json=body, headers=headers)
        assert (answer.status_code, "x-should-retry" in answer.headers) == (503, False)


@pytest.mark.parametrize("path", ASKS)
def test_behind_the_first_word_the_error_is_in_the_stream(stage: Stage, path: str) -> None:
    stage.plays(failing("alpha", "half a "))
    body = {"model": "worker:alpha", **ASKS[path], "stream": True}
    answer = httpx.post(f"{stage.base_url}/{path}", json=body)
    last = json.loads(answer.text.rsplit("data: ", 1)[1])
    error = last["response"]["error"] if path == "responses" else last["error"]
    assert (answer.status_code, error["code"]) == (200, "run_failed")
    assert error.get("type", "run_error") == "run_error"
    assert "half a " in answer.text


@pytest.mark.parametrize("path", ASKS)
def test_a_stream_with_the_runs_events_does_not_wait(stage: Stage, path: str) -> None:
    body = {**plays(stage, "an invalid plan"), **ASKS[path], "stream": True, "conductor": {"events": True}}
    answer = httpx.post(f"{stage.base_url}/{path}", json=body)
    assert (answer.status_code, "no_workflow" in answer.text) == (200, True)


def test_a_response_in_the_background_does_not_wait(stage: Stage) -> None:
    body = {**plays(stage, "an invalid plan"), "input": "Why?", "stream": True, "background": True}
    answer = httpx.post(f"{stage.base_url}/responses", json=body)
    kinds = [line[7:] for line in answer.text.splitlines() if line.startswith("event: ")]
    assert (answer.status_code, kinds[0], kinds[-1]) == (200, "response.created", "response.failed")


def test_a_further_answer_that_fails_is_an_error_in_the_stream(stage: Stage, client: OpenAI) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="Fine.", fail_calls=frozenset({1})))
    stream = client.chat.completions.create(
        model="worker:alpha", messages=[{"role": "user", "content": "Why?"}], n=2, stream=True
    )
    texts: list[str] = []
    with pytest.raises(openai.APIError, match="set to fail") as raised:
        texts.extend(chunk.choices[0].delta.content or "" for chunk in stream)
    assert "".join(texts) == "Fine."
    assert not isinstance(raised.value, openai.APIStatusError)


@pytest.mark.parametrize("path", ASKS)
def test_a_silent_worker_does_not_keep_the_head_back_for_long(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(streaming, "HOLD_SECONDS", 0.1)
    conductor = Pensive()
    stage.plays(Paced("alpha", ["So."]), plans=conductor)
    body = {"model": "conductor", **ASKS[path], "stream": True}
    with httpx.stream("POST", f"{stage.base_url}/{path}", json=body) as answer:
        assert conductor.thinking.wait(60)
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert ": planning round 1" in next(line for line in answer.iter_lines() if line.startswith(":"))
    assert conductor.left.wait(60)


@pytest.mark.parametrize("path", ASKS)
def test_a_client_that_leaves_before_the_head_stops_the_run(stage: Stage, path: str) -> None:
    conductor = Pensive()
    stage.plays(Paced("alpha", ["So."]), plans=conductor)
    body = {"model": "conductor", **ASKS[path], "stream": True}
    with ThreadPoolExecutor() as threads, httpx.Client() as client:
        future = threads.submit(_times_out, client, f"{stage.base_url}/{path}", body)
        assert conductor.thinking.wait(60)
        assert conductor.left.wait(60)
        future.result()
    stage.settle()
    until(lambda: not stage.api.state.runs.busy)


def _times_out(client: httpx.Client, url: str, body: dict[str, Any]) -> None:
    with pytest.raises(httpx.ReadTimeout):
        client.post(url, json=body, timeout=1)
