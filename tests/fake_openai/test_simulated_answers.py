"""The endpoint speaks the protocol: whole and streamed answers, usage, reasoning, limits and refusals."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from asking import Asking
from fake_openai_server import Served, serving

from conductor.fake_openai.app import FakeOpenAI

USAGE = {"stream_options": {"include_usage": True}}


def test_a_stream_says_what_the_whole_answer_says(asking: Asking) -> None:
    whole = asking.post().json()
    stream = asking.stream(**USAGE)
    [choice] = whole["choices"]
    assert choice["message"]["content"] == stream.joined()
    assert choice["finish_reason"] == stream.finish_reason == "stop"
    assert (stream.done, stream.content_type) == (True, "text/event-stream; charset=utf-8")
    assert whole["usage"] == stream.usage
    assert (whole["object"], stream.events[0]["object"]) == ("chat.completion", "chat.completion.chunk")
    assert len(stream.deltas) == whole["usage"]["completion_tokens"] + 2, "the role, the tokens, the end"


def test_equal_requests_get_equal_words_and_others_get_others(asking: Asking) -> None:
    asked: list[dict[str, Any]] = [{}, {"text": "Another?"}, {"model": "other"}, {"seed": 1}]
    first = [asking.said(**one) for one in asked]
    assert first == [asking.said(**one) for one in asked]
    assert len(set(first)) == len(asked)
    assert all(answer.startswith("Simulated answer №") for answer in first)


def test_usage_is_told_in_a_stream_only_where_it_was_asked_for(asking: Asking) -> None:
    assert all("usage" not in event for event in asking.stream().events)
    *chunks, last = asking.stream(**USAGE).events
    assert all(chunk["usage"] is None for chunk in chunks)
    usage = last["usage"]
    assert last["choices"] == []
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens"] == len("What is 2+2?".split())


@pytest.mark.parametrize(
    ("model", "field"), [("reasoning-simulated", "reasoning_content"), ("reasoning-field-x", "reasoning")]
)
def test_a_reasoning_model_reasons_before_it_answers(asking: Asking, model: str, field: str) -> None:
    stream = asking.stream(model=model, **USAGE)
    message = asking.post(model=model).json()["choices"][0]["message"]
    assert stream.joined(field).startswith("Simulated reasoning:")
    assert (message[field], message["content"]) == (stream.joined(field), stream.joined())
    fields = [next(iter(delta)) for delta in stream.deltas[1:-1]]
    reasoned = fields.index("content")
    assert set(fields[:reasoned]) == {field}
    assert set(fields[reasoned:]) == {"content"}
    assert stream.usage is not None
    assert stream.usage["completion_tokens_details"] == {"reasoning_tokens": reasoned}
    assert stream.usage["completion_tokens"] == len(fields)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_limit_of_tokens_cuts_the_answer_and_says_so(asking: Asking, name: str) -> None:
    full = asking.said()
    cut = asking.stream(**{name: 3}, **USAGE)
    assert cut.finish_reason == "length"
    assert full.startswith(cut.joined())
    assert cut.usage is not None
    assert cut.usage["completion_tokens"] == 3
    reasoned = asking.stream(model="reasoning-simulated", **{name: 3})
    assert (reasoned.joined(), reasoned.finish_reason) == ("", "length")


def test_content_may_be_a_list_of_texts(asking: Asking) -> None:
    parts = [{"type": "text", "text": "What is"}, {"type": "text", "text": " 2+2?"}]
    message = {"role": "user", "content": parts}
    response = asking.client.post("chat/completions", json={"model": "simulated", "messages": [message]})
    assert response.json()["choices"][0]["message"]["content"] == asking.said()


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": [{"content": "no role"}]}, "messages.0.role"),
        ({"stream": "yes"}, "stream"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"n": 2}, "n"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"structured_outputs": {}}, "structured_outputs"),
        ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs"),
        ({"structured_outputs": {"json": "{"}}, "structured_outputs.json"),
    ],
)
def test_a_wrong_request_is_refused_by_naming_the_field(
    asking: Asking, change: dict[str, Any], param: str
) -> None:
    response = asking.client.post("chat/completions", json=asking.body() | change)
    error = response.json()["error"]
    assert response.status_code == 400
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert param in error["message"]


def test_a_missing_field_is_called_missing(asking: Asking) -> None:
    error = asking.client.post("chat/completions", json={"model": "simulated"}).json()["error"]
    assert error["message"] == "Missing required parameter: 'messages'."


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"seed": NaN}', b"[" * 100_000])
def test_what_is_no_json_object_is_refused(asking: Asking, content: bytes) -> None:
    response = asking.client.post("chat/completions", content=content)
    assert (response.status_code, response.json()["error"]["param"]) == (400, None)


def test_half_a_surrogate_pair_comes_back_as_its_escape(asking: Asking) -> None:
    body = json.dumps(asking.body(structured_outputs={"choice": ["\ud83d"]}))
    response = asking.client.post("chat/completions", content=body)
    assert b"\\ud83d" in response.content
    assert response.json()["choices"][0]["message"]["content"] == "\ud83d"


def test_models_and_health_are_told(fake_openai: Served, asking: Asking) -> None:
    listed = asking.client.get("models").json()
    names = [model["id"] for model in listed["data"]]
    assert names[:2] == ["simulated", "reasoning-simulated"]
    assert "fault:stall" in names
    assert listed["object"] == "list"
    health = httpx.get(f"{fake_openai.root_url}/health")
    assert (health.status_code, health.json()["simulated"]) == (200, True)


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "nothing", 404), ("GET", "chat/completions", 405)]
)
def test_an_unknown_route_is_an_error_in_the_same_shape(
    asking: Asking, method: str, path: str, status: int
) -> None:
    response = asking.client.request(method, path)
    assert response.status_code == status
    assert path in response.json()["error"]["message"]


def test_a_key_is_asked_of_everything_but_health() -> None:
    with serving(FakeOpenAI(key="sk-marked")) as served, httpx.Client() as client:
        asking = Asking(httpx.Client(base_url=served.base_url))
        with asking.client:
            routes = [f"{served.base_url}/models", f"{served.root_url}/log"]
            for sent in ({}, {"authorization": "Bearer sk-other"}, {"authorization": "sk-marked"}):
                asking.client.headers = httpx.Headers(sent)
                refused = [asking.post(), *(client.get(route, headers=sent) for route in routes)]
                assert [response.status_code for response in refused] == [401, 401, 401]
                assert all("sk-" not in response.text for response in refused)
            right = {"authorization": "Bearer sk-marked"}
            asking.client.headers = httpx.Headers(right)
            assert asking.said()
            assert [client.get(route, headers=right).status_code for route in routes] == [200, 200]
            assert client.get(f"{served.root_url}/health").status_code == 200
            assert "sk-marked" not in repr(served.fake)


def test_named_models_are_the_only_ones_and_faults_stay() -> None:
    fake = FakeOpenAI(models=("alpha",), owned_by="vllm")
    with serving(fake) as served, httpx.Client(base_url=served.base_url) as client:
        asking = Asking(client)
        assert asking.said(model="alpha")
        assert asking.said(model="fault:empty") == ""
        response = asking.post(model="beta")
        listed = client.get("models").json()["data"]
    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
    assert "alpha" in response.json()["error"]["message"]
    assert (listed[0]["id"], listed[0]["owned_by"]) == ("alpha", "vllm")


def test_a_pace_parts_the_tokens_and_changes_no_word(asking: Asking) -> None:
    fake = FakeOpenAI(tokens_per_second=2000)
    with serving(fake) as served, httpx.Client(base_url=served.base_url) as client:
        paced = Asking(client)
        assert paced.stream().joined() == paced.said() == asking.said()
