"""What clients send back with an answer, or mark a message by, has no effect and is listed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from studio.access.errors import ApiError
from studio.api.requests.chat_request import ChatRequest
from studio.api.requests.request import MAX_ECHOES
from studio.api.requests.responses_request import ResponsesRequest

USER = {"role": "user", "content": "Hi"}
CACHE = {"cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "t", "signature": "s"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALL_ITEM = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "ok"}
RESULT_ITEM = {"type": "function_call_output", "call_id": "c", "output": "ok"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
CITATION = {"type": "url_citation", "url": "https://e.org"}

Messages = list[dict[str, Any]]


def answer(**echo: Any) -> Messages:
    return [USER, {"role": "assistant", "content": "Hello", **echo}, USER]


def parts(*content: dict[str, Any]) -> Messages:
    return answer(content=[*content, {"type": "text", "text": "Hello"}])


def called(call: dict[str, Any] = CALL, **echo: Any) -> Messages:
    return [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, {**RESULT, **echo}]


def item(**echo: Any) -> Messages:
    return [USER, {"type": "message", **output()[1], **echo}, USER]


def output(**echo: Any) -> Messages:
    return answer(content=[{"type": "output_text", "text": "Hello", "annotations": [], **echo}])


CHAT: dict[str, tuple[Messages, str]] = {
    # who sends it: the messages, and what of them is listed
    "DeepSeek, vLLM, Vercel AI": (answer(reasoning_content="t"), "reasoning_content"),
    "Continue": (answer(reasoning_content=""), ""),
    "OpenRouter": (
        answer(reasoning="t", reasoning_details=[{"type": "reasoning.text", "text": "t"}]),
        "reasoning reasoning_details",
    ),
    "litellm": (
        answer(thinking_blocks=[THOUGHT], provider_specific_fields={"citations": None}),
        "thinking_blocks provider_specific_fields",
    ),
    "Ollama": (answer(thinking="t"), "thinking"),
    "OpenAI's model_dump": (
        answer(refusal=None, annotations=[], audio=None, function_call=None, tool_calls=None),
        "",
    ),
    "OpenAI's search": (answer(annotations=[CITATION]), "annotations"),
    "OpenAI's refusal": (answer(content=[{"type": "refusal", "refusal": "Hello"}]), ""),
    "CodeCompanion": ([{**USER, "id": 1, "opts": {"visible": False}}], "id opts"),
    "ms-agent": ([{**USER, "send_to": ["all"]}], "send_to"),
    "a stored choice": (answer(model="m", usage={"total_tokens": 3}), "model usage"),
    "LangChain of Anthropic": (parts(THOUGHT), "content.thinking"),
    "Mistral": (
        parts({"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}),
        "content.thinking",
    ),
    "Anthropic": (parts({"type": "redacted_thinking", "data": "x"}), "content.redacted_thinking"),
    "Vercel AI's parts": (parts({"type": "reasoning", "text": "t"}), "content.reasoning"),
    "Cline": (
        [{"role": "user", "content": [{"type": "text", "text": "Hi", **CACHE}]}],
        "content.cache_control",
    ),
    "litellm's injection": ([{**USER, **CACHE}], "cache_control"),
    "Vercel AI of Gemini": (
        called({**CALL, "extra_content": {"google": {"thought_signature": "s"}}}),
        "tool_calls.extra_content",
    ),
    "litellm of Gemini": (
        called({**CALL, "provider_specific_fields": {"thought_signature": "s"}, "index": 0, "type": None}),
        "tool_calls.provider_specific_fields tool_calls.index",
    ),
    "Anthropic's result": (called(is_error=True, **CACHE), "is_error cache_control"),
    "a function that returns nothing": (called(content=None), ""),
    "LangChain": (
        answer(additional_kwargs={"a": 1}, response_metadata={}, type="ai", id="run-1"),
        "additional_kwargs type id",
    ),
    "OpenAI's parse": (answer(parsed={"a": 1}), "parsed"),
    "OpenAI's Responses in a chat": (answer(content=[{"type": "output_text", "text": "Hello"}]), ""),
    "OpenAI's input": ([{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}], ""),
    "Responses' thoughts": (parts({"type": "reasoning_text", "text": "t"}), "content.reasoning_text"),
    "an unsigned thought": (parts({"type": "thinking", "thinking": ""}), "content.thinking"),
    "Perplexity": (
        answer(content=[{"type": "text", "text": "Hello", "citations": [CITATION]}]),
        "content.citations",
    ),
    "Ollama's calls": (called({**CALL, "function": {"name": "f", "arguments": {"a": 1}}}), ""),
    "a call without arguments": (called({**CALL, "function": {"name": "f", "arguments": None}}), ""),
    "LangChain's result": (called(artifact=None, status="success"), "status"),
    "a stored message": (answer(created_at="x", weight=1, metadata={"a": 1}), "created_at weight metadata"),
    "an empty answer": ([USER, {"role": "assistant", "content": []}, USER], ""),
    "DeepSeek's prefix": (answer(prefix=True), "prefix"),
    "OpenRouter's images": (answer(images=[{"type": "image_url"}]), "images"),
    # pydantic_ai's send_back_thinking_parts, Open WebUI: thoughts in the text itself.
    "pydantic-ai": (answer(content="<think>\nhm\n</think>\n\nHello"), ""),
    "a prompt that opens thoughts": (answer(content="hm\n</think>\n\nHello"), ""),
    "Magistral": (answer(content="[THINK]hm[/THINK]Hello"), ""),
    "thoughts alone": (answer(content="<think>hm</think>"), ""),
    "OpenAI's parse of a call": (
        called({**CALL, "function": {"name": "f", "arguments": "{}", "parsed_arguments": {"a": 1}}}),
        "tool_calls.function.parsed_arguments",
    ),
    "LangChain of Bedrock": (
        parts({"type": "reasoning_content", "reasoning_content": {"text": "t", "signature": "s"}}),
        "content.reasoning_content",
    ),
    "LangChain's blocks": (parts({"type": "reasoning", "reasoning": "t", "index": 0}), "content.reasoning"),
    "no instructions": ([{"role": "system", "content": None}, USER], ""),
}
ITEMS: dict[str, tuple[Messages, str]] = {
    "a chat's text": (answer(content=[{"type": "text", "text": "Hello"}]), ""),
    "a chat's thoughts": (parts(THOUGHT), "content.thinking"),
    "Mistral's thoughts": (
        parts({"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}),
        "content.thinking",
    ),
    "Vercel AI's parts": (parts({"type": "reasoning", "text": "t"}), "content.reasoning"),
    "a call that was read": ([USER, {**CALL_ITEM, "arguments": {"a": 1}}, RESULT_ITEM], ""),
    "OpenAI's parse": (output(parsed={"a": 1}), "content.parsed"),
    "a chat's calls": (answer(tool_calls=[CALL]), "tool_calls"),
    "a search": (
        [USER, {"type": "web_search_call", "id": "w", "action": {}}, *item()[1:]],
        "web_search_call",
    ),
    "compacted": ([{"type": "compaction", "encrypted_content": "x"}, USER], "compaction"),
    "openai-agents": ([USER, {"type": "reasoning", "id": "rs_1", "summary": []}, *item()[1:]], "reasoning"),
    "OpenAI": (item(id="msg_1", status="completed", phase="final_answer"), "id status phase"),
    "OpenAI's search": (output(annotations=[CITATION]), "content.annotations"),
    "OpenAI's log probabilities": (output(logprobs=[{"token": "a"}]), "content.logprobs"),
    "OpenAI's refusal": (answer(content=[{"type": "refusal", "refusal": "Hello"}]), ""),
    "pydantic-ai": (answer(content="<think>\nhm\n</think>\n\nHello"), ""),
    "OpenAI's parse of a call": (
        [USER, {**CALL_ITEM, "parsed_arguments": {"a": 1}, "caller": None}, RESULT_ITEM],
        "parsed_arguments",
    ),
    "vLLM's thoughts": (
        [
            USER,
            {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "t"}]},
            *item()[1:],
        ],
        "reasoning",
    ),
    "openai-agents' sessions": (
        [USER, {**CALL_ITEM, "id": "fc_1", "provider_data": {"model": "m"}}, RESULT_ITEM],
        "id provider_data",
    ),
    "litellm": (
        [{"role": "user", "content": [{"type": "input_text", "text": "Hi", **CACHE}]}],
        "content.cache_control",
    ),
}


@pytest.mark.parametrize(
    ("reader", "messages", "listed"),
    [(ChatRequest, *row) for row in CHAT.values()] + [(ResponsesRequest, *row) for row in ITEMS.values()],
    ids=(*CHAT, *(f"item: {name}" for name in ITEMS)),
)
def test_a_conversation_goes_on_with_what_clients_add(
    reader: type[ChatRequest | ResponsesRequest], messages: Messages, listed: str
) -> None:
    body = {"model": "m", reader.query_parameter: messages}
    request = reader.read(json.dumps(body).encode())
    assert request.ignored == [f"{reader.query_parameter}.{name}" for name in listed.split()]
    history = request.question.history
    texts = [turn.text for turn in (*history.turns, *history.following)]
    assert {*texts, history.instructions} <= {"Hi", "Hello", "ok", ""}, "no thoughts"


@pytest.mark.parametrize("text", ["<think>hm</think>Hello", "[THINK]hm[/THINK]Hello"])
@pytest.mark.parametrize("reader", [ChatRequest, ResponsesRequest])
def test_a_worker_that_is_asked_alone_gets_the_text_as_it_was_sent(
    reader: type[ChatRequest | ResponsesRequest], text: str
) -> None:
    body = {"model": "worker:a", reader.query_parameter: answer(content=text)}
    assert reader.read(json.dumps(body).encode()).question.history.turns[1].text == text


def test_an_image_may_be_its_address_alone() -> None:
    url = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    image = {"type": "image_url", "image_url": url}
    body = {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, image]}]}
    (own,) = ChatRequest.read(json.dumps(body).encode()).question.history.images
    assert own.wire["image_url"]["url"] == url


def test_marks_of_tools_are_listed_beside_the_caches() -> None:
    tools = [{**TOOL, "strict": True, **CACHE}]
    body = {"model": "m", "messages": [USER], "tools": tools, "prompt_cache_options": {"mode": "implicit"}}
    listed = ChatRequest.read(json.dumps(body).encode()).ignored
    assert listed == ["prompt_cache_options", "tools.strict", "tools.cache_control"]


def test_the_list_has_an_end() -> None:
    many = [{**USER, **{f"n{at}_{each}": 1 for each in range(50)}} for at in range(50)]
    request = ChatRequest.read(json.dumps({"model": "m", "messages": many}).encode())
    assert len(request.ignored) == MAX_ECHOES


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({**USER, "content": [{"type": "thinking", "thinking": "t"}]}, "messages.1.content.0.type"),
        ({"role": "assistant", "audio": {"id": "a"}}, "messages.1.audio"),
        ({**USER, "content": [{"type": "input_audio", "input_audio": {}}]}, "messages.1.content.0.type"),
    ],
)
def test_what_would_be_lost_is_refused(message: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as refused:
        ChatRequest.read(json.dumps({"model": "m", "messages": [USER, message, USER]}).encode())
    assert refused.value.param == param
