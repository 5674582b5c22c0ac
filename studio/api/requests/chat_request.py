"""The request of `/v1/chat/completions`: each of OpenAI's parameters, with the values that are honoured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from conductor.values.conversation import Conversation, Turn
from studio.access.errors import ApiError
from studio.api.requests.schema import (
    COMMON_REASONS,
    MAX_MESSAGES,
    MAX_PARTS,
    ApiRequest,
    Effort,
    EmptyList,
    RequestPart,
    StreamOptions,
    Tokens,
    Unsupported,
    Zero,
)


class TextPart(RequestPart):
    """A piece of a message's text; other kinds of parts are refused."""

    type: Literal["text"]
    text: str


Content = str | Annotated[tuple[TextPart, ...], Field(fail_fast=True, max_length=MAX_PARTS)]


class Instructions(RequestPart):
    """Instructions for the answer."""

    role: Literal["system", "developer"]
    content: Content
    name: Unsupported = None

    @property
    def turn(self) -> Turn:
        """The message in a conversation."""
        return Turn(role="system", text=_text(self.content))


class UserMessage(RequestPart):
    """What the user wrote."""

    role: Literal["user"]
    content: Content
    name: Unsupported = None

    @property
    def turn(self) -> Turn:
        """The message in a conversation."""
        return Turn(role="user", text=_text(self.content))


class AssistantMessage(RequestPart):
    """An earlier answer; the parameters that clients send back with it may be there, but empty."""

    role: Literal["assistant"]
    content: Content | None = None
    refusal: str | None = None
    name: Unsupported = None
    audio: Unsupported = None
    function_call: Unsupported = None
    tool_calls: EmptyList = None
    annotations: EmptyList = None

    @property
    def turn(self) -> Turn | None:
        """The message in a conversation; None where it has no text, as one that called a tool."""
        text = _text(self.content or "") or self.refusal or ""
        return Turn(role="assistant", text=text) if text else None


def _text(content: Content) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)


ChatMessage = Annotated[Instructions | UserMessage | AssistantMessage, Field(discriminator="role")]


class ChatStreamOptions(StreamOptions):
    """What a stream of chunks contains besides the answer."""

    include_usage: bool | None = None


class TextFormat(RequestPart):
    """The only format of an answer."""

    type: Literal["text"]


_REASONS = {
    **COMMON_REASONS,
    "n": "a run gives one answer; send several requests for several.",
    "seed": "a run of several models cannot be reproduced exactly.",
    "stop": "it is a text or at most four, none of them empty.",
    "response_format": "workers answer in plain text; describe the form of the text in a message.",
    "modalities": "an answer is text.",
    "audio": "an answer is text.",
    "prediction": "no worker takes one.",
    "web_search_options": "no worker searches the web.",
    "verbosity": 'request the length of the answer in a message; only "medium" changes nothing.',
    "functions": COMMON_REASONS["tools"],
    "function_call": COMMON_REASONS["tool_choice"],
    "frequency_penalty": "each worker has its own setting; only 0 changes nothing.",
    "presence_penalty": "each worker has its own setting; only 0 changes nothing.",
    "logit_bias": "each worker has its own tokens.",
    "logprobs": COMMON_REASONS["top_logprobs"],
    "reasoning_effort": "give one of minimal, low, medium, high, xhigh and max.",
    "messages.role": "messages are of the roles system, developer, user and assistant; there are no tools.",
    "messages.name": "name the speaker in the text.",
    "messages.audio": "messages are text.",
    "messages.tool_calls": COMMON_REASONS["tools"],
    "messages.function_call": COMMON_REASONS["tools"],
    "messages.annotations": "messages are plain text.",
    "messages.content.type": "messages are text; there are no pictures, sounds and files.",
}


class ChatRequest(ApiRequest):
    """A conversation that ends with the user's question, and how its answer is found."""

    reasons: ClassVar[Mapping[str, str]] = _REASONS
    without_effect = ("parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention")
    query_parameter = "messages"
    effort_parameter = "reasoning_effort"

    messages: Annotated[tuple[ChatMessage, ...], Field(fail_fast=True, min_length=1, max_length=MAX_MESSAGES)]
    stream_options: ChatStreamOptions | None = None
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
    frequency_penalty: Zero = None
    presence_penalty: Zero = None
    logit_bias: Annotated[dict[str, float], Field(max_length=0)] | None = None
    logprobs: Literal[False] | None = None
    functions: EmptyList = None
    function_call: Literal["none", "auto"] | None = None
    seed: Unsupported = None
    audio: Unsupported = None
    prediction: Unsupported = None
    web_search_options: Unsupported = None
    verbosity: Literal["medium"] | None = None

    def check(self) -> None:
        """See `ApiRequest.check`; the last message is the user's."""
        if not isinstance(self.messages[-1], UserMessage):
            last = f"messages.{len(self.messages) - 1}.role"
            raise ApiError("The last message must be the user's.", param=last, code="invalid_value")
        if self.max_tokens is not None and self.max_completion_tokens is not None:
            message = "Give one of 'max_completion_tokens' and 'max_tokens'; they mean the same."
            raise ApiError(message, param="max_tokens", code="invalid_value")
        super().check()

    @property
    def query(self) -> str:
        """See `ApiRequest.query`."""
        last = self.messages[-1].turn
        assert last is not None, "a user's message"
        return last.text

    @property
    def history(self) -> Conversation:
        """See `ApiRequest.history`."""
        turns = (message.turn for message in self.messages[:-1])
        return Conversation(turns=tuple(turn for turn in turns if turn is not None))

    @property
    def effort(self) -> Effort | None:
        """See `ApiRequest.effort`."""
        return self.reasoning_effort

    @property
    def token_limit(self) -> int | None:
        """See `ApiRequest.token_limit`."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def token_limit_parameter(self) -> str:
        """See `ApiRequest.token_limit_parameter`."""
        return "max_tokens" if self.max_tokens is not None else "max_completion_tokens"

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts before which the answer ends."""
        return (self.stop,) if isinstance(self.stop, str) else self.stop or ()

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with a chunk that has the usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)
