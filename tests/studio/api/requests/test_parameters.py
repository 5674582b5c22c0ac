"""Every parameter of OpenAI's own schema, row by row: honoured or refused by name, as the docs say."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from stage import Stage

from studio.access.errors import ApiError
from studio.api.requests.chat_request import ChatRequest
from studio.api.requests.responses_request import ResponsesRequest

DOCS = (Path(__file__).parents[4] / "docs" / "api.md").read_text(encoding="utf-8")
HELLO = [{"role": "user", "content": "Why?"}]

Row = tuple[list[Any], list[Any]]
"""Values that are taken, and values that are refused."""

TAGS: dict[str, Row] = {
    "metadata": ([{}, {"a": "b"}], [{"a": 1}, {"a": "b" * 513}, {"": "b"}]),
    "user": (["ann"], [1]),
    "safety_identifier": (["ann"], [["ann"]]),
    "store": ([True, False], ["true"]),
}
COMMON: dict[str, Row] = {
    **TAGS,
    "temperature": ([0, 0.7, 2], [-1, 2.1, "1", True]),
    "top_p": ([0, 0.9, 1], [-0.1, 1.1, "1"]),
    "top_logprobs": ([0], [21, -1, 2, "2"]),
    "parallel_tool_calls": ([True, False], ["yes"]),
    "service_tier": (["auto", "default"], ["flex", "priority"]),
    "moderation": ([], [{}, True]),
    "prompt_cache_key": (["k"], [1]),
    "prompt_cache_retention": (["24h"], [1]),
    "prompt_cache_options": ([{}, {"ttl": "30m"}], [1]),
}
CHAT: dict[str, Row] = {
    **COMMON,
    "tools": (
        [[], [{"type": "function", "function": {"name": "f"}}]],
        [[{"type": "custom"}], [{"type": "function"}]],
    ),
    "tool_choice": (
        ["none", "auto"],
        ["required", {"type": "function"}, {"type": "allowed_tools"}, {"type": "custom"}],
    ),
    "model": (["conductor", "worker:a"], ["", None, 1]),
    "messages": (
        [
            HELLO,
            [{"role": "developer", "content": "Be brief."}, *HELLO],
            [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}],
            [*HELLO, {"role": "assistant", "content": "So.", "refusal": None, "tool_calls": None}, *HELLO],
            [{"role": "user", "content": "Why?", "name": "ann"}],
            [*HELLO, {"role": "assistant", "content": "So."}],
        ],
        [
            [],
            "Why?",
            [{"role": "tool", "content": "x", "tool_call_id": "t"}, *HELLO],
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            [{"role": "user", "content": "Why?", "name": "a" * 65}],
            [*HELLO, {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]}, *HELLO],
            [*HELLO, {"role": "assistant", "content": None}],
        ],
    ),
    "stream_options": ([{"include_usage": True}], [{"include_obfuscation": True}, {"other": 1}]),
    "max_completion_tokens": ([1, 4096], [0, -1, 1.5, "4"]),
    "max_tokens": ([1], [0, "4"]),
    "stop": (["END", ["a", "b", "c", "d"]], ["", ["a", ""], ["a"] * 5, [1]]),
    "reasoning_effort": (["none", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive"], ["", 1]),
    "n": ([1, 2, 4], [5, 0, "1"]),
    "response_format": (
        [
            {"type": "text"},
            {"type": "json_object"},
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": None}},
        ],
        [
            {"type": "xml"},
            {"type": "json_schema"},
            {"type": "json_schema", "json_schema": {"name": "n"}},
            {"type": "json_schema", "json_schema": {"name": "n n", "schema": {}}},
            {"type": "json_object", "json_schema": {"name": "n", "schema": {}}},
        ],
    ),
    "modalities": ([["text"]], [["text", "audio"], []]),
    "frequency_penalty": ([0, 0.5, -2], [2.1, "0"]),
    "presence_penalty": ([0, 2], [-2.1]),
    "logit_bias": ([{}], [{"50256": -100}]),
    "logprobs": ([False, True], [1, "true"]),
    "functions": ([[]], [[{"name": "f"}]]),
    "function_call": (["none", "auto"], [{"name": "f"}]),
    "seed": ([0, -7, 2**63 - 1], ["7", 1.5, 2**63]),
    "audio": ([], [{"voice": "alloy", "format": "wav"}]),
    "prediction": ([], [{"type": "content", "content": "x"}]),
    "web_search_options": ([], [{}]),
    "verbosity": (["medium"], ["low", "high"]),
}
RESPONSES: dict[str, Row] = {
    **COMMON,
    "tools": ([[], [{"type": "function", "name": "f"}]], [[{"type": "custom", "name": "f"}]]),
    "tool_choice": (
        ["none", "auto"],
        ["required", {"type": "function"}, {"type": "allowed_tools"}, {"type": "file_search"}],
    ),
    "model": (["conductor"], ["", None]),
    "input": (
        [
            "Why?",
            HELLO,
            [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "?"}]}],
        ],
        [
            [],
            [{"type": "function_call_output", "call_id": "c", "output": "x"}],
            [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}],
            [{"role": "assistant", "content": "So."}],
            7,
        ],
    ),
    "instructions": (["Be brief."], [["Be brief."]]),
    "previous_response_id": (["resp_1"], [1]),
    "stream_options": ([{}], [{"include_obfuscation": True}]),
    "max_output_tokens": ([1], [0]),
    "reasoning": ([{"effort": "low"}, {}], [{"effort": ""}, {"summary": "auto"}]),
    "text": (
        [
            {"format": {"type": "text"}},
            {"format": {"type": "json_object"}},
            {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}},
        ],
        [
            {"verbosity": "low"},
            {"format": {"type": "json_schema", "schema": {}}},
            {"format": {"type": "json_schema", "name": "n"}},
            {"format": {"type": "text", "name": "n"}},
            {"format": {"type": "json_object", "strict": True}},
        ],
    ),
    "truncation": (["disabled"], ["auto"]),
    "background": ([True, False], ["true"]),
    "include": (
        [
            [],
            ["message.output_text.logprobs", "reasoning.encrypted_content"],
            ["computer_call_output.output.image_url"],
        ],
        [["reasoning"], "message.output_text.logprobs", [1]],
    ),
    "max_tool_calls": ([3], ["3"]),
    "conversation": ([], ["conv_1", {"id": "conv_1"}]),
    "prompt": ([], [{"id": "p"}]),
    "context_management": ([], [[]]),
    "background_options": ([], [{}]),
    "access_programs": ([], [[]]),
    "image": ([], [{}]),
}
READERS = {
    "chat": (CHAT, ChatRequest.read, {"model": "conductor", "messages": HELLO}),
    "responses": (RESPONSES, ResponsesRequest.read, {"model": "conductor", "input": "Why?"}),
}


def rows(which: int) -> list[tuple[str, str, Any]]:
    return [
        (endpoint, name, value)
        for endpoint, (table, _, _) in READERS.items()
        for name, row in table.items()
        for value in row[which]
    ]


def parse(endpoint: str, name: str, value: Any) -> Any:
    _, read, body = READERS[endpoint]
    streams = {"stream": True} if name == "stream_options" else {}
    return read(json.dumps({**body, **streams, name: value}).encode())


@pytest.mark.parametrize(("endpoint", "name", "value"), rows(0))
def test_what_is_honoured_is_taken(endpoint: str, name: str, value: Any) -> None:
    assert getattr(parse(endpoint, name, value), name) is not None


@pytest.mark.parametrize(("endpoint", "name", "value"), rows(1))
def test_what_cannot_be_honoured_is_refused_by_its_name(endpoint: str, name: str, value: Any) -> None:
    with pytest.raises(ApiError) as refused:
        parse(endpoint, name, value)
    error = refused.value.shape["error"]
    assert refused.value.status == 400
    assert error["param"].split(".")[0] == name
    assert error["type"] == "invalid_request_error"
    assert f"'{name}" in error["message"] or "last message must be" in error["message"]


@pytest.mark.parametrize(
    ("endpoint", "params"), [("chat", CompletionCreateParamsBase), ("responses", ResponseCreateParamsBase)]
)
def test_no_parameter_of_openais_schema_is_forgotten(endpoint: str, params: type) -> None:
    names = {*params.__annotations__, "stream"}
    of_docs = DOCS.split(f"### `/v1/{'chat/completions' if endpoint == 'chat' else 'responses'}`")[1].split(
        "##"
    )[0]
    documented = [row.split("|")[1] for row in of_docs.splitlines() if row.startswith("| `")]
    assert {*READERS[endpoint][0], "stream"} == names, "the table of this test"
    assert {name for cell in documented for name in re.findall(r"`(\w+)`", cell)} == names, (
        "the table of the docs"
    )


@pytest.mark.parametrize("endpoint", READERS)
@pytest.mark.parametrize("name", ["temprature", "constructor", "Model", "x" * 5_000])
def test_an_unknown_parameter_is_refused(endpoint: str, name: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse(endpoint, name, 1)
    assert refused.value.code == "unknown_parameter"
    assert refused.value.param == name[:200]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"model": "\xff"}',
        b'{"a":' * 900,
        b'{"model": NaN}',
        b"\xef\xbb\xbf{}",
    ],
)
@pytest.mark.parametrize("endpoint", READERS)
def test_what_is_no_request_is_refused(endpoint: str, content: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        READERS[endpoint][1](content)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b'{"model": "a", "model": "b", "messages": [{"role": "user", "content": "Why?"}]}', "model"),
        (b'{"model": "a", "messages": [{"role": "user", "content": "No.", "content": "Why?"}]}', "content"),
        (
            b'{"model": "a", "messages": [{"role": "user", "content": "Why?"}],'
            b' "conductor": {"budget": {"calls": 1, "cost": 1, "calls": 99}}}',
            "calls",
        ),
    ],
)
def test_what_is_said_twice_is_refused_by_its_name(content: bytes, name: str) -> None:
    with pytest.raises(ApiError) as refused:
        ChatRequest.read(content)
    assert (refused.value.status, refused.value.param) == (400, name)
    assert str(refused.value) == f"'{name}' stands twice in one object; take one out."


@pytest.mark.parametrize(
    ("value", "reason"),
    [([], "array should have at least 1 item, not 0"), ("Why?", "input should be a valid array")],
)
def test_a_value_that_is_wrong_is_told_in_the_words_of_json(value: Any, reason: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse("chat", "messages", value)
    assert str(refused.value) == f"Invalid value for 'messages': {reason}."


def test_options_of_a_stream_are_refused_where_nothing_is_streamed() -> None:
    for _, read, body in READERS.values():
        with pytest.raises(ApiError, match="nothing is streamed"):
            read(json.dumps({**body, "stream_options": {}}).encode())


def test_two_limits_that_differ_are_refused() -> None:
    body = {"model": "conductor", "messages": HELLO, "max_tokens": 1, "max_completion_tokens": 2}
    with pytest.raises(ApiError) as refused:
        ChatRequest.read(json.dumps(body).encode())
    assert refused.value.param == "max_tokens"


def test_the_document_describes_the_same_parameters(stage: Stage) -> None:
    schemas = httpx.get(f"{stage.base_url}/openapi.json").json()["components"]["schemas"]
    assert set(schemas["ChatRequest"]["properties"]) == {*CHAT, "stream", "conductor"}
    assert set(schemas["ResponsesRequest"]["properties"]) == {*RESPONSES, "stream", "conductor"}
    assert schemas["ChatRequest"]["additionalProperties"] is False


@pytest.mark.parametrize("endpoint", READERS)
def test_an_extension_that_is_null_is_as_if_it_were_left_out(endpoint: str) -> None:
    assert parse(endpoint, "conductor", None).steering == parse(endpoint, "conductor", {}).steering


@pytest.mark.parametrize("endpoint", READERS)
def test_a_byte_order_mark_before_the_body_is_passed_over(endpoint: str) -> None:
    _, read, body = READERS[endpoint]
    content = json.dumps(body).encode()
    assert read(BOM_UTF8 + content) == read(content)
    with pytest.raises(ApiError, match="not JSON"):
        read(BOM_UTF8 + BOM_UTF8 + content)


def test_a_schema_with_what_is_no_json_is_refused() -> None:
    schema = {"name": "n", "schema": {"const": float("nan")}}
    with pytest.raises(ApiError, match="The schema is no JSON, or has more") as refused:
        _ = parse("chat", "response_format", {"type": "json_schema", "json_schema": schema}).question
    assert refused.value.param == "response_format.json_schema.schema"
