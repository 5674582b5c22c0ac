"""Every server's word for the end of an answer, and ends without one."""

from __future__ import annotations

import json

import pytest

from conductor.workers.endpoint.reply.reply import reason_of
from tests.support.endpoints.chat_cases import ask, client, lines_of
from tests.support.endpoints.raw_endpoint import DONE, chunk, event, raw_endpoint, replies


@pytest.mark.parametrize(
    ("meaning", "words"),
    [
        # OpenAI, Together, TGI, Anthropic, Gemini, Cohere, Titan, Ollama, Baidu
        ("stop", "stop eos eos_token stop_sequence end_turn STOP COMPLETE FINISHED finish done normal"),
        # Anthropic, Gemini, Responses, Mistral, Replicate, vLLM, Anthropic 4.5, Vertex
        ("length", "length max_tokens MAX_TOKENS max_output_tokens model_length max_length"),
        ("length", "context_length_exceeded model_context_window_exceeded FINISH_REASON_MAX_TOKENS"),
        # OpenAI, Bedrock, Zhipu, Gemini, Anthropic, Cohere
        ("refused", "content_filter content-filter content_filtered guardrail_intervened sensitive SAFETY"),
        ("refused", "PROHIBITED_CONTENT BLOCKLIST RECITATION refusal ERROR_TOXIC MODEL_ARMOR LANGUAGE"),
        # Gemini's protocol of OpenAI; Bedrock, Gemini, Cohere, Moonshot
        ("refused", "content_filter:SAFETY content_filter:RECITATION content_filter:OTHER"),
        ("failed", "function_call_filter:MALFORMED_FUNCTION_CALL malformed_model_output malformed_tool_use"),
        ("failed", "UNEXPECTED_TOOL_CALL USER_CANCEL engine_overloaded FINISH_REASON_MALFORMED_RESPONSE"),
        # Zhipu, DeepSeek, OpenRouter, Cohere, vLLM, SGLang, TensorRT-LLM
        ("failed", "network_error insufficient_system_resource error ERROR abort aborted cancelled timeout"),
        # LMDeploy, vLLM, Anthropic, gateways
        ("other", "parse_error repetition pause_turn load unknown other new_word 1"),
    ],
)
def test_a_servers_word_for_the_end_is_understood(meaning: str, words: str) -> None:
    assert {word: reason_of(word) for word in words.split()} == dict.fromkeys(words.split(), meaning)


TEXT = chunk(content="The answer")


def _last(reason: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


@pytest.mark.parametrize(
    ("server", "body", "end"),
    [
        ("SGLang", TEXT + _last({"type": "stop"}) + DONE, "stop: None tokens"),
        ("SGLang", TEXT + _last({"type": "length", "length": 5}) + DONE, "length: None tokens"),
        ("a list", TEXT + _last(["stop"]) + DONE, "stop: None tokens"),
        ("a number", TEXT + _last(1) + DONE, "other: None tokens"),
        ("Gemini, xAI: no [DONE]", TEXT + _last("stop"), "stop: None tokens"),
        ("Ollama, old", TEXT + _last("") + DONE, "stop: None tokens"),
        ("one-api", TEXT + _last("null") + DONE, "stop: None tokens"),
        ("Ollama, old, cut", TEXT + _last(""), "broke the connection after 10 characters"),
        ("Gemini", TEXT + _last("content_filter: SAFETY") + DONE, "refused: None tokens"),
        ("watsonx", TEXT + _last("not_finished") + _last("eos_token") + DONE, "stop: None tokens"),
        (
            "gateways, in the delta",
            TEXT + event({"choices": [{"delta": {"finish_reason": "stop"}}]}) + DONE,
            "stop",
        ),
        (
            "gateways of Gemini",
            TEXT + event({"choices": [{"delta": {}, "finishReason": "STOP"}]}) + DONE,
            "stop",
        ),
        ("a heartbeat", TEXT + b"data: ping\n\ndata: [keepalive]\n\n" + _last("stop"), "stop: None tokens"),
        ("a notice, cut", TEXT + event({"queue": "drained"}) + DONE, 'cut off: “{"queue": "drained"}”'),
        ("TensorRT-LLM, cut", TEXT + DONE, "ended its answer without a finish reason after 10 characters"),
        (
            "Zhipu",
            TEXT + _last("network_error") + DONE,
            "with the finish reason “network_error” after 10 char",
        ),
        # ollama server/routes.go: a model that was taken out of memory; llama.cpp's own words for an end.
        ("Ollama", TEXT + _last("unload") + DONE, "other: None tokens"),
        ("Ollama, its error lost", TEXT + chunk(content=""), "broke the connection after 10 characters"),
        ("vLLM, repetition", TEXT + _last("repetition") + DONE, "other: None tokens"),
        ("vLLM", TEXT + _last("abort") + DONE, "with the finish reason “abort” after 10 characters"),
        ("OpenRouter", _last("error") + event({"error": {"message": "why"}}), "reported an error: “why”"),
        ("opencode, cut", TEXT, "broke the connection after 10 characters"),
        ("nothing", DONE, "it has no answer among its choices"),
    ],
)
async def test_an_answer_that_may_be_cut_off_is_none(server: str, body: bytes, end: str) -> None:
    async with raw_endpoint(replies(body)) as base_url:
        lines = await lines_of(ask(client(base_url, retries=0)))
    assert end in lines[-1], server


async def test_a_whole_message_needs_no_reason() -> None:
    body = json.dumps({"choices": [{"message": {"content": "42"}}]})
    async with raw_endpoint(replies(body, content_type="application/json")) as base_url:
        assert await lines_of(ask(client(base_url))) == ["text: 42", "other: None tokens"]


@pytest.mark.usefixtures("no_pauses")
async def test_an_answer_without_a_reason_is_asked_for_again_once() -> None:
    async with raw_endpoint(replies(TEXT + DONE)) as base_url:
        lines = await lines_of(ask(client(base_url)))
    assert [line.partition(":")[0] for line in lines] == ["text", "attempt 1", "text", "error"]


async def test_keys_in_words_inside_a_success_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-" + "k" * 30
    monkeypatch.setenv("FORMS_API_KEY", key)
    for body in (
        f"event: error\ndata: not {key}\n\n".encode(),
        event({"error": {"metadata": {"raw": key}}}),
        f"<title>{key}".encode(),
        TEXT + event({"detail": key}),
    ):
        async with raw_endpoint(replies(body)) as base_url:
            chat = client(base_url, retries=0, api_key_env="FORMS_API_KEY")
            lines = await lines_of(ask(chat))
        assert "kkk" not in "".join(lines)
