"""What has no effect is named in a header and in the log; what is refused is in the log, without its text."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import httpx
import pytest

from conductor.workers.simulated import SimulatedWorker
from studio.api.endpoints.service import MAX_HEADER, unheeded_header
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.waiting import until

HEADER = "x-conductor-without-effect"
SECRET = "sk-secret-0123456789"
BODIES: dict[str, dict[str, Any]] = {
    "/chat/completions": {"model": "worker:alpha", "messages": [{"role": "user", "content": "Why?"}]},
    "/responses": {"model": "worker:alpha", "input": "Why?"},
}


def line(written: io.StringIO) -> dict[str, Any]:
    """The line of the request that was answered, which is written behind its answer."""

    def lines() -> list[dict[str, Any]]:
        every = (json.loads(each) for each in written.getvalue().splitlines())
        return [each for each in every if each["event"] == "request"]

    return until(lines, what="the request is in the log")[-1]


def post(stage: Stage, path: str, **more: Any) -> httpx.Response:
    return httpx.post(f"{stage.base_url}{path}", json={**BODIES[path], **more})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
def test_what_has_no_effect_is_in_the_header_and_in_the_log(
    stage: Stage, written: io.StringIO, path: str, stream: bool
) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."))
    answer = post(
        stage,
        path,
        stream=stream,
        client_metadata={"a": SECRET},
        tools=[{"type": "web_search", "key": SECRET}],
    )
    assert answer.status_code == 200
    assert answer.headers[HEADER] == "client_metadata,tools.web_search"
    assert line(written)["without_effect"] == "client_metadata,tools.web_search"
    assert SECRET not in written.getvalue()
    assert SECRET not in answer.text


@pytest.mark.parametrize("path", BODIES)
def test_a_request_without_such_parameters_has_no_header(
    stage: Stage, written: io.StringIO, path: str
) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."))
    assert HEADER not in post(stage, path).headers
    assert not {"without_effect", "param", "code", "reason"} & line(written).keys()


def test_embeddings_name_it_too(stage: Stage, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url))
    body = {"model": "worker:alpha", "input": "a", "user": "ann", "of_next_year": 1}
    answer = httpx.post(f"{stage.base_url}/embeddings", json=body)
    assert (answer.status_code, answer.headers[HEADER]) == (200, "user,of_next_year")


@pytest.mark.parametrize(
    ("names", "value"),
    [
        ([], None),
        (["a", "messages.b"], "a,messages.b"),
        (["a\r\nx-evil: 1", "é,b"], "a__x-evil:_1,__b"),
        (["a", "a"], "a"),
    ],
)
def test_the_header_has_safe_characters_only(names: list[str], value: str | None) -> None:
    assert unheeded_header(names).get(HEADER) == value


def test_the_header_has_an_end() -> None:
    value = unheeded_header([f"messages.{at:064}" for at in range(100)])[HEADER]
    assert len(value) <= MAX_HEADER
    assert all(re.fullmatch(r"messages\.\d{64}", name) for name in value.split(",")), "whole names"


REFUSED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    # what is wrong: what a client sends, and what the log has of it
    "a parameter that changes the answer": (
        {"top_k": SECRET},
        {"param": "top_k", "code": "unsupported_parameter",
         "reason": "workers are sent temperature, top_p, seed and penalties; leave it out."},
    ),
    "a value of the wrong type": (
        {"temperature": SECRET},
        {"param": "temperature", "code": "invalid_value", "reason": "float_type"},
    ),
    "a key of the client's": (
        {"metadata": {SECRET: 1}},
        {"param": "metadata.*", "code": "unsupported_parameter",
         "reason": "it may have up to 16 names of at most 64 characters, each with a text of at most 512."},
    ),
    "a tool": (
        {"tools": [{"type": "custom", "custom": {"name": "f"}, "name": "f"}] * 2},
        {"param": "tools.1", "code": "invalid_value"},
    ),
    "a choice": (
        {"tool_choice": {"type": SECRET}},
        {"param": "tool_choice.type", "code": "unsupported_parameter",
         "reason": "no tool runs at this server; choose a function, a custom tool, or allowed_tools."},
    ),
    "our extension": (
        {"conductor": {SECRET: 1}},
        {"param": "conductor.*", "code": "unknown_parameter"},
    ),
    "a model": ({"model": SECRET}, {"param": "model", "code": "model_not_found"}),
}  # fmt: skip


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("what", REFUSED)
def test_a_refused_request_is_in_the_log_with_its_parameter_and_reason(
    stage: Stage, written: io.StringIO, path: str, what: str
) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."))
    sent, logged = REFUSED[what]
    answer = post(stage, path, **sent)
    assert answer.status_code in (400, 404)
    own = line(written)
    assert {name: own[name] for name in ("param", "code", "reason") if name in own} == logged
    assert SECRET not in written.getvalue()


def test_a_member_that_stands_twice_is_in_the_log_without_its_name(
    stage: Stage, written: io.StringIO
) -> None:
    content = f'{{"model": "m", "{SECRET}": 1, "{SECRET}": 2, "input": "Why?"}}'.encode()
    headers = {"content-type": "application/json"}
    assert httpx.post(f"{stage.base_url}/responses", content=content, headers=headers).status_code == 400
    assert line(written)["param"] == "*"
    assert SECRET not in written.getvalue()
