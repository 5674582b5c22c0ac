"""The request of `/v1/chat/completions`: each of OpenAI's parameters, with the values that are honoured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from conductor.api.parameters import Asked, Nothing, Unsupported, Zero
from conductor.api.schemas import COMMON_REASONS, UNSTEERED, Metadata, One, Steering, Temperature, Tokens

Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]


class TextPart(Asked):
    """A stretch of text; other kinds of parts are refused."""

    type: Literal["text"]
    text: str


Content = str | tuple[TextPart, ...]


class Instructions(Asked):
    """What the answer has to keep to."""

    role: Literal["system", "developer"]
    content: Content
    name: Unsupported = None


class UserMessage(Asked):
    """What the user said."""

    role: Literal["user"]
    content: Content
    name: Unsupported = None


class AssistantMessage(Asked):
    """What was answered before; parameters that clients send back with it may be empty."""

    role: Literal["assistant"]
    content: Content | None = None
    refusal: str | None = None
    name: Unsupported = None
    audio: Unsupported = None
    function_call: Unsupported = None
    tool_calls: Nothing = None
    annotations: Nothing = None


ChatMessage = Annotated[Instructions | UserMessage | AssistantMessage, Field(discriminator="role")]


class StreamOptions(Asked):
    """What a stream holds besides the answer."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None


class TextFormat(Asked):
    """The only format of an answer."""

    type: Literal["text"]


class ChatRequest(Asked):
    """A conversation that ends with the user's question, and how its answer is sought."""

    model: Annotated[str, Field(min_length=1)]
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)]
    conductor: Steering = UNSTEERED
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Temperature = None
    max_completion_tokens: Tokens = None
    max_tokens: Tokens = None
    stop: (
        Annotated[str, Field(min_length=1)]
        | Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(max_length=4)]
        | None
    ) = None
    reasoning_effort: Effort | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    response_format: TextFormat | None = None
    modalities: Annotated[tuple[Literal["text"], ...], Field(min_length=1)] | None = None
    metadata: Metadata | None = None
    user: str | None = None
    safety_identifier: str | None = None
    store: bool | None = None
    top_p: One = None
    frequency_penalty: Zero = None
    presence_penalty: Zero = None
    logit_bias: Annotated[dict[str, float], Field(max_length=0)] | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=0)] | None = None
    tools: Nothing = None
    tool_choice: Literal["none", "auto"] | None = None
    parallel_tool_calls: bool | None = None
    functions: Nothing = None
    function_call: Literal["none", "auto"] | None = None
    seed: Unsupported = None
    audio: Unsupported = None
    prediction: Unsupported = None
    web_search_options: Unsupported = None
    moderation: Unsupported = None
    verbosity: Literal["medium"] | None = None
    service_tier: Literal["auto", "default"] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: Unsupported = None


CHAT_REASONS: Mapping[str, str] = {
    **COMMON_REASONS,
    "n": "a run gives one answer; ask several times for several.",
    "seed": "no run of several models can be promised to come out the same.",
    "stop": "it is a text or at most four, none of them empty.",
    "response_format": "workers answer in plain text; say in a message which form the text shall have.",
    "modalities": "an answer is text.",
    "audio": "an answer is text.",
    "prediction": "no worker takes one.",
    "web_search_options": "no worker searches the web.",
    "verbosity": 'say in a message how long the answer shall be; only "medium" changes nothing.',
    "functions": COMMON_REASONS["tools"],
    "function_call": COMMON_REASONS["tool_choice"],
    "frequency_penalty": "workers are asked with their own; only 0 changes nothing.",
    "presence_penalty": "workers are asked with their own; only 0 changes nothing.",
    "logit_bias": "workers have tokens of their own each.",
    "logprobs": COMMON_REASONS["top_logprobs"],
    "reasoning_effort": "give one of minimal, low, medium, high, xhigh and max.",
    "stream_options.include_obfuscation": "nothing is added to the pieces of a stream.",
    "messages.role": "messages are of the roles system, developer, user and assistant; there are no tools.",
    "messages.name": "say in the text who is speaking.",
    "messages.audio": "messages are text.",
    "messages.tool_calls": COMMON_REASONS["tools"],
    "messages.function_call": COMMON_REASONS["tools"],
    "messages.annotations": "messages are plain text.",
    "messages.content.type": "messages are text; there are no pictures, sounds and files.",
}

WITHOUT_EFFECT = ("parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention")
"""Taken, because whoever sends them asks for nothing that could be missed; the answer says so."""
