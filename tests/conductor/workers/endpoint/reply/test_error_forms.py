"""An error inside a success fails the step with the server's words, in every form that servers write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conductor.workers.endpoint.reply.error_forms import error_message, report_of
from tests.support.endpoints.chat_cases import ask, client, lines_of
from tests.support.endpoints.raw_endpoint import DONE, chunk, event, raw_endpoint, replies

TEXT = chunk(content="The answer")
WORDS = "CUDA out of memory"
MINIMAX = {"base_resp": {"status_code": 1008, "status_msg": WORDS}}


def _named(data: str, event: str = "event: error\ndata: ") -> bytes:
    return f"{event}{data}\n\n".encode()


STREAMED: list[tuple[str, bytes]] = [
    ("vLLM, SGLang", event({"error": {"message": WORDS, "type": "InternalServerError", "code": 500}})),
    ("vLLM before 2025, FastChat", event({"object": "error", "message": WORDS, "code": 50002})),
    ("Ollama, LM Studio", event({"error": WORDS})),
    ("TGI", event({"error": {"message": WORDS, "http_status_code": 422}})),
    ("gateways", _named(json.dumps({"message": WORDS, "code": 500}))),
    ("DashScope", _named(json.dumps({"code": "InvalidParameter", "message": WORDS}))),
    ("Anthropic", _named(json.dumps({"type": "error", "error": {"type": "a", "message": WORDS}}))),
    ("gateways, text", _named(WORDS)),
    ("llama.cpp", _named(json.dumps({"code": 500, "message": WORDS}), "error: ")),
    ("proxies, bare JSON", _named(json.dumps({"error": {"message": WORDS}}), "")),
    ("FastAPI", _named(json.dumps({"detail": WORDS}), "")),
    ("OpenRouter", event({"choices": [{"delta": {"content": ""}, "error": {"message": WORDS}}]})),
    ("OmniRoute", event({"choices": [], "error": {"code": 502, "message": WORDS}})),
    ("Gemini", event([{"error": {"code": 503, "message": WORDS, "status": "UNAVAILABLE"}}])),
    ("MiniMax", event({"choices": [], **MINIMAX})),
    ("Bedrock", event({"internalServerException": {"message": WORDS}})),
    ("gateways, in the delta", event({"choices": [{"delta": {"error": {"message": WORDS}}}]})),
    ("OpenAI's Responses", event({"type": "response.failed", "response": {"error": {"message": WORDS}}})),
    ("Apigee", event({"fault": {"faultstring": WORDS, "detail": {"errorcode": "policies.a"}}})),
    ("RFC 9457", event({"type": "about:blank", "title": WORDS, "status": 503})),
    ("RFC 9457, detail", event({"title": "Busy", "status": 503, "detail": WORDS})),
    ("Spring", _named(json.dumps({"exception": WORDS}), "event: exception\ndata: ")),
    ("FastChat", event({"text": "", "error_code": 50002, "errorMsg": WORDS})),
    ("TGI, old", event({"error": WORDS, "error_type": "overloaded"})),
    ("LM Studio, an event", _named(json.dumps({"error": {"message": WORDS}}), "event: failure\ndata: ")),
    ("Node", event({"err": WORDS})),
    # groq-python's XGroq; OpenRouter's errors while it streams; MiniMax' form of Anthropic; LiteLLM's proxy.
    ("Groq", event({"choices": [{"index": 0, "delta": {}}], "x_groq": {"id": "req_1", "error": WORDS}})),
    ("Groq, no choice", event({"choices": [], "x_groq": {"error": WORDS}})),
    (
        "OpenRouter, a choice",
        event(
            {
                "provider": "p",
                "error": {"code": "server_error", "message": WORDS},
                "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
            }
        ),
    ),
    (
        "MiniMax, Anthropic",
        event({"type": "error", "error": {"type": "overloaded_error", "message": WORDS, "http_code": "529"}}),
    ),
    ("LiteLLM", event({"error": {"message": WORDS, "type": "None", "param": "None", "code": "500"}})),
]


@pytest.mark.parametrize("at_end", [b"", DONE], ids=["end", "done"])
@pytest.mark.parametrize("before", [b"", TEXT], ids=["first", "later"])
@pytest.mark.parametrize(("server", "error"), STREAMED, ids=[server for server, _ in STREAMED])
async def test_an_error_in_a_stream_fails_with_its_words(
    server: str, error: bytes, before: bytes, at_end: bytes
) -> None:
    async with raw_endpoint(replies(before + error + at_end)) as base_url:
        *_, line = await lines_of(ask(client(base_url, retries=0)))
    assert line.startswith("error: ")
    assert f"reported an error: “{WORDS}”" in line, server


BODIES: list[tuple[str, Any, str]] = [
    ("FastAPI", {"detail": "Not Found"}, "“Not Found”"),
    ("DeepInfra", {"detail": [{"loc": ["body", "n"], "msg": "required"}]}, "“body.n: required”"),
    ("Mistral", {"object": "error", "message": "At capacity", "code": "3505"}, "“At capacity”"),
    ("Mistral, nested", {"object": "Error", "message": {"detail": [{"msg": "Extra"}]}}, "“Extra”"),
    ("Kong", {"message": "Unauthorized", "request_id": "a"}, "“Unauthorized”"),
    ("DashScope", {"code": "DataInspectionFailed", "message": "Unsafe"}, "“Unsafe”"),
    ("DashScope, old", {"output": {"message": "ali error"}}, "“ali error”"),
    ("MiniMax", {"choices": None, "usage": {"total_tokens": 0}, **MINIMAX}, f"“{WORDS}”"),
    ("Zhipu", {"code": 1301, "msg": "敏感内容", "success": False}, "“敏感内容”"),
    ("Baidu", {"error_code": 336003, "error_msg": "too long", "id": "a"}, "“too long”"),
    ("Xunfei", {"header": {"code": 10013, "message": "audit"}, "payload": {}}, "“audit”"),
    ("Tencent", {"Response": {"Error": {"Code": "A", "Message": "no"}}}, "“no”"),
    ("iFlow", {"status": "449", "msg": "rate limited"}, "“rate limited”"),
    ("Cloudflare", {"result": None, "success": False, "errors": [{"message": "Upstream"}]}, "“Upstream”"),
    ("Hugging Face", {"errors": ["bad model"]}, "“bad model”"),
    ("Hugging Face, old", {"error": ["Model is too busy"]}, "“Model is too busy”"),
    ("AWS", {"Message": "Not authorized"}, "“Not authorized”"),
    ("xAI", {"code": "An invalid argument", "error": "Not supported"}, "“Not supported”"),
    ("OpenRouter", {"error": {"message": "Provider", "metadata": {"raw": '{"detail": "why"}'}}}, "“why”"),
    ("simple-one-api", {"error": '{"error":{"message":"inner"}}'}, "“inner”"),
    ("without words", {"error": {"message": "", "type": "server_error", "code": "x"}}, "“x server_error”"),
    ("Gemini", [{"error": {"code": 400, "message": "Unknown name"}}], "“Unknown name”"),
    ("a text", "overloaded", "“overloaded”"),
    ("AWS, lambda", {"errorType": "Timeout", "errorMessage": "Task timed out"}, "“Task timed out”"),
    ("WeChat, Baidu", {"errCode": 5, "errMsg": "quota"}, "“quota”"),
    ("Azure ML", {"status": {"code": 500, "message": "Scoring failed"}}, "“Scoring failed”"),
    ("Spring", {"status": 400, "error": "Bad Request", "message": "No such model"}, "“No such model”"),
    ("Envoy", {"code": 503, "message": "no healthy upstream"}, "“no healthy upstream”"),
    ("LangServe", {"error_messages": ["Bad", "Worse"]}, "“Bad”"),
    # Reported: lmstudio-bug-tracker#618; groq's console, errors; OpenRouter's text of a provider.
    ("LM Studio", {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, "“Unexpected end"),
    (
        "Groq",
        {"error": {"message": "See it.", "code": "tool_use_failed", "failed_generation": "<function=f>"}},
        "“See it. <function=f>”",
    ),
    (
        "OpenRouter, a text",
        {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "ERROR: no"}}},
        "“ERROR: no”",
    ),
    ("Mistral, twice", {"object": "Error", "message": [{"loc": ["body", "n"], "msg": "no"}]}, "“body.n: no”"),
    ("a choice's message", {"choices": [{"message": {"error": {"message": "Filtered"}}}]}, "“Filtered”"),
    ("other keys", {"info": "Licence expired"}, '“{"info": "Licence expired"}”'),
    ("Gemini's own", {"promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY"),
    ("Anthropic's own", {"type": "message", "content": [{"type": "text", "text": "42"}]}, '"42"'),
    ("Responses' own", {"object": "response", "output": [{"type": "message"}]}, '"object": "response"'),
    ("no choices", {}, "it has no answer among its choices"),
    ("no choices", {"choices": [], "prompt_filter_results": [{}]}, "it has no answer among its choices"),
    ("a health check", {"status": "ok"}, "it has no answer among its choices"),
    ("another protocol", {"response": "42"}, "it has no answer among its choices"),
    ("no message", {"choices": [{"message": None, "finish_reason": None}]}, "without a finish reason"),
]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "text/event-stream", ""])
@pytest.mark.parametrize(("server", "body", "words"), BODIES)
async def test_a_body_that_is_an_error_fails_with_its_words(
    server: str, body: object, words: str, content_type: str
) -> None:
    written = json.dumps(body, ensure_ascii=False)
    async with raw_endpoint(replies(written, content_type=content_type)) as base_url:
        (line,) = await lines_of(ask(client(base_url, retries=0)))
    assert words in line, server


@pytest.mark.parametrize("content_type", ["application/json", "text/html", "text/event-stream"])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("Internal Server Error", "“Internal Server Error”"),
        ("upstream connect error\n", "“upstream connect error”"),
        ("<html><head><TITLE>Log in</TITLE></head>", "instead of an event stream: “Log in”"),
        ("<html>", "instead of an event stream;"),
        ("<html><body><h1 class='a'>502 Bad Gateway</h1></body>", "stream: “502 Bad Gateway”"),
        ("<?xml version='1.0'?><Error><Code>a</Code><Message>Denied</Message></Error>", "stream: “Denied”"),
        ("[ERROR] no GPU left", "“[ERROR] no GPU left”"),
    ],
)
async def test_words_that_are_no_json_reach_the_person(body: str, words: str, content_type: str) -> None:
    async with raw_endpoint(replies(body, content_type=content_type)) as base_url:
        (line,) = await lines_of(ask(client(base_url, retries=0)))
    assert words in line


@pytest.mark.parametrize("fine", [{"error": None}, {"error": {}}, {"error": False}, {"error": ""}])
@pytest.mark.parametrize("more", [{}, {"base_resp": {"status_code": 0, "status_msg": ""}}, {"message": "ok"}])
async def test_an_answer_beside_an_empty_error_is_one(fine: dict[str, Any], more: dict[str, Any]) -> None:
    whole = {"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}], **fine, **more}
    async with raw_endpoint(replies(json.dumps(whole), content_type="application/json")) as base_url:
        assert await lines_of(ask(client(base_url))) == ["text: 42", "stop: None tokens"]


@pytest.mark.parametrize(
    ("server", "error", "status", "may_pass"),
    [
        ("OpenAI", {"error": {"message": "slow", "code": 429}}, 429, True),
        ("LiteLLM", {"error": {"message": "slow", "code": "429"}}, 429, True),
        ("Anthropic", {"type": "error", "error": {"type": "overloaded_error"}}, None, True),
        ("OpenAI", {"error": {"type": "tokens", "code": "rate_limit_exceeded"}}, None, True),
        ("Gemini", [{"error": {"status": "UNAVAILABLE", "message": "a"}}], None, True),
        ("Gemini", {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}, 429, True),
        ("Zhipu", {"error": {"code": "1302", "message": "a"}}, None, True),
        ("TGI", {"error": {"message": "a", "http_status_code": 503}}, 503, True),
        ("MiniMax", {"base_resp": {"status_code": 1002, "status_msg": "a"}}, None, True),
        ("Bedrock", {"__type": "ThrottlingException", "message": "a"}, None, True),
        ("Bedrock", {"internalServerException": {"message": "a"}}, None, True),
        ("iFlow", {"status": "449", "msg": "a"}, 449, True),
        ("MiniMax", {"type": "error", "error": {"type": "overloaded", "http_code": "529"}}, 529, True),
        (
            "llama.cpp",
            {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
            503,
            True,
        ),
        (
            "llama.cpp",
            {"error": {"code": 400, "message": "a", "type": "exceed_context_size_error"}},
            400,
            False,
        ),
        ("OpenRouter", {"code": "server_error", "message": "a"}, None, True),
        ("Hugging Face", {"error": "Model is too busy"}, None, True),
        ("a proxy", "Internal Server Error", None, True),
        ("OpenAI", {"error": {"code": "insufficient_quota", "type": "insufficient_quota"}}, None, False),
        ("MiniMax", MINIMAX, None, False),
        ("vLLM", {"object": "error", "message": "a", "code": 400}, 400, False),
        ("DashScope", {"code": "InvalidParameter", "message": "a"}, None, False),
        ("a person's word", {"error": {"code": "invalid", "message": "internal error"}}, None, False),
    ],
)
def test_an_error_may_pass_where_its_code_states_it(
    server: str, error: object, status: int | None, may_pass: bool
) -> None:
    report = report_of(error)
    assert (report.status, report.may_pass) == (status, may_pass), server


def test_words_are_read_in_linear_time() -> None:
    assert error_message(b"<title" * 10_000) == ""
    assert error_message(b"<h1>" * 20_000) == ""
    assert error_message(json.dumps({"error": "{" * 60_000}).encode()) == "{" * 60_000
