"""Thoughts are separated from the answer, in whatever field or mark a server sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conductor.values.message_parts.tools import Tool, ToolOffer
from conductor.values.messages import Delta, Thought
from conductor.workers.endpoint.reply.reply import Reply
from conductor.workers.endpoint.wire import read_chunk
from conductor.workers.keys.mask import NO_KEYS

THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}, {"type": "reference"}]}
FIELDS: dict[str, dict[str, Any]] = {
    "DeepSeek, Qwen, xAI, SGLang, llama.cpp": {"reasoning_content": "hm"},
    "Groq, OpenRouter, Ollama, vLLM": {"reasoning": "hm"},
    "LiteLLM sends both": {"reasoning": "hm", "reasoning_content": "hm"},
    "MiniMax": {"reasoning": None, "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
    "OpenRouter, summary": {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
    "Ollama's own field": {"thinking": "hm"},
    "an object": {"thinking": {"content": "hm"}},
    "an object with an id": {"reasoning": {"content": "hm", "id": "rs_1"}},
    "a list of texts": {"reasoning": ["h", "m"]},
    "parts": {"reasoning_content": [{"type": "text", "text": "hm"}]},
    "GitHub Copilot": {"reasoning_text": "hm", "reasoning_opaque": "abc"},
    "LiteLLM's blocks": {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "x"}]},
    "Mistral": {"content": [THINKING]},
    "Anthropic behind a gateway": {"content": [{"type": "thinking", "thinking": "hm", "signature": "Eq"}]},
    "watsonx": {"content": [{"type": "reasoning", "text": "hm"}]},
    "Databricks": {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}]},
    "Gemini's flag": {"content": "hm", "extra_content": {"google": {"thought": True}}},
    "Gemini's flag of a part": {"content": [{"text": "hm", "thought": True}]},
    "llama.cpp leaves the marks": {"reasoning_content": "<think>hm</think>"},
    "SGLang with another model's parser": {"reasoning_content": "h", "content": "m</think>"},
}
NO_THOUGHTS: dict[str, dict[str, Any]] = {
    "OpenRouter, encrypted": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA"}]},
    "Anthropic, redacted": {"content": [{"type": "redacted_thinking", "data": "Eq"}]},
    "DeepSeek": {"content": "", "reasoning_content": None},
    "Gemini's signature": {"extra_content": {"google": {"thought_signature": "Ev4B"}}},
}
ANSWERS = [
    "42",
    ["42"],
    [{"type": "text", "text": "42"}],
    [{"type": "output_text", "text": "42"}],
    [{"text": "42"}],
    [{"type": "text", "text": {"value": "42"}}],
]


def _read(*deltas: dict[str, Any], finish: str = "stop", **options: Any) -> tuple[Reply, list[Any]]:
    reply, items = Reply(NO_KEYS, **options), []
    for delta in deltas:
        items += reply.take(read_chunk(json.dumps({"choices": [{"delta": delta}]})))[0]
    items += reply.take(read_chunk(json.dumps({"choices": [{"delta": {}, "finish_reason": finish}]})))[0]
    return reply, [*items, *reply.end()]


@pytest.mark.parametrize("source", FIELDS | NO_THOUGHTS)
def test_thoughts_in_a_field_are_reasoning(source: str) -> None:
    fields = (FIELDS | NO_THOUGHTS)[source]
    streamed = _read(fields, {"content": "42"})[0].completion(None)
    content = fields.get("content") or []
    parts = [content] if isinstance(content, str) else content
    whole_fields = {**fields, "content": [*parts, "42"]} if "extra_content" not in fields else None
    assert (streamed.text, streamed.reasoning) == ("42", "hm" if source in FIELDS else "")
    if whole_fields is not None:
        whole = _read(whole_fields)[0].completion(None)
        assert (whole.text, whole.reasoning) == (streamed.text, streamed.reasoning)


@pytest.mark.parametrize("content", ANSWERS)
def test_parts_of_text_are_the_answer(content: Any) -> None:
    assert _read({"content": content})[0].completion(None).text == "42"


@pytest.mark.parametrize(
    ("server", "chunks", "answer"),
    [
        ("each has all so far", [{"message": "a"}, {"message": "a b"}, {"message": "a b c"}], "a b c"),
        ("each has the next", [{"message": "a"}, {"message": " b"}, {"message": " c"}], "a b c"),
        ("the last repeats", [{"delta": "a"}, {"delta": " b"}, {"message": "a b"}], "a b"),
        ("the first is empty", [{"message": ""}, {"delta": "a"}, {"message": "a"}], "a"),
        ("one is sent twice", [{"message": "a b"}, {"message": "a b"}], "a b"),
    ],
)
def test_messages_in_a_stream_are_one_answer(server: str, chunks: list[dict[str, str]], answer: str) -> None:
    reply = Reply(NO_KEYS)
    for (name, content), *_ in (list(chunk.items()) for chunk in chunks):
        reply.take(read_chunk(json.dumps({"choices": [{name: {"content": content, "role": "assistant"}}]})))
    reply.end()
    assert reply.completion(None).text == answer, server


def test_what_was_sent_as_the_answer_is_recalled_by_a_mark_that_closes_thoughts() -> None:
    reply, items = _read({"content": "perhaps "}, {"content": "41</think>"}, {"content": "42"})
    assert items == [Delta("perhaps "), Delta("41"), Thought("", recalls=10), Delta("42")]
    assert (reply.completion(None).text, reply.completion(None).reasoning) == ("42", "perhaps 41")
    assert reply.in_prompt


@pytest.mark.parametrize(
    ("text", "finish", "answer", "in_prompt"),
    [
        ("perhaps</think>42", "stop", "42", True),
        ("42", "stop", "42", False),
        ("perhaps", "length", "", True),
        ("<think>perhaps</think>42", "stop", "42", True),
    ],
)
def test_an_endpoint_whose_prompt_opens_thoughts_sends_none_as_an_answer(
    text: str, finish: str, answer: str, in_prompt: bool
) -> None:
    reply, items = _read(*({"content": letter} for letter in text), finish=finish, in_prompt=True)
    assert (reply.completion(None).text, reply.in_prompt) == (answer, in_prompt)
    assert not any(isinstance(item, Thought) and item.recalls for item in items)
    assert "".join(item.text for item in items if isinstance(item, Delta)) == answer


CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
OFFER = ToolOffer(tools=(Tool.of("f"),))


@pytest.mark.parametrize(
    ("source", "deltas", "options"),
    [
        ("Qwen3.5", [{"content": f"<think>hm\n{CALL}"}], {}),  # SGLang's detector of reasoning
        ("vLLM with a parser of thoughts", [{"reasoning_content": "hm\n"}, {"reasoning_content": CALL}], {}),
        ("an earlier answer began in thoughts", [{"content": f"hm\n{CALL}"}], {"in_prompt": True}),
        (
            "Kimi K2",
            [
                {"content": "<think>hm<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"},
                {"content": '<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'},
            ],
            {},
        ),
    ],
)
def test_a_call_before_the_thoughts_are_closed_is_one(
    source: str, deltas: list[dict[str, Any]], options: dict[str, bool]
) -> None:
    reply, _ = _read(*deltas, tools=OFFER, **options)
    completion = reply.completion(None)
    assert [(call.name, call.arguments) for call in completion.tool_calls] == [("f", '{"a": 1}')], source
    assert completion.finish_reason == "tool_calls"
    assert not completion.text.strip() or options


@pytest.mark.parametrize(
    "thought", ['{"name": "f", "arguments": {"a": 1}}', f"{CALL[:30]}", "The <tool_call> is text."]
)
def test_thoughts_about_a_call_are_none(thought: str) -> None:
    completion = _read({"reasoning": thought}, tools=OFFER)[0].completion(None)
    assert (completion.tool_calls, completion.text, completion.reasoning) == ((), "", thought)


def test_an_answer_behind_thoughts_about_a_call_is_no_call() -> None:
    completion = _read({"reasoning": CALL}, {"content": "42"}, tools=OFFER)[0].completion(None)
    assert (completion.tool_calls, completion.text) == ((), "42")
