"""A chat completion request as it was sent: validated, and addressed by a fingerprint.

Knows the fields that change the fake's answer; all others are accepted and ignored, as most servers do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from conductor.fake_openai.refusal import Refusal

FAULT = "fault:"
"""What a model's name begins with when it names misbehaviours."""


class _Field(BaseModel):
    model_config = ConfigDict(frozen=True)


class TextPart(_Field):
    """A piece of a message's content."""

    type: Literal["text"]
    text: str


class ChatMessage(_Field):
    """One message; its content is a text or a list of texts."""

    role: str
    content: str | tuple[TextPart, ...] | None = None

    @property
    def text(self) -> str:
        """The content as one text."""
        if isinstance(self.content, tuple):
            return "".join(part.text for part in self.content)
        return self.content or ""


class StreamOptions(_Field):
    """What is asked of a stream."""

    include_usage: StrictBool = False


class NamedSchema(_Field):
    """The schema of a `response_format`; `schema` on the wire."""

    name: str
    definition: dict[str, Any] | bool = Field(default=True, alias="schema")


class ResponseFormat(_Field):
    """OpenAI's way to ask for JSON."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None


class StructuredOutputs(_Field):
    """vLLM's way to constrain an answer; exactly one of the three. `json` on the wire is `definition`."""

    regex: str | None = None
    choice: tuple[str, ...] | None = Field(default=None, min_length=1)
    definition: dict[str, Any] | str | None = Field(default=None, alias="json")


class ChatRequest(_Field):
    """The body of `POST /v1/chat/completions`, as far as it decides the answer."""

    model: str = Field(min_length=1)
    messages: tuple[ChatMessage, ...] = Field(min_length=1)
    stream: StrictBool = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    n: Literal[1] | None = None
    seed: int | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    fault: str | tuple[str, ...] | None = None

    @property
    def limit(self) -> int | None:
        """How many tokens the answer may have."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def wants_usage(self) -> bool:
        """Whether the tokens are to be told: always, but in a stream only where it was asked for."""
        return not self.stream or (self.stream_options is not None and self.stream_options.include_usage)

    @property
    def prompt(self) -> str:
        """All that the messages say."""
        return "\n\n".join(message.text for message in self.messages)

    @property
    def faults(self) -> tuple[str, ...]:
        """The misbehaviours asked for, by the model's name (`fault:a+b`) and by the body's `fault`."""
        named = self.model.removeprefix(FAULT).split("+") if self.model.startswith(FAULT) else []
        beside = [self.fault] if isinstance(self.fault, str) else self.fault or ()
        return (*named, *beside)

    @property
    def seeding(self) -> str:
        """What decides the made-up text: streamed or not, faulty or not, the words are the same."""
        asked = [(message.role, message.text) for message in self.messages]
        return repr((self.model, asked, self.seed, self.response_format, self.structured_outputs))


def read(content: bytes) -> tuple[ChatRequest, dict[str, Any]]:
    """The request and its body as sent. Raises `Refusal` where it is not a chat completion request."""
    try:
        body = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal("The body is not JSON.") from error
    if not isinstance(body, dict):
        raise Refusal("The body is not a JSON object.")
    try:
        return ChatRequest.model_validate(body), body
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise _blaming(first["loc"], first["type"], first["msg"]) from None


def fingerprint(body: dict[str, Any]) -> str:
    """The address of a request: equal for equal bodies, whatever their order of keys."""
    return sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _blaming(place: Sequence[str | int], kind: str, message: str) -> Refusal:
    param = ".".join(map(str, place))
    if kind == "missing":
        return Refusal(f"Missing required parameter: '{param}'.", param=param, code="missing_parameter")
    return Refusal(f"Invalid value for '{param}': {message}.", param=param, code="invalid_value")
