"""The request of `/v1/responses`: each of OpenAI's parameters, with the values that are honoured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from conductor.api.parameters import Asked, Nothing, Unsupported
from conductor.api.schemas import COMMON_REASONS, UNSTEERED, Metadata, One, Steering, Temperature, Tokens
from conductor.api.schemas_chat import Effort


class InputText(Asked):
    """A stretch of text."""

    type: Literal["input_text", "output_text"]
    text: str
    annotations: Nothing = None
    logprobs: Nothing = None


class InputMessage(Asked):
    """A message; parameters that clients send back with an answer may be there."""

    type: Literal["message"] | None = None
    role: Literal["system", "developer", "user", "assistant"]
    content: str | tuple[InputText, ...]
    id: str | None = None
    status: str | None = None
    phase: str | None = None


def _kind(item: object) -> str:
    named = item.get("type") if isinstance(item, dict) else "message"
    return "message" if named in (None, "message") else "item"


class OtherItem(Asked):
    """Calls of tools, their results and the like: refused."""

    type: Literal["message"]


InputItem = Annotated[
    Annotated[InputMessage, Tag("message")] | Annotated[OtherItem, Tag("item")], Discriminator(_kind)
]


class Reasoning(Asked):
    """How hard to think."""

    effort: Effort | None = None
    summary: Unsupported = None
    generate_summary: Unsupported = None


class ResponseFormat(Asked):
    """The only format of an answer."""

    type: Literal["text"]


class Text(Asked):
    """What the answer looks like."""

    format: ResponseFormat | None = None
    verbosity: Literal["medium"] | None = None


class ResponseStreamOptions(Asked):
    """What a stream holds besides the answer."""

    include_obfuscation: Literal[False] | None = None


class ResponsesRequest(Asked):
    """The user's question, be it the last of several messages, and how its answer is sought."""

    model: Annotated[str, Field(min_length=1)]
    input: str | Annotated[tuple[InputItem, ...], Field(min_length=1)]
    conductor: Steering = UNSTEERED
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = None
    temperature: Temperature = None
    max_output_tokens: Tokens = None
    reasoning: Reasoning | None = None
    text: Text | None = None
    metadata: Metadata | None = None
    user: str | None = None
    safety_identifier: str | None = None
    truncation: Literal["disabled"] | None = None
    top_p: One = None
    top_logprobs: Annotated[int, Field(ge=0, le=0)] | None = None
    tools: Nothing = None
    tool_choice: Literal["none", "auto"] | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    include: Nothing = None
    background: Literal[False] | None = None
    background_options: Unsupported = None
    conversation: Unsupported = None
    prompt: Unsupported = None
    context_management: Unsupported = None
    access_programs: Unsupported = None
    image: Unsupported = None
    moderation: Unsupported = None
    service_tier: Literal["auto", "default"] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: Unsupported = None


RESPONSES_REASONS: Mapping[str, str] = {
    **COMMON_REASONS,
    "reasoning.summary": "what workers think stands in the run; open its link.",
    "reasoning.generate_summary": "what workers think stands in the run; open its link.",
    "reasoning.effort": "give one of minimal, low, medium, high, xhigh and max.",
    "text.format.type": "workers answer in plain text; say in a message which form the text shall have.",
    "text.verbosity": 'say in a message how long the answer shall be; only "medium" changes nothing.',
    "truncation": 'nothing is left out of a conversation; only "disabled" can be had.',
    "include": "the object 'conductor' of the answer says all there is to say.",
    "background": 'a run ends with its request; ask with "stream" and keep the connection.',
    "background_options": 'a run ends with its request; ask with "stream" and keep the connection.',
    "conversation": "give previous_response_id, or the messages themselves.",
    "prompt": "no prompts are kept here; give the messages themselves.",
    "context_management": "nothing is left out of a conversation.",
    "access_programs": "there are none here.",
    "image": "an answer is text.",
    "stream_options.include_obfuscation": "nothing is added to the pieces of a stream.",
    "input.type": "items are messages; there are no calls of tools.",
    "input.content.type": "messages are text; there are no pictures, sounds and files.",
    "input.content.annotations": "messages are plain text.",
    "input.content.logprobs": COMMON_REASONS["top_logprobs"],
}

WITHOUT_EFFECT = ("parallel_tool_calls", "max_tool_calls", "prompt_cache_key", "prompt_cache_retention")
"""Taken, because whoever sends them asks for nothing that could be missed; the answer says so."""
