"""Tokens and dollars are read in every shape and order that servers send, and never too low."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.values.messages import Usage
from conductor.workers.endpoint.reply.usage_forms import TokensSoFar
from tests.support.cases.property_cases import cases
from tests.support.endpoints.chat_cases import ask, client, completed
from tests.support.endpoints.raw_endpoint import DONE, chunk, event, raw_endpoint, replies

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
        "Anthropic, written only",
        {"input_tokens": 5, "cache_creation_input_tokens": 10, "output_tokens": 7},
        (15, 7, None),
    ),
    (
        "LiteLLM of Anthropic",
        {
            **{"prompt_tokens": 115, "completion_tokens": 7, "total_tokens": 122},
            **{"cache_read_input_tokens": 100, "cache_creation_input_tokens": 10},
        },
        (115, 7, 100),
    ),
    (
        "Bedrock Converse",
        {"inputTokens": 5, "outputTokens": 7, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 10},
        (115, 7, 100),
    ),
    (
        "AI SDK",
        {
            "inputTokens": 5,
            "outputTokens": 7,
            "totalTokens": 12,
            "cachedInputTokens": 3,
            "reasoningTokens": 6,
        },
        (5, 7, 3),
    ),
    ("a gateway", {"promptTokens": 5, "completionTokens": 7, "totalTokens": 15}, (5, 10, None)),
    (
        "Gemini's own",
        {"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 3},
        (5, 10, None),
    ),
    (
        "Gemini's own, thoughts only",
        {"promptTokenCount": 21, "thoughtsTokenCount": 60, "totalTokenCount": 81},
        (21, 60, None),
    ),
    (
        "Gemini's own with tools",
        {
            **{"promptTokenCount": 5, "toolUsePromptTokenCount": 4, "cachedContentTokenCount": 2},
            **{"candidatesTokenCount": 7, "thoughtsTokenCount": 3, "totalTokenCount": 19},
        },
        (9, 10, 2),
    ),
    (
        "OpenAI with thoughts",
        {**GOOD, "completion_tokens_details": {"reasoning_tokens": 6}},
        (5, 7, None),
    ),
    (
        "xAI with details",
        {
            **{"prompt_tokens": 132, "completion_tokens": 621, "total_tokens": 1530},
            "completion_tokens_details": {"reasoning_tokens": 777},
        },
        (132, 1398, None),
    ),
    (
        "xAI without a total",
        {
            **{"prompt_tokens": 132, "completion_tokens": 621},
            "completion_tokens_details": {"reasoning_tokens": 777},
        },
        (132, 1398, None),
    ),
    (
        "Responses with thoughts on top",
        {
            **{"input_tokens": 32, "output_tokens": 9, "total_tokens": 135},
            "output_tokens_details": {"reasoning_tokens": 94},
        },
        (32, 103, None),
    ),
    (
        "CLIProxyAPI",
        {
            **{"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81},
            "completion_tokens_details": {"reasoning_tokens": 60},
        },
        (21, 60, None),
    ),
    (
        "Perplexity, whose searches think",
        {
            **{"prompt_tokens": 33, "completion_tokens": 7163, "total_tokens": 7196},
            **{"citation_tokens": 20016, "reasoning_tokens": 308156},
        },
        (33, 7163, None),
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
    ("mlx", {"prompt_tokens": 5, "generation_tokens": 7, "peak_memory": 1.5}, (5, 7, None)),
    ("Replicate", {"input_token_count": 5, "output_token_count": 7}, (5, 7, None)),
    (
        "Vertex, snake",
        {"input_token_count": 5, "output_token_count": 7, "total_token_count": 15},
        (5, 10, None),
    ),
    ("watsonx", {"input_token_count": 5, "generated_token_count": 7}, (5, 7, None)),
    ("gateways", {"num_prompt_tokens": 5, "num_completion_tokens": 7}, (5, 7, None)),
    ("texts of floats", {"prompt_tokens": "5.0", "completion_tokens": "7.00"}, (5, 7, None)),
    ("texts of parts", {"prompt_tokens": "5.5", "completion_tokens": "1,234"}, (None, None, None)),
    ("SambaNova", {**GOOD, "total_tokens_per_sec": 9.1, "time_to_first_token": 0.1}, (5, 7, None)),
    ("SGLang", {**GOOD, "reasoning_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}}, (5, 7, 2)),
    ("objects", {"prompt_tokens": {"total": 5}, "completion_tokens": 7}, (None, 7, None)),
    ("bools and NaN", {"prompt_tokens": True, "completion_tokens": float("nan")}, (None, None, None)),
    ("more than can be", {"prompt_tokens": 10**15, "completion_tokens": float("inf")}, (None, None, None)),
    ("null", None, (None, None, None)),
]


@pytest.mark.parametrize(("server", "usage", "tokens"), FORMS, ids=[form[0] for form in FORMS])
def test_tokens_are_read_under_every_name(server: str, usage: object, tokens: Tokens) -> None:
    so_far = TokensSoFar()
    so_far.take({"usage": usage})
    read = so_far.usage(wrote=True)
    assert (read.prompt_tokens, read.completion_tokens, read.cached_tokens) == tokens, server


@pytest.mark.parametrize("frame", ["usage", "details", "metrics", "meta", "tokens", "timings"])
def test_tokens_are_read_in_every_frame(frame: str) -> None:
    so_far = TokensSoFar()
    so_far.take({frame: {"prompt_tokens": 5, "generated_tokens": 7}})
    assert so_far.usage(wrote=True).completion_tokens == 7


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
    # llama.cpp tools/server/server-task.cpp: the last chunk has both.
    (
        "llama.cpp, both",
        event({"choices": [STOP]})
        + event({"choices": [], "usage": GOOD, "timings": {"cache_n": 2, "prompt_n": 3, "predicted_n": 7}}),
        2,
    ),
    (
        "llama.cpp, progress",
        event({"choices": [{"delta": {"content": None}}], "prompt_progress": {"total": 5, "processed": 5}})
        + event({"choices": [STOP], "timings": {"prompt_n": 5, "predicted_n": 7, "draft_n": 3}}),
        None,
    ),
    # vllm/entrypoints/openai/chat_completion/serving.py: continuous usage, then details and metrics.
    (
        "vLLM, continuous",
        event({"choices": [STOP], "usage": {"prompt_tokens": 5, "total_tokens": 9, "completion_tokens": 4}})
        + event(
            {
                "choices": [],
                "usage": {**GOOD, "prompt_tokens_details": {"cached_tokens": 2, "multimodal_tokens": {}}},
                "metrics": {"generation_tokens": 4, "time_to_first_token_ms": 5.0},
            }
        ),
        2,
    ),
    # groq-python's XGroq and CompletionUsage: the same tokens twice, with times.
    (
        "Groq, twice",
        event({"choices": [STOP], "x_groq": {"id": "r", "seed": 1, "usage": GOOD}, "usage": None})
        + event({"choices": [], "usage": {**GOOD, "queue_time": 0.1, "total_time": 0.5}}),
        None,
    ),
    # openrouter.ai, usage accounting: the last chunk has a choice again.
    (
        "OpenRouter",
        event({"choices": [{**STOP, "native_finish_reason": "STOP"}]})
        + event(
            {
                "choices": [{"delta": {"role": "assistant", "content": ""}, "native_finish_reason": None}],
                "usage": {**GOOD, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3}},
            }
        ),
        2,
    ),
    # platform.minimax.io, chatcompletion_v2: zeros in each chunk, the whole message as the last.
    (
        "MiniMax",
        event({"choices": [STOP], "usage": {"total_tokens": 0, "total_characters": 0}})
        + event({"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}], "usage": GOOD}),
        None,
    ),
    # api-docs.deepseek.com, create a chat completion.
    (
        "DeepSeek",
        event(
            {
                "choices": [STOP],
                "usage": {**GOOD, "prompt_cache_hit_tokens": 2, "prompt_cache_miss_tokens": 3},
            }
        ),
        2,
    ),
    # help.aliyun.com, OpenAI compatible: null until the last.
    (
        "DashScope",
        event({"choices": [STOP], "usage": None})
        + event({"choices": [], "usage": {**GOOD, "x_details": [{}], "plugins": {"search": {"count": 1}}}}),
        None,
    ),
    (
        "Mistral, cached",
        event({"p": "abcd", "choices": [STOP], "usage": {**GOOD, "num_cached_tokens": 2}}),
        2,
    ),
    # openai-python, CompletionUsage: obfuscation pads each chunk.
    (
        "OpenAI",
        event({"choices": [STOP], "usage": None, "obfuscation": "a"})
        + event({"choices": [], "usage": {**GOOD, "prompt_tokens_details": {"cached_tokens": 2}}}),
        2,
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


def read(*usages: object) -> Usage:
    so_far = TokensSoFar()
    for usage in usages:
        so_far.take({"usage": usage})
    return so_far.usage(wrote=True)


TOTALS: list[tuple[str, tuple[object, ...], int | None]] = [
    ("the sum", (GOOD,), None),
    ("no total", ({"prompt_tokens": 5, "completion_tokens": 7},), None),
    ("less than the sum", ({**GOOD, "total_tokens": 10},), 10),
    ("less, as a text", ({**GOOD, "total_tokens": "10"},), 10),
    ("thoughts on top", (XAI,), None),
    ("of an unknown prompt", ({"total_tokens": 12},), 12),
    ("no more than the prompt", ({"prompt_tokens": 5, "completion_tokens": 0, "total_tokens": 5},), None),
    ("zeros", ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},), None),
    ("negative", ({**GOOD, "total_tokens": -1},), None),
    (
        "of an earlier chunk",
        ({"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}, {"completion_tokens": 7}),
        None,
    ),
    (
        "counted upwards",
        (
            {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 4},
            {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 10},
        ),
        10,
    ),
    ("again, as 0", ({**GOOD, "total_tokens": 10}, {**GOOD, "total_tokens": 0}), 10),
]


@pytest.mark.parametrize(("kind", "usages", "total"), TOTALS, ids=[total[0] for total in TOTALS])
def test_a_total_that_is_not_the_sum_is_read_as_it_is(
    kind: str, usages: tuple[object, ...], total: int | None
) -> None:
    assert read(*usages).reported_total == total, kind


NAMES = st.sampled_from([name for form in FORMS if isinstance(form[1], dict) for name in form[1]])
BILLED = st.sampled_from(
    ["cost", "total_cost", "cost_in_usd_ticks", "is_byok", "cost_details", "upstream_inference_cost"]
)
WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["7", "-1", "1e5", "nan", "٣"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES | BILLED, inner, max_size=5),
)


@cases(200)
@given(st.lists(WILD, max_size=3))
def test_whatever_a_server_sends_its_numbers_are_unknown_or_can_be_true(usages: list[object]) -> None:
    usage = read(*usages)
    for number in usage.model_dump().values():
        assert number is None or 0 <= number < 1e17
    assert usage.reported_total is None or usage.reported_total != usage.total


NANO = {"amount": 3.5e-05, "cost": 3.5e-05, "paymentSource": "USD", "inputTokens": 5, "outputTokens": 7}
OWN_KEY = {**GOOD, "cost": 0.95, "cost_details": {"upstream_inference_cost": 19}}
BILLS: list[tuple[str, object, float | None]] = [
    ("none", GOOD, None),
    ("OpenRouter", {**GOOD, "cost": 0.0033789, "is_byok": False}, 0.0033789),
    (
        "OpenRouter, with the provider's share",
        {**GOOD, "cost": 0.0034, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.0034}},
        0.0034,
    ),
    ("the same, unsaid", {**GOOD, "cost": 0.004, "cost_details": {"upstream_inference_cost": 0.003}}, 0.004),
    ("a key of one's own", {**OWN_KEY, "is_byok": True}, 19.95),
    ("a key of one's own, unsaid", OWN_KEY, 19.95),
    ("a discount", {**OWN_KEY, "is_byok": False}, 0.95),
    (
        "a key of one's own without a fee",
        {**GOOD, "cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.036}},
        0.036,
    ),
    (
        "a key of one's own, its provider unknown",
        {**GOOD, "cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": None}},
        None,
    ),
    ("a key of one's own, no details", {**GOOD, "cost": 0.01, "is_byok": True}, None),
    ("no details", {**GOOD, "cost": 0.01, "cost_details": None}, 0.01),
    ("Vercel", {**GOOD, "cost": 1.316e-05, "market_cost": 2e-05, "gateway_cost": 1.4e-05}, 1.316e-05),
    ("xAI", {**GOOD, "cost_in_usd_ticks": 37756000}, 0.0037756),
    ("xAI behind LiteLLM", {**GOOD, "cost_in_usd_ticks": 2709000, "cost": 0.0002709}, 0.0002709),
    (
        "xAI, as a text",
        {**GOOD, "cost_in_usd_ticks": "37756000"},
        0.0037756,
    ),
    (
        "Perplexity",
        {**GOOD, "cost": {"input_tokens_cost": 0, "output_tokens_cost": 0.0001, "total_cost": 0.006}},
        0.006,
    ),
    ("Perplexity, in dollars", {**GOOD, "cost": {"currency": "USD", "total_cost": 0.006}}, 0.006),
    ("in euros", {**GOOD, "cost": {"currency": "EUR", "total_cost": 0.006}}, None),
    ("an object without a sum", {**GOOD, "cost": {"input_tokens_cost": 1}}, None),
    ("LLM Gateway", {**GOOD, "cost_usd_total": 0.000125, "cost_usd_input": 0.000025}, 0.000125),
    ("NanoGPT", {**GOOD, "cost": 3.5e-05, "currency": "USD"}, 3.5e-05),
    ("Logos", {**GOOD, "cost": 0.5, "cost_currency": "EUR"}, None),
    ("Logos, with ticks", {**GOOD, "cost": 0.5, "cost_currency": "EUR", "cost_in_usd_ticks": 10**9}, 0.1),
    ("Polza", {**GOOD, "cost_rub": 0.0413, "cost": 0.0413}, None),
    ("DeepInfra", {**GOOD, "estimated_cost": 8.775e-06}, None),
    ("a text", {**GOOD, "cost": "0.0001"}, 0.0001),
    ("a text with an exponent", {**GOOD, "cost": "1.316e-05"}, 1.316e-05),
    ("nothing", {**GOOD, "cost": 0}, 0.0),
    ("nothing, as a text", {**GOOD, "cost": "0.0"}, 0.0),
    ("zeros in place of numbers", {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0}, None),
    ("null", {**GOOD, "cost": None}, None),
    ("negative", {**GOOD, "cost": -0.01}, None),
    ("a negative text", {**GOOD, "cost": "-0.01"}, None),
    ("NaN", {**GOOD, "cost": float("nan")}, None),
    ("NaN, as a text", {**GOOD, "cost": "nan"}, None),
    ("infinite", {**GOOD, "cost": float("inf")}, None),
    ("infinite, as a text", {**GOOD, "cost": "inf"}, None),
    ("more than can be", {**GOOD, "cost": 10**400}, None),
    ("a text that is more", {**GOOD, "cost": "1e99"}, None),
    ("a word", {**GOOD, "cost": "free"}, None),
    ("with its sign", {**GOOD, "cost": "$0.01"}, None),
    ("true", {**GOOD, "cost": True}, None),
    ("a list", {**GOOD, "cost": [0.01]}, None),
    ("dollars without tokens", {"cost": 0.01}, 0.01),
    ("no usage", None, None),
]


@pytest.mark.parametrize(("server", "usage", "cost"), BILLS, ids=[bill[0] for bill in BILLS])
def test_dollars_are_those_that_the_endpoint_billed(server: str, usage: object, cost: float | None) -> None:
    assert read(usage).reported_cost == (None if cost is None else pytest.approx(cost)), server


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        (NANO, 3.5e-05),
        ({**NANO, "costUsd": 3.4e-05, "paymentSource": "nano"}, 3.4e-05),
        ({**NANO, "paymentSource": "nano"}, None),
        ({"amount": "0.0001", "currency": "USD"}, 0.0001),
        ({"amount": 1.0, "currency": "XNO"}, None),
        ([], None),
        (None, None),
    ],
)
async def test_dollars_may_stand_beside_the_usage(prices: object, cost: float | None) -> None:
    """As NanoGPT's do."""
    end = event({"choices": [STOP], "usage": GOOD, "x_nanogpt_pricing": prices})
    async with raw_endpoint(replies(TEXT + end + DONE)) as base_url:
        usage = (await completed(ask(client(base_url)))).usage
    assert (usage.total, usage.reported_cost) == (12, cost)


