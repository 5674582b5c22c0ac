"""Tokens are read in every shape and order that servers send, and never too low."""

from __future__ import annotations

from typing import Any

import pytest
from chat_cases import ask, client, completed
from raw_endpoint import DONE, chunk, event, raw_endpoint, replies

from conductor.workers.endpoint.reply.usage_forms import TokensSoFar

GOOD = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
XAI = {"prompt_tokens": 307, "completion_tokens": 26, "total_tokens": 560}
Tokens = tuple[int | None, int | None, int | None]

FORMS: list[tuple[str, object, Tokens]] = [
    ("OpenAI", GOOD, (5, 7, None)),
    ("xAI", {**XAI, "prompt_tokens_details": {"cached_tokens": 306}}, (307, 253, 306)),
    ("Gemini", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115}, (10, 105, None)),
    ("texts", {"prompt_tokens": "5", "completion_tokens": "7", "total_tokens": "12"}, (5, 7, None)),
    ("Lua", {"prompt_tokens": 5.0, "completion_tokens": 7.0}, (5, 7, None)),
    ("negative", {"prompt_tokens": -1, "completion_tokens": 7}, (None, 7, None)),
    ("nulls", {"prompt_tokens": None, "completion_tokens": None, "total_tokens": 0}, (None, None, None)),
    ("MiniMax", {"total_tokens": 12}, (None, 12, None)),
    ("no completion", {"prompt_tokens": 5, "total_tokens": 12}, (5, 7, None)),
    ("DashScope", {"input_tokens": 5, "output_tokens": 7}, (5, 7, None)),
    (
        "Anthropic",
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 10,
            "output_tokens": 7,
        },
        (115, 7, 100),
    ),
    (
        "Gemini's own",
        {"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 3},
        (5, 10, None),
    ),
    ("Ollama", {"prompt_eval_count": 5, "eval_count": 7}, (5, 7, None)),
    ("Moonshot", {**GOOD, "cached_tokens": 3}, (5, 7, 3)),
    ("DeepSeek", {**GOOD, "prompt_cache_hit_tokens": 3}, (5, 7, 3)),
    ("Responses", {**GOOD, "input_tokens_details": {"cached_tokens": 3}}, (5, 7, 3)),
    ("vLLM", {**GOOD, "prompt_tokens_details": None}, (5, 7, None)),
    ("LM Studio", {"prompt_tokens": 5, "completion_tokens": 0, "total_tokens": 5}, (5, None, None)),
    ("Copilot", {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (None, None, None)),
    (
        "Cohere",
        {"billed_units": {"output_tokens": 5}, "tokens": {"input_tokens": 6, "output_tokens": 9}},
        (6, 9, None),
    ),
    ("PHP", [], (None, None, None)),
    ("bools and NaN", {"prompt_tokens": True, "completion_tokens": float("nan")}, (None, None, None)),
]


@pytest.mark.parametrize(("server", "usage", "tokens"), FORMS, ids=[form[0] for form in FORMS])
def test_tokens_are_read_under_every_name(server: str, usage: object, tokens: Tokens) -> None:
    so_far = TokensSoFar()
    so_far.take({"usage": usage})
    read = so_far.usage(wrote=True)
    assert (read.prompt_tokens, read.completion_tokens, read.cached_tokens) == tokens, server


STOP: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "stop"}
TEXT = chunk(content="42")
PLACES: list[tuple[str, bytes, int | None]] = [
    ("Moonshot", event({"choices": [{**STOP, "usage": GOOD}]}), None),
    ("in the delta", event({"choices": [{**STOP, "delta": {"usage": GOOD}}]}), None),
    ("Groq", event({"choices": [STOP], "x_groq": {"id": "r", "usage": GOOD}}), None),
    ("llama.cpp", event({"choices": [STOP], "timings": {"cache_n": 2, "prompt_n": 3, "predicted_n": 7}}), 2),
    (
        "Bedrock",
        event(
            {
                "choices": [STOP],
                "amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 7},
            }
        ),
        None,
    ),
    (
        "zero after good",
        event({"usage": GOOD}) + event({"choices": [STOP], "usage": {"prompt_tokens": 0}}),
        None,
    ),
    (
        "fewer after good",
        event({"usage": GOOD}) + event({"choices": [STOP], "usage": {"total_tokens": 12}}),
        None,
    ),
    (
        "Anthropic",
        event({"usage": {"prompt_tokens": 5, "completion_tokens": 1}})
        + event({"choices": [STOP], "usage": {"completion_tokens": 7}}),
        None,
    ),
    ("behind the end", chunk("stop") + DONE + event({"choices": [], "usage": GOOD}), None),
]


@pytest.mark.parametrize(("server", "rest", "cached"), PLACES, ids=[place[0] for place in PLACES])
async def test_tokens_are_read_in_every_place(server: str, rest: bytes, cached: int | None) -> None:
    async with raw_endpoint(replies(TEXT + rest)) as base_url:
        read = (await completed(ask(client(base_url)))).usage
    assert (read.prompt_tokens, read.completion_tokens, read.cached_tokens) == (5, 7, cached), server


def test_an_answer_without_any_text_may_have_no_token() -> None:
    so_far = TokensSoFar()
    so_far.take({"usage": {"prompt_tokens": 5, "completion_tokens": 0}})
    assert so_far.usage(wrote=False).completion_tokens == 0
