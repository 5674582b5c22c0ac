"""Every parameter of OpenAI's own schema, row by row: honoured, without effect or refused, as documented."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai.types.chat.chat_completion_stream_options_param import ChatCompletionStreamOptionsParam
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase, StreamOptions
from openai.types.responses.response_text_config_param import ResponseTextConfigParam
from openai.types.shared_params.reasoning import Reasoning

from studio.access.errors import ApiError
from studio.api.requests.chat_request import ChatRequest
from studio.api.requests.responses_request import ResponsesRequest
from tests.studio.api.stage import Stage

DOCS = (Path(__file__).parents[4] / "docs" / "api.md").read_text(encoding="utf-8")
HELLO = [{"role": "user", "content": "Why?"}]

Row = tuple[list[Any], list[Any], list[Any]]
"""Values that are honoured or mean what happens anyway, values without effect, and refused values."""

ANYTHING = [1, "x", {"a": 1}, [1], True]
"""Of a parameter that has no effect, no value is wrong."""

TAGS: dict[str, Row] = {
    "metadata": ([{}, {"a": "b"}], [], [{"a": 1}, {"a": "b" * 513}, {"": "b"}]),
    "user": (["ann"], [], [1]),
    "safety_identifier": (["ann"], [], [["ann"]]),
    "store": ([True, False], [], ["true"]),
}
COMMON: dict[str, Row] = {
    **TAGS,
    "temperature": ([0, 0.7, 2], [], [-1, 2.1, "1", True]),
    "top_p": ([0, 0.9, 1], [], [-0.1, 1.1, "1"]),
    "top_logprobs": ([0], [], [21, -1, 2, "2"]),
    "parallel_tool_calls": ([], [True, False], ["yes"]),
    "service_tier": (["auto", "default"], ["flex", "priority", "ultrafast", 1], []),
    "moderation": (
        [{}],
        [{"model": "m"}, {"model": "m", "policy": {"input": {"mode": "score"}}}, {"policy": ["block"]}, True],
        [{"model": "m", "policy": {"output": {"mode": "block"}}}],
    ),
    "prompt_cache_key": ([], ["k"], [1]),
    "prompt_cache_retention": ([], ["24h", *ANYTHING], []),
    "prompt_cache_options": ([{}], [{"ttl": "30m"}, *ANYTHING], []),
}
CHAT: dict[str, Row] = {
    **COMMON,
    "tools": (
        [
            [],
            [{"type": "function", "function": {"name": "f"}}],
            [{"type": "custom", "custom": {"name": "f"}}],
        ],
        [[{"type": "web_search"}], [{"type": "of next year", "function": {}}]],
        [[{"type": "custom"}], [{"type": "function"}], [{"function": {"name": "f"}}], ["function"]],
    ),
    "tool_choice": (
        ["none", "auto"],
        [],
        [
            *("required", "any", {"type": "function"}, {"type": "allowed_tools"}, {"type": "custom"}),
            {"type": "web_search"},
        ],
    ),
    "model": (["conductor", "worker:a"], [], ["", None, 1]),
    "messages": (
        [
            HELLO,
            [{"role": "developer", "content": "Be brief."}, *HELLO],
            [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}],
            [*HELLO, {"role": "assistant", "content": "So.", "refusal": None, "tool_calls": None}, *HELLO],
            [{"role": "user", "content": "Why?", "name": "ann"}],
            [*HELLO, {"role": "assistant", "content": "So."}],
        ],
        [[{"role": "user", "content": "Why?", "next": "year"}]],
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
    "stream_options": (
        [{"include_usage": True}, {"include_obfuscation": False}],
        [{"include_obfuscation": True}, {"other": 1}],
        [{"include_usage": "yes"}, True],
    ),
    "max_completion_tokens": ([1, 4096], [], [0, -1, 1.5, "4"]),
    "max_tokens": ([1], [], [0, "4"]),
    "stop": (["END", ["a", "b", "c", "d"]], [], ["", ["a", ""], ["a"] * 5, [1]]),
    "reasoning_effort": (
        ["none", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive"],
        [],
        ["", 1],
    ),
    "n": ([1, 2, 4], [], [5, 0, "1"]),
    "response_format": (
        [
            {"type": "text"},
            {"type": "json_object"},
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": None}},
        ],
        [{"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "of": "next year"}}],
        [
            {"type": "xml"},
            {"type": "json_schema"},
            {"type": "json_schema", "json_schema": {"name": "n"}},
            {"type": "json_schema", "json_schema": {"name": "n n", "schema": {}}},
            {"type": "json_object", "json_schema": {"name": "n", "schema": {}}},
        ],
    ),
    "modalities": ([["text"], []], [], [["text", "audio"]]),
    "frequency_penalty": ([0, 0.5, -2], [], [2.1, "0"]),
    "presence_penalty": ([0, 2], [], [-2.1]),
    "logit_bias": ([{}], [], [{"50256": -100}]),
    "logprobs": ([False, True], [], [1, "true"]),
    "functions": ([[]], [], [[{"name": "f"}]]),
    "function_call": (["none", "auto"], [], [{"name": "f"}]),
    "seed": ([0, -7, 2**63 - 1], [], ["7", 1.5, 2**63]),
    "audio": ([], [], [{"voice": "alloy", "format": "wav"}]),
    "prediction": ([], [{"type": "content", "content": "x"}, *ANYTHING], []),
    "web_search_options": ([], [], [{}, {"search_context_size": "low"}]),
    "verbosity": (["medium"], ["low", "high", *ANYTHING], []),
}
RESPONSES: dict[str, Row] = {
    **COMMON,
    "tools": (
        [[], [{"type": "function", "name": "f"}], [{"type": "custom", "name": "f"}]],
        [[{"type": "web_search"}], [{"type": "of next year"}]],
        [[{"type": "custom"}], [{"name": "f"}], [{"type": "namespace", "tools": []}], [1]],
    ),
    "tool_choice": (
        ["none", "auto"],
        [],
        ["required", {"type": "function"}, {"type": "allowed_tools"}, {"type": "file_search"}, {"type": 1}],
    ),
    "model": (["conductor"], [], ["", None]),
    "input": (
        [
            "Why?",
            HELLO,
            [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "?"}]}],
        ],
        [[{"type": "of next year"}, *HELLO]],
        [
            [],
            [{"type": "function_call_output", "call_id": "c", "output": "x"}],
            [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}],
            [{"role": "assistant", "content": "So."}],
            7,
        ],
    ),
    "instructions": (["Be brief."], [], [["Be brief."]]),
    "previous_response_id": (["resp_1"], [], [1]),
    "stream_options": ([{}], [{"include_obfuscation": True}, {"other": 1}], [True]),
    "max_output_tokens": ([1], [], [0]),
    "reasoning": (
        [{"effort": "low"}, {"effort": "none"}, {"effort": "adaptive"}, {}],
        [
            {"summary": "auto"},
            {"generate_summary": "auto"},
            {"mode": "pro"},
            {"context": "all_turns"},
            {"a": 1},
        ],
        [{"effort": ""}, "low"],
    ),
    "text": (
        [
            {"format": {"type": "text"}},
            {"format": {"type": "json_object"}},
            {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}},
            {"verbosity": "medium"},
        ],
        [{"verbosity": "low"}, {"verbosity": 1}, {"of": "next year"}],
        [
            {"format": {"type": "grammar"}},
            {"format": {"type": "json_schema", "schema": {}}},
            {"format": {"type": "json_schema", "name": "n"}},
            {"format": {"type": "text", "name": "n"}},
            {"format": {"type": "json_object", "strict": True}},
        ],
    ),
    "truncation": (["disabled"], ["auto", *ANYTHING], []),
    "background": ([True, False], [], ["true"]),
    "include": (
        [[], ["message.output_text.logprobs"]],
        [["reasoning.encrypted_content"], ["of next year"]],
        ["message.output_text.logprobs", [1]],
    ),
    "max_tool_calls": ([], [3, *ANYTHING], []),
    "conversation": ([], [], ["conv_1", {"id": "conv_1"}]),
    "prompt": ([], [], [{"id": "p"}]),
    "context_management": ([[]], [[{"type": "compaction"}], *ANYTHING], []),
    "background_options": ([{}], [{"completion_window": "2h"}, *ANYTHING], []),
    "access_programs": ([[]], [{"cyber": "standard"}, *ANYTHING], []),
    "image": ([{}], [{"context_compression": "auto"}, *ANYTHING], []),
}
NESTED: dict[str, tuple[type, set[str]]] = {
    # the parameter: OpenAI's type, and the members that are honoured
    "reasoning": (Reasoning, {"effort"}),
    "text": (ResponseTextConfigParam, {"format"}),
    "stream_options": (StreamOptions, set()),
    "stream_options of chat": (ChatCompletionStreamOptionsParam, {"include_usage"}),
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
def test_what_is_honoured_is_not_named(endpoint: str, name: str, value: Any) -> None:
    assert parse(endpoint, name, value).ignored == []


@pytest.mark.parametrize(("endpoint", "name", "value"), rows(1))
def test_what_has_no_effect_is_named(endpoint: str, name: str, value: Any) -> None:
    assert [listed.split(".")[0] for listed in parse(endpoint, name, value).ignored] == [name]


@pytest.mark.parametrize(("endpoint", "name", "value"), rows(2))
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
    request = READERS[endpoint][1].__self__
    rows = (name for name in (*request.refused, *request.without_effect) if "." not in name)
    assert {*READERS[endpoint][0], "stream"} == names, "the table of this test"
    assert {*request.model_fields, *rows} >= names, "the tables of the requests"
    assert {name for cell in documented for name in re.findall(r"`(\w+)`", cell)} == names, (
        "the table of the docs"
    )


@pytest.mark.parametrize("endpoint", READERS)
@pytest.mark.parametrize(
    "name", ["client_metadata", "temprature", "Model", "offer", "_turns", "", "x" * 5_000]
)
def test_an_unknown_parameter_has_no_effect_and_is_named(endpoint: str, name: str) -> None:
    assert parse(endpoint, name, {"a": "b"}).ignored == [name[:64]]
    assert parse(endpoint, name, None).ignored == []


@pytest.mark.parametrize("endpoint", READERS)
def test_the_list_of_unknown_parameters_has_an_end(endpoint: str) -> None:
    _, read, body = READERS[endpoint]
    many = {f"unknown_{at}": 1 for at in range(200)}
    assert len(read(json.dumps({**body, **many}).encode()).ignored) == 100


NEUTRAL = {
    "top_k": -1, "min_p": 0, "repetition_penalty": 1.0, "best_of": 1, "ignore_eos": False,
    "do_sample": True, "stop_token_ids": [], "n_predict": -1, "min_tokens": 0, "guided_json": None,
    "search_parameters": {"mode": "off"}, "echo": False, "safe_prompt": False, "frequency_penalty": 0,
    "response_format": {"type": "text"}, "background": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("endpoint", "name"), [(each, name) for each in READERS for name in READERS[each][1].__self__.refused]
)
def test_what_would_change_the_answer_is_refused_with_its_reason(endpoint: str, name: str) -> None:
    row = READERS[endpoint][1].__self__.refused[name]
    with pytest.raises(ApiError) as refused:
        parse(endpoint, name, "something else")
    error = refused.value
    assert (error.status, error.param, error.code) == (400, name, "unsupported_parameter")
    assert (str(error), error.reason) == (f"'{name}' cannot be honoured here: {row.reason}", row.reason)
    for value in (None, *row.neutral):
        assert parse(endpoint, name, value).ignored == []


@pytest.mark.parametrize("endpoint", READERS)
@pytest.mark.parametrize("name", NEUTRAL)
def test_a_default_of_another_server_is_what_happens_anyway(endpoint: str, name: str) -> None:
    assert parse(endpoint, name, NEUTRAL[name]).ignored == []


@pytest.mark.parametrize(("name", "row"), NESTED.items())
def test_members_of_a_parameter_are_those_of_openais_schema(name: str, row: tuple[type, set[str]]) -> None:
    params, honoured = row
    request = ChatRequest if name == "stream_options of chat" else ResponsesRequest
    own = name.split(" ", maxsplit=1)[0]
    rows = {each.partition(".")[2] for each in request.without_effect if each.startswith(f"{own}.")}
    assert honoured | rows == set(params.__annotations__)


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
def test_what_is_sent_twice_is_refused_by_its_name(content: bytes, name: str) -> None:
    with pytest.raises(ApiError) as refused:
        ChatRequest.read(content)
    assert (refused.value.status, refused.value.param) == (400, name)
    assert str(refused.value) == f"'{name}' stands twice in one object; take one out."


@pytest.mark.parametrize(
    ("value", "reason"),
    [([], "array should have at least 1 item, not 0"), ("Why?", "input should be a valid array")],
)
def test_a_value_that_is_wrong_is_reported_in_the_words_of_json(value: Any, reason: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse("chat", "messages", value)
    assert str(refused.value) == f"Invalid value for 'messages': {reason}."


def test_options_of_a_stream_have_no_effect_where_nothing_is_streamed() -> None:
    for _, read, body in READERS.values():
        assert read(json.dumps({**body, "stream_options": {}}).encode()).ignored == ["stream_options"]


def test_two_limits_that_differ_are_refused() -> None:
    body = {"model": "conductor", "messages": HELLO, "max_tokens": 1, "max_completion_tokens": 2}
    with pytest.raises(ApiError) as refused:
        ChatRequest.read(json.dumps(body).encode())
    assert refused.value.param == "max_tokens"


def test_the_document_describes_the_same_parameters(stage: Stage) -> None:
    schemas = httpx.get(f"{stage.base_url}/openapi.json").json()["components"]["schemas"]
    for request, table in ((ChatRequest, CHAT), (ResponsesRequest, RESPONSES)):
        schema = schemas[request.__name__]
        rows = {*request.refused, *request.without_effect}
        assert {*schema["properties"], *(rows & table.keys())} == {*table, "stream", "conductor"}
        assert schema["additionalProperties"] is True


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