EARLY = {"prompt_tokens": 5, "completion_tokens": 1}
STREAMS: list[tuple[str, tuple[object, ...], float | None]] = [
    ("in the last", (EARLY, GOOD, {**GOOD, "cost": 0.02}), 0.02),
    ("in the last, alone", (EARLY, GOOD, {"cost": 0.02}), 0.02),
    ("counted upwards", ({**EARLY, "cost": 0.01}, {**GOOD, "cost": 0.02}), 0.02),
    ("0 until the last", ({**EARLY, "cost": 0}, {**GOOD, "cost": 0.02}), 0.02),
    ("0 until the last, which has none", ({**EARLY, "cost": 0}, GOOD), None),
    ("of a part of the answer", ({**EARLY, "cost": 0.01}, {**GOOD, "cost": None}), None),
    ("null again", ({**GOOD, "cost": 0.02}, {**GOOD, "cost": None}, None), 0.02),
    ("zeros again", ({**GOOD, "cost": 0.02}, {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0}), 0.02),
    ("null before", (None, None, {**GOOD, "cost": 0.02}), 0.02),
]


@pytest.mark.parametrize(("kind", "usages", "cost"), STREAMS, ids=[stream[0] for stream in STREAMS])
async def test_dollars_of_a_stream_are_those_of_all_its_tokens(
    kind: str, usages: tuple[object, ...], cost: float | None
) -> None:
    chunks = b"".join(event({"choices": [{"index": 0, "delta": {}}], "usage": usage}) for usage in usages)
    async with raw_endpoint(replies(TEXT + chunks + chunk("stop") + DONE)) as base_url:
        usage = (await completed(ask(client(base_url)))).usage
    assert (usage.total, usage.reported_cost) == (12, cost), kind


MESSAGE = {"choices": [{"index": 0, "message": {"content": "42"}, "finish_reason": "stop"}], "usage": GOOD}


@pytest.mark.parametrize(
    ("header", "whole", "cost"),
    [
        ("0.000415", True, 0.000415),
        ("0.000415", False, None),
        ("None", True, None),
        ("-1", True, None),
        (None, True, None),
    ],
)
async def test_dollars_of_a_whole_answer_may_stand_in_its_head(
    header: str | None, whole: bool, cost: float | None
) -> None:
    """As LiteLLM's do; a stream's head comes before its cost is known."""
    body = json.dumps(MESSAGE).encode() if whole else TEXT + chunk("stop") + event({"usage": GOOD}) + DONE
    more = "" if header is None else f"x-litellm-response-cost: {header}\r\n"
    async with raw_endpoint(replies(body, more=more)) as base_url:
        usage = (await completed(ask(client(base_url)))).usage
    assert (usage.total, usage.reported_cost) == (12, cost)
