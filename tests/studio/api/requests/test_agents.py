"""What coding agents and kits send by default and by common options: it is taken, and what of it is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from studio.api.requests.chat_request import ChatRequest
from studio.api.requests.responses_request import ResponsesRequest

USER: dict[str, Any] = {"role": "user", "content": "Hi"}
INPUT = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]
FUNCTION = {"name": "read", "description": "d", "parameters": {"type": "object"}, "strict": False}
TOOLS = [{"type": "function", "function": FUNCTION}]
FLAT = [{"type": "function", **FUNCTION}]
STREAM = {"stream": True, "stream_options": {"include_usage": True}}
CODEX = {
    "instructions": "You are Codex.", "input": INPUT, "tool_choice": "auto", "parallel_tool_calls": True,
    "store": False, "stream": True, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k",
    "client_metadata": {"x-codex-installation-id": "i"},
}  # fmt: skip
OF_CODEX = "prompt_cache_key client_metadata"

Row = tuple[str, dict[str, Any], str]
CLIENTS: dict[str, Row] = {
    # who sends it: the parameter of the question, the body, and what of it is listed
    "Codex": (
        "input",
        {
            **CODEX,
            "reasoning": {"effort": "medium", "summary": "auto"},
            "tools": [
                *FLAT,
                {"type": "web_search", "external_web_access": False},
                {"type": "namespace", "name": "agents", "description": "d", "tools": FLAT},
            ],
        },
        f"{OF_CODEX} tools.web_search reasoning.summary include.reasoning.encrypted_content",
    ),
    "Codex with a model that it knows": (
        "input",
        {
            **CODEX,
            "text": {"verbosity": "low"},
            "service_tier": "priority",
            "tools": [
                {
                    "type": "custom", "name": "apply_patch", "description": "d",
                    "format": {"type": "grammar", "syntax": "lark", "definition": "start: A"},
                },
                {"type": "local_shell"},
                {"type": "tool_search", "execution": "client"},
            ],
        },
        f"{OF_CODEX} service_tier tools.local_shell tools.tool_search text.verbosity "
        "include.reasoning.encrypted_content",
    ),
    "opencode": (
        "messages",
        {
            "messages": [{"role": "system", "content": "s"}, USER], "tools": TOOLS, "tool_choice": "auto",
            "max_tokens": 32_000, "temperature": 0.55, "top_p": 1, "reasoning_effort": "high", **STREAM,
        },
        "",
    ),
    "opencode, responses": (
        "input",
        {
            "input": [{"role": "developer", "content": "s"}, *INPUT], "tools": FLAT, "tool_choice": "auto",
            "max_output_tokens": 32_000, "store": False, "stream": True, "prompt_cache_key": "k",
            "reasoning": {"effort": "medium", "summary": "auto"}, "include": ["reasoning.encrypted_content"],
            "text": {"verbosity": "low"},
        },
        "prompt_cache_key reasoning.summary text.verbosity include.reasoning.encrypted_content",
    ),
    "Qwen Code": (
        "messages",
        {
            "messages": [{"role": "system", "content": "s"}, USER], "tools": TOOLS, **STREAM,
            "metadata": {"sessionId": "s", "promptId": "p"}, "enable_thinking": True,
            "vl_high_resolution_images": True, "preserve_thinking": True,
        },
        "enable_thinking vl_high_resolution_images preserve_thinking",
    ),
    "aider": ("messages", {"messages": [USER], "temperature": 0, "stream": True}, ""),
    "aider with thoughts": (
        "messages",
        {"messages": [USER], "stream": True, "reasoning_effort": "low", "thinking": {"type": "enabled"}},
        "thinking",
    ),
    "llm": (
        "messages",
        {"messages": [USER], "temperature": 1, "seed": 7, "max_tokens": 10, "stop": "END", "stream": True,
         "frequency_penalty": 0.1, "presence_penalty": 0.1, "top_p": 0.5, "logit_bias": {},
         "stream_options": {"include_usage": True}},
        "",
    ),
    "openai-agents": (
        "input",
        {
            "input": INPUT, "instructions": "s", "include": [], "tools": FLAT, "truncation": "auto",
            "reasoning": {"effort": "low", "summary": "detailed"}, "parallel_tool_calls": False,
            "prompt_cache_retention": "24h", "metadata": {"a": "b"}, "text": {"verbosity": "high"},
        },
        "truncation prompt_cache_retention reasoning.summary text.verbosity",
    ),
    "openai-agents, chat": (
        "messages",
        {"messages": [USER], "tools": TOOLS, "store": True, "verbosity": "low", "reasoning_effort": "none"},
        "verbosity",
    ),
    "@ai-sdk/openai": (
        "input",
        {
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}], "tools": FLAT,
            "tool_choice": "auto", "stream": True, "service_tier": "flex", "max_tool_calls": 3,
            "include": ["web_search_call.action.sources"], "safety_identifier": "u",
        },
        "service_tier max_tool_calls include.web_search_call.action.sources",
    ),
    "@ai-sdk/openai-compatible": (
        "messages",
        {"messages": [USER], "tools": TOOLS, "user": "u", "reasoning_effort": "low", **STREAM},
        "",
    ),
    "LangChain": (
        "input",
        {
            "input": [{"role": "user", "content": "Hi", "type": "message"}], "stream": True, "tools": FLAT,
            "reasoning": {"effort": "medium", "summary": "auto"}, "truncation": "auto",
            "service_tier": "auto",
            "include": ["reasoning.encrypted_content"], "context_management": [{"type": "compaction"}],
        },
        "truncation context_management reasoning.summary include.reasoning.encrypted_content",
    ),
    "litellm": (
        "messages",
        {
            "messages": [{**USER, "cache_control": {"type": "ephemeral"}}], "modalities": ["text"],
            "prediction": {"type": "content", "content": "x"}, "extra_headers": {"a": "b"},
            "web_search_options": None, "audio": None, "functions": [], "drop_params": True,
        },
        "prediction extra_headers drop_params messages.cache_control",
    ),
}  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_sends_is_taken_and_named(client: str) -> None:
    parameter, body, listed = CLIENTS[client]
    read = ChatRequest.read if parameter == "messages" else ResponsesRequest.read
    request = read(json.dumps({"model": "m", **body}).encode())
    assert request.question.query == "Hi"
    assert request.ignored == listed.split()
